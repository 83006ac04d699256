"""Algorithm 1 (arXiv:2602.20722), for any method and any engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bapo.engines.base import Generation, LoopEngine, Policy, joined
from bapo.methods.base import ComposedBatch, Method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import Span, SupervisedStats, ThresholdValues, UpdateStats
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


@dataclass(slots=True)
class StepOutcome:
    """Everything that one training step did."""

    step: int
    rollout_version: int
    """Policy version of α."""
    fresh: Generation
    num_rounds: int
    """Batches of prompts that `fresh` came from."""
    reevaluated: Generation | None
    batch: ComposedBatch
    update: UpdateStats | None
    """`None` if the batch was empty."""
    thresholds: ThresholdValues
    """Thresholds in force in this step."""
    timing: dict[str, float] = field(default_factory=dict)
    """Seconds per phase, the engine's own included."""
    spans: Sequence[Span] = ()
    """When the phases ran; beginnings are those of `time.perf_counter`."""
    supervised: SupervisedStats | None = None
    """`None` if no supervised step followed the update."""


class Loop:
    """Runs training steps in order; its own state is the version of α and the prompts taken."""

    def __init__(
        self,
        *,
        problems: Mapping[str, Problem],
        schedule: PromptSchedule,
        method: Method,
        engine: LoopEngine,
        group_size: int,
    ) -> None:
        self.method = method
        self._problems = problems
        self._schedule = schedule
        self._engine = engine
        self._group_size = group_size
        self._rollout_version = 0
        self._num_further_batches = 0

    def run_step(self, step: int) -> StepOutcome:
        """Run one iteration of Algorithm 1; `step` counts from 1."""
        method, engine = self.method, self._engine
        spans: list[Span] = []

        # Lines 2–7: off-policy rollout.
        if method.syncs_rollout_policy(step):
            self._rollout_version = step - 1
            with timed(spans, "sync"):
                engine.sync_rollout_policy(self._rollout_version)
        num_further_before = self._num_further_batches
        fresh = self._roll_out(step, spans)
        num_rounds = 1 + self._num_further_batches - num_further_before

        # Lines 8 and 9: store.
        with timed(spans, "batch"):
            thresholds = method.thresholds()
            method.observe_fresh(step, fresh.groups)
            difficult = method.prompts_to_reevaluate(step)

        # Lines 13–15: re-evaluate difficult prompts with the current policy.
        reevaluated = None
        if difficult:
            with timed(spans, "reevaluation"):
                prompts = [self._problems[prompt_id] for prompt_id in difficult]
                reevaluated = self._generate(prompts, Policy.CURRENT, step, "reevaluation")

        # Lines 11, 16 and 17: X1 ∪ X2 ∪ X3.
        with timed(spans, "batch"):
            batch = method.compose(step, reevaluated.groups if reevaluated else ())

        # Line 18: update.
        update = None
        if batch.items:
            with timed(spans, "update"):
                update = engine.update(batch.items, step=step, passes=method.num_passes(step))
        supervised = None
        if batch.supervised:
            with timed(spans, "update"):
                supervised = engine.supervise(batch.supervised, step=step)

        with timed(spans, "batch"):
            method.finish_step(step)
        timing: dict[str, float] = {}
        for span in spans:
            timing[span.phase] = timing.get(span.phase, 0.0) + span.seconds
        for part in (fresh.stats, reevaluated.stats if reevaluated else None, update):
            for phase, seconds in (part.timing if part else {}).items():
                timing[phase] = timing.get(phase, 0.0) + seconds
        return StepOutcome(
            step,
            self._rollout_version,
            fresh,
            num_rounds,
            reevaluated,
            batch,
            update,
            thresholds,
            timing,
            [*spans, *fresh.stats.spans],
            supervised,
        )

    def _roll_out(self, step: int, spans: list[Span]) -> Generation:
        """Return the fresh groups of one batch of prompts, or of as many as the method asks for."""
        asked: set[str] = set()
        rounds: list[Generation] = []
        groups: list[RolloutGroup] = []
        while True:
            with timed(spans, "batch"):
                scheduled = self._schedule.batch(step + self._num_further_batches)
                chosen = self.method.choose_prompts(step, scheduled, self._schedule.problems)
                # A second batch may reach into the next shuffled pass.
                prompts = [problem for problem in chosen if problem.prompt_id not in asked]
                asked.update(problem.prompt_id for problem in prompts)
            if prompts:
                purpose = f"rollout:{len(rounds)}" if rounds else "rollout"
                with timed(spans, "gen"):
                    rounds.append(self._generate(prompts, Policy.ROLLOUT, step, purpose))
                groups += rounds[-1].groups
            with timed(spans, "batch"):
                if not self.method.wants_more_prompts(step, groups):
                    return joined(rounds)
            self._num_further_batches += 1

    def _generate(self, problems: Sequence[Problem], policy: Policy, step: int, purpose: str) -> Generation:
        return self._engine.generate(problems, group_size=self._group_size, policy=policy, step=step, purpose=purpose)

    @property
    def num_further_batches(self) -> int:
        """Batches of the schedule that steps have taken beyond their first."""
        return self._num_further_batches

    def stored_groups(self) -> Sequence[RolloutGroup]:
        """Return groups that a checkpoint must keep with their payloads."""
        return self.method.stored_groups()

    def state_dict(self) -> dict[str, Any]:
        """Return the state of loop and method, JSON-ready."""
        return {
            "rollout_version": self._rollout_version,
            "further_batches": self._num_further_batches,
            "method": self.method.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        """Restore what `state_dict` gave, with the payloads of `stored_groups`."""
        self._rollout_version = state["rollout_version"]
        # Checkpoints from before there were such steps do not have it.
        self._num_further_batches = state.get("further_batches", 0)
        self.method.load_state_dict(state["method"], payloads)


@contextmanager
def timed(spans: list[Span], phase: str) -> Iterator[None]:
    """Add the block to the spans as this phase."""
    begin = time.perf_counter()
    yield
    spans.append(Span(phase=phase, begin=begin, seconds=time.perf_counter() - begin))
