"""Rollouts ahead of training: one call answers the fresh prompts of all steps up to the next synchronisation.

Between two synchronisations α does not change, and the prompts of the steps follow from the schedule. As each step
has its own random draws, its groups are those of Algorithm 1, whichever call generates them. A pipelined method trains
on another schedule: at a synchronisation α answers the prompts of the window after the one that begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bapo.config import RunConfig
from bapo.engines.base import BatchItem, Engine, Generation, GenerationStats, Policy
from bapo.methods.base import Method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import SupervisedStats, UpdateStats
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem

MOST_STEPS = 16
"""Most steps of one call: beyond these a larger batch is no faster, and more would wait in memory."""


class LookAhead:
    """An engine as the loop calls it. It holds the groups of later steps until their step asks for them."""

    def __init__(
        self, engine: Engine, method: Method, schedule: PromptSchedule, config: RunConfig, *, num_steps: int
    ) -> None:
        """Take the number of steps of the run, which no call goes beyond."""
        self._engine = engine
        self._method = method
        self._schedule = schedule
        self._group_size = config.rollout.group_size
        self._num_steps = num_steps
        self._is_pipelined = config.method.is_pipelined
        # A pipelined method needs a window.
        self._mode = "window" if self._is_pipelined and config.rollout.ahead == "off" else config.rollout.ahead
        self._call = range(0)
        """Steps of the latest call."""
        self._waiting: dict[int, Sequence[Problem]] = {}
        """Prompts whose step has not come yet."""
        self._held: dict[int, Generation] = {}
        """Their groups, as far as they are here."""
        self._coming: Mapping[int, Generation] = {}
        """Groups of the latest call, each waited for where it is taken."""
        self._cost: Counter[str] = Counter()

    def sync_rollout_policy(self, version: int) -> None:
        """Set α ← current weights; the groups of the old α that are left, as after a change of v, are discarded.

        Where the method is pipelined, those of the window that begins are kept.
        """
        begin = version + 1
        self._discard(self._next_sync(begin) if self._is_pipelined else begin)
        self._hold()
        self._engine.sync_rollout_policy(version)

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Answer each problem, for fresh prompts with those of the steps up to the next synchronisation."""
        if self._mode == "off" or policy is not Policy.ROLLOUT or purpose != "rollout":
            return self._engine.generate(problems, group_size=group_size, policy=policy, step=step, purpose=purpose)
        if self._waiting.get(step) != list(problems):
            self._discard(step)
            self._ask(range(step, self._end(step)), problems)
        elif self._is_pipelined:
            self._ask(range(max(self._waiting) + 1, self._end(step)))
        generation = self._generation(step)
        self._add_waiting([step], sign=-1)
        self._drop([step])
        return generation

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on X1 ∪ X2 ∪ X3."""
        return self._engine.update(batch, step=step, passes=passes)

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Take one supervised step on these prompts' demonstrations."""
        return self._engine.supervise(prompt_ids, step=step)

    def take_cost(self) -> Mapping[str, int]:
        """Return what to add to the cost of the steps' own groups since the last call, so that each response counts
        when it is generated, or asked for where another process generates.
        """
        taken, self._cost = self._cost, Counter()
        return taken

    def stored_groups(self) -> Sequence[RolloutGroup]:
        """Return the groups of earlier calls, which the present α could not generate again: checkpoints keep them."""
        return [group for generation in self._earlier().values() for group in generation.groups]

    def state_dict(self) -> dict[str, Any]:
        """Return the first and last step of the latest call, how many responses wait, and what earlier calls left."""
        if not self._waiting:
            return {}
        earlier = {
            step: {"groups": [group.without_payload() for group in held.groups], "stats": _figures(held.stats)}
            for step, held in self._earlier().items()
        }
        steps = [self._call.start, self._call[-1]]
        return {"steps": steps, "num_rollouts": self._num_rollouts(self._waiting), "earlier": earlier}

    def load_state_dict(
        self, state: Mapping[str, Any], payloads: Sequence[object], *, next_step: int, is_same: bool
    ) -> None:
        """Generate the waiting groups again, and take those of `stored_groups`; without `is_same`, as under other
        sampling settings, discard them.

        A call for a window is repeated as a whole, steps that are done included: in a smaller batch the last digits
        would differ.
        """
        if not state:
            return
        if not is_same or self._mode == "off":
            self._add_discarded(state["num_rollouts"])
            return
        first, last = state["steps"]
        self._generate(range(max(first, next_step) if self._mode == "overlap" else first, last + 1))
        self._drop([step for step in self._waiting if step < next_step])
        payload = iter(payloads)
        for step, held in state.get("earlier", {}).items():
            groups = [RolloutGroup.restored(entry, next(payload)) for entry in held["groups"]]
            self._held[int(step)] = Generation(groups, GenerationStats(*held["stats"]))
            self._waiting[int(step)] = self._prompts(int(step))

    def _next_sync(self, step: int) -> int:
        """Return the next step that synchronises α, or the one after the last."""
        end = self._num_steps + 1
        return next((later for later in range(step + 1, end) if self._method.syncs_rollout_policy(later)), end)

    def _end(self, step: int) -> int:
        """Return the step after the last one whose groups the α of this step generates."""
        if self._is_pipelined:
            return self._next_sync(self._next_sync(step))
        return min(self._next_sync(step), step + MOST_STEPS)

    def _prompts(self, step: int) -> Sequence[Problem]:
        return list(self._method.choose_prompts(step, self._schedule.batch(step), self._schedule.problems))

    def _ask(self, steps: range, *first: Sequence[Problem]) -> None:
        """Ask for the groups of the steps, if there are any; the prompts of the first one may be known already."""
        if steps:
            self._hold()
            self._generate(steps, *first)
            self._add_waiting(steps)

    def _generate(self, steps: range, *first: Sequence[Problem]) -> None:
        rest = steps[len(first) :]
        batches = {**dict(zip(steps, first, strict=False)), **{step: self._prompts(step) for step in rest}}
        self._call = steps
        self._waiting |= batches
        self._coming = self._engine.generate_ahead(batches, group_size=self._group_size)
        if self._mode == "window":
            self._hold()

    def _generation(self, step: int) -> Generation:
        return self._held[step] if step in self._held else self._coming[step]

    def _hold(self) -> None:
        """Take what the latest call has still to give: neither a new α nor another call leaves it time."""
        self._held = {step: self._generation(step) for step in self._waiting}
        self._coming = {}

    def _earlier(self) -> Mapping[int, Generation]:
        return {step: held for step, held in self._held.items() if step not in self._call}

    def _discard(self, begin: int) -> None:
        """Discard the groups of the steps from this one on."""
        dropped = [step for step in self._waiting if step >= begin]
        if dropped:
            self._add_discarded(self._num_rollouts(dropped))
            self._drop(dropped)

    def _drop(self, steps: Collection[int]) -> None:
        for step in steps:
            del self._waiting[step]
            self._held.pop(step, None)

    def _add_discarded(self, num_rollouts: int) -> None:
        self._cost["num_discarded_rollouts"] += num_rollouts
        self._cost["num_rollouts_ahead"] -= num_rollouts

    def _add_waiting(self, steps: Collection[int], sign: int = 1) -> None:
        num_rollouts = sign * self._num_rollouts(steps)
        self._cost["num_rollouts"] += num_rollouts
        self._cost["num_rollouts_ahead"] += num_rollouts
        if self._mode == "window":
            # Of a generating process, tokens are known once they are there: they count in the step that takes them.
            self._cost["num_tokens"] += sign * sum(self._held[step].stats.num_tokens for step in steps)

    def _num_rollouts(self, steps: Collection[int]) -> int:
        return self._group_size * sum(len(self._waiting[step]) for step in steps)


def _figures(stats: GenerationStats) -> list[float | None]:
    """Return what steps record of it, in the order of its fields."""
    return [
        stats.num_tokens,
        stats.response_length_mean,
        stats.response_length_max,
        stats.response_clip_ratio,
        stats.response_repetition_ratio,
    ]
