"""ARPO's replay rule: stored successes replace failures (arXiv:2505.16282)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from bapo.buffers import HighQualityBuffer
from bapo.config.method import ArpoConfig
from bapo.config.run import RunConfig
from bapo.draws import generator
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import Rule
from bapo.methods.relative import relative_advantages
from bapo.methods.replay import ReplayMethod
from bapo.rollout import BatchSource, RolloutGroup


class Arpo(ReplayMethod[HighQualityBuffer]):
    """GRPO that falls back on stored groups with a reward, whole ones or single responses of them."""

    stores: ClassVar[Rule] = Rule(
        "Store the groups in which some response is right.",
        "A success is rare on hard prompts, and worth keeping.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Where everything failed, put stored successes in its place.",
        "A group, or a batch, without any success has no gradient (arXiv:2505.16282).",
    )

    def __init__(self, config: RunConfig) -> None:
        method = _section(config)
        super().__init__(HighQualityBuffer(_capacity(method), method.max_age_steps))
        self._candidates: Mapping[str, RolloutGroup] = {}
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        self._method = _section(config)
        self._sync_interval = self._method.v
        self._buffer.capacity = _capacity(self._method)
        self._buffer.max_age_steps = self._method.max_age_steps
        self._batch_size = config.training.batch_size
        self._seed = config.training.seed

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        self._buffer.begin_step()
        self._candidates = {group.prompt_id: group for group in self._buffer.groups()}
        for group in fresh:
            if group.num_correct:
                self._buffer.put(group)

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size, repeats_prompts=True)
        if self._method.replaces == "response":
            self._replace_responses(step, composition)
        else:
            self._replace_batch(step, composition)
        return composition.result(self._fresh, reevaluated)

    def _replace_batch(self, step: int, composition: Composition) -> None:
        """Train on up to as many stored groups with mixed rewards instead, if every fresh response failed."""
        mixed = [group for group in self._candidates.values() if not group.is_homogeneous]
        composition.count(x3_candidates=len(mixed))
        if any(group.num_correct for group in self._fresh) or not mixed:
            for group in self._fresh:
                composition.train_on_fresh(group)
            return
        for group in self._fresh:
            composition.leave_out(group, BatchSource.FRESH, "all_wrong")
        num_reused = min(len(mixed), len(self._fresh), composition.room)
        for group in generator(self._seed, step, "reuse").sample(mixed, num_reused):
            composition.train_on(group, BatchSource.REUSED)

    def _replace_responses(self, step: int, composition: Composition) -> None:
        """Replace the first response of each all-wrong group by a random stored success of the same prompt."""
        draw = generator(self._seed, step, "reuse")
        num_candidates = 0
        for group in self._fresh:
            stored = None if group.num_correct else self._candidates.get(group.prompt_id)
            num_candidates += stored is not None
            if stored is None or not composition.room:
                composition.train_on_fresh(group)
                continue
            success = draw.choice([place for place, reward in enumerate(stored.rewards) if reward])
            first, *others = relative_advantages([1] + [0] * (group.group_size - 1))
            composition.train_on(
                group, BatchSource.FRESH, responses=tuple(range(1, group.group_size)), advantages=tuple(others)
            )
            composition.join(stored, BatchSource.REUSED, responses=(success,), advantages=(first,))
        composition.count(x3_candidates=num_candidates)


_DEFAULT_CAPACITY = 256
"""Groups held where whole batches are replaced: single responses are looked up by prompt, for which all are needed."""


def _capacity(method: ArpoConfig) -> int | None:
    if method.capacity is None and method.replaces == "batch":
        return _DEFAULT_CAPACITY
    return method.capacity


def _section(config: RunConfig) -> ArpoConfig:
    assert isinstance(config.method, ArpoConfig)
    return config.method
