"""ARPO's replay rule: stored successes replace failures (arXiv:2505.16282)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from bapo.config.method import Capacity, DelayedSection, Look, StepInterval
from bapo.draws import generator
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.lines import Rule
from bapo.methods.relative import relative_advantages
from bapo.methods.replay import StoredGroups
from bapo.rollout import BatchSource, RolloutGroup


class ArpoConfig(DelayedSection):
    """ARPO's replay rule: in a group that failed, a stored success replaces a response (arXiv:2505.16282)."""

    label: ClassVar = "ARPO"
    look: ClassVar = Look(10, "dash", "square-open")
    reuses_groups: ClassVar = True

    type: Literal["arpo"] = "arpo"
    replaces: Literal["response", "batch"] = "response"
    """`response`, the source's rule: in each group that failed, a stored correct response to the same prompt replaces
    one of its responses. `batch`, as arXiv:2602.20722 describes it: where a whole batch failed, the step trains on
    stored groups instead."""
    capacity: Capacity | None = None
    """Maximum number of groups stored, one per prompt. Empty: 256 if whole batches are replaced, else no limit."""
    max_age_steps: StepInterval | None = None
    """Steps after which a stored group is no longer reused. Empty: no limit."""


class Arpo(StoredGroups):
    """GRPO that falls back on stored groups with a reward, whole ones or single responses of them."""

    config_class: ClassVar = ArpoConfig
    _method: ArpoConfig
    stores: ClassVar[Rule] = Rule(
        "Store the groups in which some response is right.",
        "A success is rare on hard prompts, and worth keeping.",
    )
    reuses: ClassVar[Rule] = Rule(
        "Where everything failed, put stored successes in its place.",
        "A group, or a batch, without any success has no gradient (arXiv:2505.16282).",
    )

    def _capacity(self) -> int | None:
        # Single responses are looked up by prompt, for which all groups are needed.
        return 256 if self._method.capacity is None and self._method.replaces == "batch" else self._method.capacity

    def _is_stored(self, group: RolloutGroup, step: int) -> bool:
        return group.num_correct > 0

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size, repeats_prompts=True)
        if self._method.replaces == "response":
            self._replace_responses(step, composition)
        else:
            self._replace_batch(step, composition)
        return composition.result(self._fresh, reevaluated)

    def _replace_batch(self, step: int, composition: Composition) -> None:
        """Train on up to as many stored groups with mixed rewards instead, if every fresh response failed."""
        mixed = [group for group in self._candidates if not group.is_homogeneous]
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
        stored_groups = {group.prompt_id: group for group in self._candidates}
        num_candidates = 0
        for group in self._fresh:
            stored = None if group.num_correct else stored_groups.get(group.prompt_id)
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
