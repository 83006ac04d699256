"""Runs of any length for benchmarks of the server and of the pages: the real loop, method and recording, with an engine
that only draws how many of its responses are correct. Nothing is learned; what is stored has the real shape.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from bapo.api.imports import ImportCreate
from bapo.api.workers import RecordBatch
from bapo.client import Client
from bapo.config import RunConfig
from bapo.engines.base import BatchItem, Generation, GenerationStats, Policy, ResponseSample, UpdateStats
from bapo.loop import Loop
from bapo.methods import build_method
from bapo.prompt_schedule import PromptSchedule
from bapo.records import (
    RATIO_BIN_EDGES,
    AnyRecord,
    EvaluationRecord,
    EventRecord,
    Interval,
    TrackingRecord,
    dump_record,
)
from bapo.rollout import BatchSource, RolloutGroup
from bapo.run.recording import CostCounter, step_record
from bapo.tasks.base import Problem

SECONDS_PER_STEP = 40.0
LEARNING_STEPS = 300
"""After as many steps a prompt has made most of its progress."""
EVALUATION_INTERVAL, TRACKING_INTERVAL = 50, 25
NUM_TEST, NUM_SAMPLES, NUM_TRACKED = 100, 8, 256
LINES_PER_BATCH = 200


class DrawnEngine:
    """Answers are right with a chance that differs between prompts and rises with the policy's version."""

    def __init__(self, seed: int) -> None:
        self._draws = random.Random(seed)
        self._seed = seed
        self._rollout_version = 0
        self._ease: dict[str, float] = {}

    def chance(self, prompt_id: str, version: int) -> float:
        """Of one response to be right."""
        ease = self._ease.setdefault(prompt_id, random.Random(f"{self._seed}:{prompt_id}").gauss(-1.6, 2.0))
        return 1 / (1 + math.exp(-(ease + 2.2 * (1 - math.exp(-version / LEARNING_STEPS)))))

    def count(self, prompt_id: str, version: int, group_size: int) -> int:
        """Right responses of a group."""
        chance = self.chance(prompt_id, version)
        return sum(self._draws.random() < chance for _ in range(group_size))

    def sync_rollout_policy(self, version: int) -> None:
        """α is of this version."""
        self._rollout_version = version

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Draw a group for each problem."""
        version = self._rollout_version if policy is Policy.ROLLOUT else step - 1
        groups = [
            RolloutGroup(
                problem.prompt_id, self.count(problem.prompt_id, version, group_size), group_size, version, step
            )
            for problem in problems
        ]
        return Generation(groups, GenerationStats(11 * group_size * len(groups), 10.5, 16, 0.01))

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Made-up values of the right shape."""
        draw = self._draws
        middle = len(RATIO_BIN_EDGES) // 2
        histogram = [0] * (len(RATIO_BIN_EDGES) + 1)
        for _ in range(200):
            histogram[min(max(round(draw.gauss(middle, 1.2)), 0), len(RATIO_BIN_EDGES))] += len(batch)
        present = {item.source for item in batch}
        return UpdateStats(
            loss=draw.gauss(-0.01, 0.01),
            entropy=0.9 * math.exp(-step / 2000) + 0.02 * draw.random(),
            grad_norm=0.4 + 0.2 * draw.random(),
            kl=abs(draw.gauss(0.004, 0.002)),
            clip_fraction=abs(draw.gauss(0.02, 0.01)),
            ratio_mean=1 + draw.gauss(0, 0.01),
            ratio_max=1.4 + draw.random(),
            ratio_histogram=histogram,
            num_mini_batches=1,
            num_tokens=88 * len(batch),
            num_groups_skipped=0,
            tv_tokens={source: 0.02 + 0.02 * draw.random() for source in BatchSource if source in present},
            tv_sequences={source: 0.1 + 0.1 * draw.random() for source in BatchSource if source in present},
        )

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """None."""
        return ()

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """None is right."""
        return [0 for _ in problems]

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Nothing to keep."""

    def load(self, folder: Path) -> Sequence[object]:
        """Nothing was kept."""
        return ()

    def utilisation(self) -> Mapping[str, float]:
        """Made up."""
        return {"memory_bytes": 6.1e8, "cpu_percent": 90 + 10 * self._draws.random()}

    def close(self) -> None:
        """Nothing to end."""


def config_of(*, steps: int, batch_size: int, seed: int = 1, **changes: object) -> RunConfig:
    """The config of such a run; `changes` are fields of the `method` section."""
    return RunConfig.model_validate(
        {
            "training": {"steps": steps, "batch_size": batch_size, "seed": seed},
            "rollout": {"batch_size": batch_size},
            "method": {"type": "bapo", **changes},
        }
    )


def records(config: RunConfig, *, num_prompts: int, began_at: float | None = None) -> Iterator[AnyRecord]:
    """The journal of a run over `num_prompts` training prompts."""
    steps, group_size = config.training.steps, config.rollout.group_size
    assert steps is not None
    begin = time.time() - steps * SECONDS_PER_STEP if began_at is None else began_at
    engine = DrawnEngine(config.training.seed)
    problems = {f"drawn:{i:016x}": Problem(f"drawn:{i:016x}", "drawn", str(i), {}) for i in range(num_prompts)}
    schedule = PromptSchedule(list(problems.values()), batch_size=config.rollout.batch_size, seed=config.training.seed)
    method = build_method(config)
    loop = Loop(problems=problems, schedule=schedule, method=method, engine=engine, group_size=group_size)
    cost = CostCounter()
    tracked = list(problems)[:NUM_TRACKED]

    def clock(step: int) -> dict[str, float]:
        return {"unix_time": begin + step * SECONDS_PER_STEP}

    def tracking(step: int, replicate: int = 0) -> TrackingRecord:
        counts = [engine.count(prompt, step, group_size) for prompt in tracked]
        return TrackingRecord(
            attempt=1,
            step=step,
            replicate=replicate,
            group_size=group_size,
            prompt_ids=tracked,
            num_correct=counts,
            timing=clock(step),
        )

    yield EventRecord(attempt=1, step=0, event="started", message="Training began.", timing=clock(0))
    yield evaluation(engine, 0, clock(0))
    yield tracking(0)
    yield tracking(0, 1)
    for step in range(1, steps + 1):
        outcome = loop.run_step(step)
        cost.add_step(outcome)
        spent = {"gen": 20.0, "reevaluation": 3.0, "batch": 0.002, "update": 14.0, "step": SECONDS_PER_STEP}
        yield step_record(
            outcome,
            attempt=1,
            num_steps=steps,
            epoch=schedule.epoch_of(step),
            group_size=group_size,
            learning_rate=config.training.learning_rate,
            method=method,
            cost=cost.snapshot(),
            timing=spent | {"step_cpu": 38.0, "journal": 0.0004, "elapsed": step * SECONDS_PER_STEP} | clock(step),
            system=engine.utilisation(),
        )
        if step % TRACKING_INTERVAL == 0 or step == steps:
            yield tracking(step)
        if step % EVALUATION_INTERVAL == 0 or step == steps:
            yield evaluation(engine, step, clock(step))
    yield EventRecord(attempt=1, step=steps, event="finished", message="Training ended.", timing=clock(steps))


def evaluation(engine: DrawnEngine, step: int, timing: Mapping[str, float]) -> EvaluationRecord:
    """One held-out set."""
    names = [f"test:{index:016x}" for index in range(NUM_TEST)]
    counts = [engine.count(name, step, NUM_SAMPLES) for name in names]
    mean = sum(counts) / (NUM_TEST * NUM_SAMPLES)
    best = sum(count > 0 for count in counts) / NUM_TEST

    def interval(value: float) -> Interval:
        return Interval(value=value, low=max(0.0, value - 0.04), high=min(1.0, value + 0.04))

    return EvaluationRecord(
        attempt=1,
        step=step,
        dataset="drawn",
        num_samples=NUM_SAMPLES,
        num_correct=counts,
        prompt_ids=names,
        avg_at_k=interval(mean),
        greedy=interval(mean),
        pass_at={1: interval(mean), NUM_SAMPLES: interval(best)},
        timing=timing,
    )


class Upload:
    """A journal on its way to a server, as an import."""

    def __init__(self, client: Client, config: RunConfig, name: str, group: str | None = None) -> None:
        self._client = client
        body = ImportCreate(name=name, source=name, config=config.model_dump(mode="json"), attempts=1, group=group)
        self._info = client.create_import(body)
        self._offset = 0

    @property
    def run_id(self) -> str:
        """The run's identifier."""
        return self._info.run_id

    def send(self, sent: Sequence[AnyRecord]) -> None:
        """Store some records more."""
        lines = [dump_record(record).decode().rstrip("\n") for record in sent]
        end = self._offset + sum(len(line.encode()) + 1 for line in lines)
        body = RecordBatch(
            fencing_token=self._info.fencing_token,
            attempt=1,
            kind="records",
            start_offset=self._offset,
            end_offset=end,
            lines=lines,
        )
        self._offset = self._client.import_records(self.run_id, body).next_offset
        assert self._offset == end

    def send_all(self, journal: Iterator[AnyRecord]) -> None:
        """Store a whole journal."""
        while batch := list(islice(journal, LINES_PER_BATCH)):
            self.send(batch)


def store(client: Client, config: RunConfig, name: str, journal: Iterator[AnyRecord], group: str | None = None) -> str:
    """Give a journal to a server; the run's identifier."""
    upload = Upload(client, config, name, group)
    upload.send_all(journal)
    client.finish_import(upload.run_id)
    return upload.run_id
