"""RePO: replay-enhanced policy optimization (arXiv:2506.09340)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.buffers import PastGroups
from bapo.config.method import Capacity, DelayedSection, Look, StepInterval
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import Rule
from bapo.methods.relative import relative_advantages
from bapo.methods.replay import ReplayMethod
from bapo.methods.retrieval import Strategy, retrieve
from bapo.rollout import BatchSource, RolloutGroup


class RepoConfig(DelayedSection):
    """RePO: each prompt's fresh group is joined by earlier responses of the prompt (arXiv:2506.09340)."""

    label: ClassVar = "RePO"
    look: ClassVar = Look(4, "solid", "star-square")
    reuses_groups: ClassVar = True

    type: Literal["repo"] = "repo"
    strategy: Strategy = "reward"
    """Stored responses of the prompt that are retrieved: all, the newest, correct ones first, or those whose rewards
    vary most."""
    retrieved_responses: Annotated[int, Field(ge=1, le=1024)] = 8
    """Maximum number of stored responses retrieved per prompt; `full` takes all."""
    groups_per_prompt: Capacity = 2
    """Past groups stored per prompt."""
    min_groups: Capacity = 1
    """Past groups that a prompt must have before any of its responses is retrieved."""
    off_policy_weight: Annotated[float, Field(gt=0, le=100)] = 1.0
    """Weight λ of the retrieved responses' part of the objective; the fresh responses' part has weight 1."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""


class Repo(ReplayMethod[PastGroups]):
    """Trains on every fresh group and also on responses that its prompt got in earlier steps.

    J(θ) = J_on(θ) + λ·J_off(θ): the fresh responses are standardised among themselves, the retrieved ones among
    themselves; λ scales the advantages of the latter. What is retrieved comes on top of the batch size B.
    """

    config_class: ClassVar = RepoConfig
    name_in_checkpoint = "past_groups"
    _method: RepoConfig
    stores: ClassVar[Rule] = Rule(
        "Store every fresh group under its prompt.",
        "When the prompt comes again, its earlier answers are there.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Add earlier responses to the prompts that are trained on.",
        "They come on top of the batch, standardised among themselves (arXiv:2506.09340).",
    )

    def __init__(self, config: RunConfig) -> None:
        self._candidates: Mapping[str, Sequence[RolloutGroup]] = {}
        super().__init__(PastGroups(1, None), config)

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
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
        advantages = (method.off_policy_weight * each for each in relative_advantages(rewards))
        for group, positions in retrieved:
            own = tuple(islice(advantages, len(positions)))
            composition.join(group, BatchSource.REUSED, responses=positions, advantages=own)
