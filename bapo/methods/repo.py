"""RePO: replay-enhanced policy optimization (arXiv:2506.09340)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bapo.buffers import PastGroups
from bapo.config.method import RepoConfig
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import Rule
from bapo.methods.relative import relative_advantages
from bapo.methods.replay import ReplayMethod
from bapo.methods.retrieval import retrieve
from bapo.rollout import BatchSource, RolloutGroup


class Repo(ReplayMethod[PastGroups]):
    """Trains on every fresh group and also on responses that its prompt got in earlier steps.

    J(θ) = J_on(θ) + λ·J_off(θ): the fresh responses are standardised among themselves, the retrieved ones among
    themselves; λ scales the advantages of the latter. What is retrieved comes on top of the batch size B.
    """

    stores: ClassVar[Rule] = Rule(
        "Store every fresh group under its prompt.",
        "When the prompt comes again, its earlier answers are there.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Add earlier responses to the prompts that are trained on.",
        "They come on top of the batch, standardised among themselves (arXiv:2506.09340).",
    )

    name_in_checkpoint = "past_groups"

    def __init__(self, config: RunConfig) -> None:
        method = _section(config)
        super().__init__(PastGroups(method.groups_per_prompt, method.max_age_steps))
        self._candidates: Mapping[str, Sequence[RolloutGroup]] = {}
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._method = _section(config)
        self._sync_interval = self._method.v
        self._batch_size = config.training.batch_size
        self._buffer.groups_per_prompt = self._method.groups_per_prompt
        self._buffer.max_age_steps = self._method.max_age_steps

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        self._buffer.begin_step()
        # Fixed before today's groups enter: what is retrieved is off-policy.
        self._candidates = {group.prompt_id: self._buffer.of(group.prompt_id) for group in fresh}
        for group in fresh:
            self._buffer.put(group)

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size, repeats_prompts=True)
        for group in self._fresh:
            composition.train_on_fresh(group)
        composition.count(x3_candidates=sum(len(past) for past in self._candidates.values()))
        for item in list(composition.items):
            self._join_past(composition, self._candidates[item.group.prompt_id])
        return composition.result(self._fresh, reevaluated)

    def _join_past(self, composition: Composition, past: Sequence[RolloutGroup]) -> None:
        """Add the off-policy part of one prompt, standardised over all that was retrieved ("split")."""
        method = self._method
        if len(past) < method.min_groups:
            return
        retrieved = retrieve(method.strategy, past, method.retrieved_responses)
        rewards = [group.rewards[position] for group, positions in retrieved for position in positions]
        advantages = [method.off_policy_weight * each for each in relative_advantages(rewards)]
        begin = 0
        for group, positions in retrieved:
            end = begin + len(positions)
            composition.join(group, BatchSource.REUSED, responses=positions, advantages=tuple(advantages[begin:end]))
            begin = end


def _section(config: RunConfig) -> RepoConfig:
    assert isinstance(config.method, RepoConfig)
    return config.method
