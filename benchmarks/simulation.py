"""Runs of any length: the real loop, method and recording, with an engine that only draws how many of its responses are
correct. Nothing is learned; what is recorded has the real shape. For benchmarks, and for tests of the pages.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from bapo.config import RunConfig
from bapo.config.method import has_trait
from bapo.engines.base import (
    BatchItem,
    DemonstrationCounts,
    Generation,
    GenerationStats,
    Policy,
    ResponseSample,
)
from bapo.loop import Loop
from bapo.methods import build_method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import (
    RATIO_BIN_EDGES,
    AnyRecord,
    CriticStats,
    EvaluationRecord,
    EventRecord,
    Interval,
    SupervisedStats,
    TrackingRecord,
    UpdateStats,
)
from bapo.rollout import BatchSource, RolloutGroup
from bapo.run.step_record import NO_COST, cost_after, step_record
from bapo.tasks.base import Problem

LEARNING_RATE = 1e-3
LEARNING_STEPS = 300
"""After as many steps a prompt has made most of its progress."""
EVALUATION_INTERVAL, TRACKING_INTERVAL = 50, 25
NUM_TEST, NUM_SAMPLES, NUM_TRACKED = 100, 8, 256


class DrawnEngine:
    """Answers are right with a chance that differs between prompts and rises with the policy's version."""

    def __init__(self, seed: int, *, has_critic: bool = False) -> None:
        self._draws = random.Random(seed)
        self._seed = seed
        self._has_critic = has_critic
        self.rollout_version = 0
        self._ease: dict[str, float] = {}

    def chance(self, prompt_id: str, version: int) -> float:
        """Return the probability that a response is right."""
        ease = self._ease.setdefault(prompt_id, random.Random(f"{self._seed}:{prompt_id}").gauss(-1.6, 2.0))
        return 1 / (1 + math.exp(-(ease + 2.2 * (1 - math.exp(-version / LEARNING_STEPS)))))

    def count(self, prompt_id: str, version: int, group_size: int) -> int:
        """Return the number of right responses in a group."""
        chance = self.chance(prompt_id, version)
        return sum(self._draws.random() < chance for _ in range(group_size))

    def sync_rollout_policy(self, version: int) -> None:
        """Set the version of the rollout policy α."""
        self.rollout_version = version

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Draw a group for each problem."""
        version = self.rollout_version if policy is Policy.ROLLOUT else step - 1
        groups = [
            RolloutGroup(
                problem.prompt_id, self.count(problem.prompt_id, version, group_size), group_size, version, step
            )
            for problem in problems
        ]
        return Generation(groups, GenerationStats(11 * group_size * len(groups), 10.5, 16, 0.01))

    def generate_ahead(self, batches: Mapping[int, Sequence[Problem]], *, group_size: int) -> Mapping[int, Generation]:
        """Draw the fresh groups of each step."""
        return {
            step: self.generate(problems, group_size=group_size, policy=Policy.ROLLOUT, step=step, purpose="rollout")
            for step, problems in batches.items()
        }

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Return made-up values of the right shape."""
        draw = self._draws
        middle = len(RATIO_BIN_EDGES) // 2
        histogram = [0] * (len(RATIO_BIN_EDGES) + 1)
        for _ in range(200):
            histogram[min(max(round(draw.gauss(middle, 1.2)), 0), len(RATIO_BIN_EDGES))] += len(batch)
        present = {item.source for item in batch}
        return UpdateStats(
            loss=draw.gauss(-0.01, 0.01),
            entropy=0.9 * math.exp(-step / LEARNING_STEPS) + 0.02 * draw.random(),
            grad_norm=0.4 + 0.2 * draw.random(),
            kl=abs(draw.gauss(0.004, 0.002)),
            clip_fraction=abs(draw.gauss(0.02, 0.01)),
            ratio_mean=1 + draw.gauss(0, 0.01),
            ratio_max=1.4 + draw.random(),
            ratio_histogram=histogram,
            num_mini_batches=1,
            num_tokens=88 * len(batch),
            num_groups_skipped=0,
            learning_rate=LEARNING_RATE,
            tv_tokens={source: 0.02 + 0.02 * draw.random() for source in BatchSource if source in present},
            tv_sequences={source: 0.1 + 0.1 * draw.random() for source in BatchSource if source in present},
            critic=self._critic(step) if self._has_critic else None,
        )

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Return made-up values."""
        return SupervisedStats(
            num_responses=len(prompt_ids), loss=1.5 * math.exp(-step / LEARNING_STEPS), grad_norm=0.5
        )

    def demonstrations(self) -> DemonstrationCounts | None:
        """Return None: groups have no demonstration."""
        return None

    def _critic(self, step: int) -> CriticStats:
        """Return statistics of a critic whose values approach the returns."""
        explained = 1 - math.exp(-step / LEARNING_STEPS)
        return CriticStats(
            loss=0.2 * (1 - explained) + 0.02,
            explained_variance=explained,
            value_mean=0.4 * explained,
            return_mean=0.4,
            grad_norm=0.5 + 0.3 * self._draws.random(),
            clip_fraction=abs(self._draws.gauss(0.01, 0.01)),
            learning_rate=LEARNING_RATE,
        )

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """Return no responses."""
        return ()

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """Return 0 correct responses for each problem."""
        return [0 for _ in problems]

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Do nothing: there is no state to store."""

    def load(self, folder: Path) -> Sequence[object]:
        """Return no groups, since none were stored."""
        return ()

    def utilisation(self) -> Mapping[str, float]:
        """Return made-up values."""
        return {"memory_bytes": 6.1e8, "cpu_percent": 90 + 10 * self._draws.random()}

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class SimulatedRun:
    """Writes the records of a run over `num_prompts` training prompts, step by step."""

    def __init__(
        self,
        config: RunConfig,
        *,
        num_prompts: int,
        test_sets: Sequence[str] = ("drawn",),
        seconds_per_step: float = 40.0,
        began_at: float | None = None,
    ) -> None:
        """Simulate a run that began at `began_at`, or, without it, one that ends now."""
        assert config.training.steps is not None
        self._config = config
        self._num_steps = config.training.steps
        self._test_sets = test_sets
        self._seconds_per_step = seconds_per_step
        self._began_at = time.time() - self._num_steps * seconds_per_step if began_at is None else began_at
        has_critic = has_trait(config.method.type_name(), "has_critic")
        self._engine = DrawnEngine(config.training.seed, has_critic=has_critic)
        problems = {f"drawn:{i:016x}": Problem(f"drawn:{i:016x}", "drawn", str(i), {}) for i in range(num_prompts)}
        self._tracked = list(problems)[:NUM_TRACKED]
        self._schedule = PromptSchedule(
            list(problems.values()), batch_size=config.rollout.batch_size, seed=config.training.seed
        )
        self._method = build_method(config)
        self._loop = Loop(
            problems=problems,
            schedule=self._schedule,
            method=self._method,
            engine=self._engine,
            group_size=config.rollout.group_size,
        )
        self._cost = NO_COST

    def records(self) -> Iterator[AnyRecord]:
        """Yield the records of the whole journal."""
        yield from self.begin()
        for step in range(1, self._num_steps + 1):
            yield from self.step(step)
        yield self._event(self._num_steps, "finished", "Training ended.")

    def begin(self) -> Iterator[AnyRecord]:
        """Yield the records before the first step."""
        yield self._event(0, "started", "Training began.")
        yield from self._evaluations(0)
        yield self._tracking(0)
        yield self._tracking(0, replicate=1)

    def step(self, step: int) -> Iterator[AnyRecord]:
        """Yield the records of this step, and those that are due after it."""
        outcome = self._loop.run_step(step)
        self._cost = cost_after(self._cost, outcome)
        spent = {"gen": 0.5, "reevaluation": 0.08, "batch": 0.00005, "update": 0.35, "step": 1.0, "step_cpu": 0.95}
        timing = {name: share * self._seconds_per_step for name, share in spent.items()}
        yield step_record(
            outcome,
            attempt=1,
            num_steps=self._num_steps,
            epoch=self._schedule.epoch_of(step),
            group_size=self._config.rollout.group_size,
            method=self._method,
            cost=self._cost,
            timing={**timing, "journal": 0.0004, "elapsed": step * self._seconds_per_step, **self._clock(step)},
            system=self._engine.utilisation(),
        )
        if step % TRACKING_INTERVAL == 0 or step == self._num_steps:
            yield self._tracking(step)
        if step % EVALUATION_INTERVAL == 0 or step == self._num_steps:
            yield from self._evaluations(step)

    def _clock(self, step: int) -> dict[str, float]:
        return {"unix_time": self._began_at + step * self._seconds_per_step}

    def _event(self, step: int, event: Literal["started", "finished"], message: str) -> EventRecord:
        return EventRecord(attempt=1, step=step, event=event, message=message, timing=self._clock(step))

    def _tracking(self, step: int, *, replicate: int = 0) -> TrackingRecord:
        group_size = self._config.rollout.group_size
        return TrackingRecord(
            attempt=1,
            step=step,
            replicate=replicate,
            group_size=group_size,
            prompt_ids=self._tracked,
            num_correct=[self._engine.count(prompt, step, group_size) for prompt in self._tracked],
            timing=self._clock(step),
        )

    def _evaluations(self, step: int) -> Iterator[EvaluationRecord]:
        for test_set in self._test_sets:
            names = [f"{test_set}:{index:016x}" for index in range(NUM_TEST)]
            counts = [self._engine.count(name, step, NUM_SAMPLES) for name in names]
            mean = _interval(sum(counts) / (NUM_TEST * NUM_SAMPLES))
            yield EvaluationRecord(
                attempt=1,
                step=step,
                dataset=test_set,
                num_samples=NUM_SAMPLES,
                num_correct=counts,
                prompt_ids=names,
                avg_at_k=mean,
                greedy=mean,
                pass_at={1: mean, NUM_SAMPLES: _interval(sum(count > 0 for count in counts) / NUM_TEST)},
                timing=self._clock(step),
            )


def _interval(value: float) -> Interval:
    return Interval(value=value, low=max(0.0, value - 0.04), high=min(1.0, value + 0.04))
