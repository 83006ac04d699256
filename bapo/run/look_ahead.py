"""Rollouts ahead of training: one call answers the fresh prompts of all steps up to the next synchronisation.

Between two synchronisations α does not change, and the prompts of the steps follow from the schedule. As each step
has its own random draws, its groups are those of Algorithm 1, whichever call generates them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bapo.engines.base import BatchItem, Engine, Generation, Policy
from bapo.methods.base import Method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import SupervisedStats, UpdateStats
from bapo.tasks.base import Problem

MOST_STEPS = 16
"""Most steps of one call: beyond these a larger batch is no faster, and more would wait in memory."""


class LookAhead:
    """An engine as the loop calls it. It holds the groups of later steps until their step asks for them."""

    def __init__(
        self, engine: Engine, method: Method, schedule: PromptSchedule, *, group_size: int, num_steps: int, is_on: bool
    ) -> None:
        """Take the number of steps of the run, which no call goes beyond; without `is_on` each call is of one step."""
        self._engine = engine
        self._method = method
        self._schedule = schedule
        self._group_size = group_size
        self._num_steps = num_steps
        self._is_on = is_on
        self._first_step = 0
        """First step of the latest call."""
        self._held: dict[int, Generation] = {}
        self._cost: Counter[str] = Counter()

    def sync_rollout_policy(self, version: int) -> None:
        """Set α ← current weights; the groups of the old α that are left, as after a change of v, are discarded."""
        self._discard()
        self._engine.sync_rollout_policy(version)

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Answer each problem, for fresh prompts with those of the steps up to the next synchronisation."""
        if not self._is_on or policy is not Policy.ROLLOUT or purpose != "rollout":
            return self._engine.generate(problems, group_size=group_size, policy=policy, step=step, purpose=purpose)
        if not self._has(step, problems):
            self._discard()
            later = range(step + 1, self._end(step))
            self._generate({step: problems, **{each: self._prompts(each) for each in later}})
            self._add_waiting(self._held.values())
        generation = self._held.pop(step)
        self._add_waiting([generation], sign=-1)
        return generation

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on X1 ∪ X2 ∪ X3."""
        return self._engine.update(batch, step=step, passes=passes)

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Take one supervised step on these prompts' demonstrations."""
        return self._engine.supervise(prompt_ids, step=step)

    def take_cost(self) -> Mapping[str, int]:
        """Return what to add to the cost of the steps' own groups since the last call, so that each response counts
        when it is generated.
        """
        taken, self._cost = self._cost, Counter()
        return taken

    def state_dict(self) -> dict[str, Any]:
        """Return the first and last step of the call whose groups wait for theirs, and how many responses wait."""
        if not self._held:
            return {}
        return {"steps": [self._first_step, max(self._held)], "num_rollouts": _num_rollouts(self._held.values())}

    def load_state_dict(self, state: Mapping[str, Any], *, next_step: int, is_same: bool) -> None:
        """Generate the waiting groups again; without `is_same`, as under other sampling settings, discard them.

        The call is repeated as a whole, steps that are done included: in a smaller batch the last digits would differ.
        """
        if not state:
            return
        if is_same and self._is_on:
            first, last = state["steps"]
            self._generate({step: self._prompts(step) for step in range(first, last + 1)})
            self._held = {step: held for step, held in self._held.items() if step >= next_step}
        else:
            self._add_discarded(state["num_rollouts"])

    def _has(self, step: int, problems: Sequence[Problem]) -> bool:
        held = self._held.get(step)
        return held is not None and [group.prompt_id for group in held.groups] == [each.prompt_id for each in problems]

    def _end(self, step: int) -> int:
        """Return the step after the last one whose groups the α of this step generates in the same call."""
        end = min(step + MOST_STEPS, self._num_steps + 1)
        return next((later for later in range(step + 1, end) if self._method.syncs_rollout_policy(later)), end)

    def _prompts(self, step: int) -> Sequence[Problem]:
        return self._method.choose_prompts(step, self._schedule.batch(step), self._schedule.problems)

    def _generate(self, batches: Mapping[int, Sequence[Problem]]) -> None:
        self._first_step = min(batches)
        self._held = dict(self._engine.generate_ahead(batches, group_size=self._group_size))

    def _discard(self) -> None:
        if self._held:
            self._add_discarded(_num_rollouts(self._held.values()))
            self._held = {}

    def _add_discarded(self, num_rollouts: int) -> None:
        self._cost["num_discarded_rollouts"] += num_rollouts
        self._cost["num_rollouts_ahead"] -= num_rollouts

    def _add_waiting(self, generations: Collection[Generation], sign: int = 1) -> None:
        num_rollouts = sign * _num_rollouts(generations)
        self._cost["num_rollouts"] += num_rollouts
        self._cost["num_rollouts_ahead"] += num_rollouts
        self._cost["num_tokens"] += sign * sum(each.stats.num_tokens for each in generations)


def _num_rollouts(generations: Collection[Generation]) -> int:
    return sum(group.group_size for generation in generations for group in generation.groups)
