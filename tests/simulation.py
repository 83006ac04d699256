"""A realistic journal, simulated, and the answers that the API would give about it."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from bapo.api.records import HistogramSeries, Series
from bapo.records import (
    AnyRecord,
    BufferState,
    Cost,
    CriticValues,
    EvaluationRecord,
    EventRecord,
    Interval,
    PromptVisit,
    SourceCounts,
    StepRecord,
    ThresholdValues,
    TrackingRecord,
    UpdateValues,
    metrics,
)
from bapo.rollout import BatchSource

GROUP_SIZE = 8
BATCH_SIZE = 32
STARTED_AT = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)
NUM_TRACKED = 128
NUM_TEST = 200


@dataclass
class Simulation:
    """A run in which every prompt's chance of success rises over the steps."""

    num_steps: int
    """Steps of the whole run."""
    seed: int = 0
    evaluation_interval: int = 50
    tracking_interval: int = 25
    seconds_per_step: float = 0.8
    has_critic: bool = False
    records: list[AnyRecord] = field(default_factory=list)
    last_step: int = 0

    def __post_init__(self) -> None:
        self._draws = random.Random(self.seed)
        self._ease = [self._draws.gauss(-1.6, 2.0) for _ in range(2048)]
        self._cost = {"num_rollouts": 0, "num_tokens": 0, "num_tracking_rollouts": 0, "num_evaluation_rollouts": 0}
        self._means: list[float] = []
        self._stored = self._difficult = 0
        self.records.append(self._event(0, "started", "Training began."))
        self._evaluate(0)
        self._track(0, 0)
        self._track(0, 1)

    def train(self, steps: int) -> Self:
        """Add some steps, and what is due after each."""
        for step in range(self.last_step + 1, self.last_step + steps + 1):
            self._advance(step)
        self.last_step += steps
        return self

    def _advance(self, step: int) -> None:
        self.records.append(self._step(step))
        if step % self.tracking_interval == 0 or step == self.num_steps:
            self._track(step, 0)
        if step % self.evaluation_interval == 0 or step == self.num_steps:
            self._evaluate(step)

    def _probability(self, prompt: int, step: int) -> float:
        return 1 / (1 + math.exp(-(self._ease[prompt] + 2.2 * (1 - math.exp(-step / 90)))))

    def _group(self, prompt: int, step: int) -> int:
        chance = self._probability(prompt, step)
        return sum(self._draws.random() < chance for _ in range(GROUP_SIZE))

    def _event(self, step: int, event: Any, message: str, **data: Any) -> EventRecord:
        return EventRecord(
            attempt=1, step=step, event=event, message=message, data=data, timing={"unix_time": self._clock(step)}
        )

    def _clock(self, step: int) -> float:
        return (STARTED_AT + timedelta(seconds=step * self.seconds_per_step)).timestamp()

    def _evaluate(self, step: int) -> None:
        for dataset, shift in (("CD-34", 0.0), ("CD-4", -0.9)):
            counts = []
            for problem in range(NUM_TEST):
                chance = 1 / (1 + math.exp(-(self._ease[problem] + shift + 2.0 * (1 - math.exp(-step / 90)))))
                counts.append(sum(self._draws.random() < chance for _ in range(GROUP_SIZE)))
            mean = sum(counts) / (NUM_TEST * GROUP_SIZE)
            best = sum(count > 0 for count in counts) / NUM_TEST
            self._cost["num_evaluation_rollouts"] += NUM_TEST * (GROUP_SIZE + 1)
            self.records.append(
                EvaluationRecord(
                    attempt=1,
                    step=step,
                    dataset=dataset,
                    num_samples=GROUP_SIZE,
                    num_correct=counts,
                    prompt_ids=[f"{dataset}-{index:04d}" for index in range(NUM_TEST)],
                    avg_at_k=_interval(mean, 0.035),
                    greedy=_interval(min(1, mean + 0.06), 0.06),
                    pass_at={1: _interval(mean, 0.035), 8: _interval(best, 0.05)},
                    timing={"unix_time": self._clock(step)},
                )
            )

    def _track(self, step: int, replicate: int) -> None:
        self._cost["num_tracking_rollouts"] += NUM_TRACKED * GROUP_SIZE
        self.records.append(
            TrackingRecord(
                attempt=1,
                step=step,
                replicate=replicate,
                group_size=GROUP_SIZE,
                prompt_ids=[f"train-{index:05d}" for index in range(NUM_TRACKED)],
                num_correct=[self._group(index, step) for index in range(NUM_TRACKED)],
                timing={"unix_time": self._clock(step)},
            )
        )

    def _step(self, step: int) -> StepRecord:
        prompts = self._draws.sample(range(len(self._ease)), BATCH_SIZE)
        fresh = [self._group(prompt, step) for prompt in prompts]
        x1 = sum(0 < count < GROUP_SIZE for count in fresh)
        reevaluated = [] if step % 5 else [self._group(p, step) for p in prompts[:20] if fresh[prompts.index(p)] <= 1]
        improved = sum(1 < count < GROUP_SIZE for count in reevaluated)
        x2 = min(improved, BATCH_SIZE - x1)
        candidates = min(self._stored, 14)
        x3 = min(candidates, BATCH_SIZE - x1 - x2)
        self._stored = sum(count == 2 for count in fresh) * 3
        self._difficult = min(BATCH_SIZE, self._difficult + sum(count <= 1 for count in fresh) - len(reevaluated) // 2)
        reward = sum(fresh) / (BATCH_SIZE * GROUP_SIZE)
        r_tot = sum(self._means[-10:]) / len(self._means[-10:]) if self._means else 0.0
        self._means.append(reward)
        self._cost["num_rollouts"] += GROUP_SIZE * (BATCH_SIZE + len(reevaluated))
        self._cost["num_tokens"] += GROUP_SIZE * (BATCH_SIZE + len(reevaluated)) * 11
        batch = x1 + x2 + x3
        histogram = [fresh.count(k) for k in range(GROUP_SIZE + 1)]
        return StepRecord(
            attempt=1,
            step=step,
            num_steps=self.num_steps,
            epoch=step * BATCH_SIZE // len(self._ease),
            group_size=GROUP_SIZE,
            skipped=False,
            rollout_version=(step // 5) * 5 - (1 if step >= 5 else 0),
            trainer_version=step - 1,
            counts=SourceCounts(
                fresh=BATCH_SIZE,
                x1=x1,
                reevaluated=len(reevaluated),
                improved=improved,
                x2=x2,
                solved=reevaluated.count(GROUP_SIZE),
                still_difficult=sum(count <= 1 for count in reevaluated),
                surplus_stored=0,
                surplus_dropped=improved - x2,
                x3_candidates=candidates,
                x3=x3,
                batch=batch,
                batch_size=BATCH_SIZE,
                fill_rate=batch / BATCH_SIZE,
            ),
            fresh_histogram=histogram,
            reevaluated_histogram=[reevaluated.count(k) for k in range(GROUP_SIZE + 1)],
            batch_histogram=[count if 0 < k < GROUP_SIZE else 0 for k, count in enumerate(histogram)],
            prompts=[
                PromptVisit(
                    prompt_id=f"train-{prompt:05d}",
                    source=BatchSource.FRESH,
                    num_correct=count,
                    policy_version=step - 1,
                    in_batch=0 < count < GROUP_SIZE,
                )
                for prompt, count in zip(prompts, fresh, strict=True)
            ],
            thresholds=ThresholdValues(
                c1=0.125,
                c2=0.125 + 0.375 * r_tot,
                c3=0.25 + 0.375 * r_tot,
                r_tot=r_tot,
                difficult_max_count=1,
                reusable_min_count=math.ceil((0.125 + 0.375 * r_tot) * GROUP_SIZE),
                reusable_max_count=math.floor((0.25 + 0.375 * r_tot) * GROUP_SIZE),
            ),
            difficult_buffer=_buffer(self._difficult, BATCH_SIZE, self._draws),
            high_quality_buffer=_buffer(self._stored, None, self._draws),
            update=UpdateValues(
                loss=self._draws.gauss(-0.01, 0.01),
                entropy=0.9 * math.exp(-step / 200) + self._draws.random() * 0.02,
                grad_norm=0.4 + self._draws.random() * 0.2,
                kl=abs(self._draws.gauss(0.004, 0.002)),
                clip_fraction=abs(self._draws.gauss(0.02, 0.01)),
                ratio_mean=1.0,
                ratio_max=1.4,
                ratio_histogram=[0] * 13,
                num_mini_batches=1,
                num_tokens=batch * GROUP_SIZE * 11,
                num_groups_skipped=0,
                learning_rate=3e-4,
                critic=_critic(step, reward, self._draws) if self.has_critic else None,
            ),
            reward_mean=reward,
            batch_reward_mean=0.4 + self._draws.random() * 0.1,
            response_length_mean=10.5,
            response_length_max=16,
            response_clip_ratio=0.01,
            cost=Cost(**self._cost),
            timing={
                "gen": 0.2,
                "update": 0.3,
                "step": self.seconds_per_step,
                "elapsed": step * self.seconds_per_step,
                "unix_time": self._clock(step),
            },
            system={"memory_bytes": 6.1e8},
        )


def _interval(value: float, half_width: float) -> Interval:
    return Interval(value=value, low=max(0.0, value - half_width), high=min(1.0, value + half_width))


def _critic(step: int, reward: float, draws: random.Random) -> CriticValues:
    explained = 1 - math.exp(-step / 60)
    return CriticValues(
        loss=0.2 * (1 - explained) + 0.02,
        explained_variance=explained,
        value_mean=reward * explained,
        return_mean=reward,
        grad_norm=0.5 + draws.random() * 0.3,
        clip_fraction=abs(draws.gauss(0.01, 0.01)),
        learning_rate=1e-3,
    )


def _buffer(size: int, capacity: int | None, draws: random.Random) -> BufferState:
    return BufferState(
        size=size,
        capacity=capacity,
        age_mean=draws.random() * 3 if size else None,
        age_max=3 if size else None,
        entered=2,
        refreshed=1,
        left_improved=0,
        evicted=0,
        expired=0,
    )


def series_of(records: Sequence[AnyRecord], *, from_step: int = 0) -> Series:
    """All metrics of the records from a step on, as GET /metrics gives them."""
    rows: dict[int, dict[str, float]] = {}
    for record in records:
        if record.step >= from_step and (values := metrics(record)):
            rows.setdefault(record.step, {}).update(values)
    steps = sorted(rows)
    keys = sorted({key for row in rows.values() for key in row})
    return Series(steps=steps, columns={key: [rows[step].get(key) for step in steps] for key in keys})


def histograms_of(records: Sequence[AnyRecord], *, from_step: int = 0) -> HistogramSeries:
    """The accuracy histograms of the records from a step on, as GET /histograms gives them."""
    steps = [record for record in records if isinstance(record, StepRecord) and record.step >= from_step]
    return HistogramSeries(
        steps=[record.step for record in steps],
        fresh=[record.fresh_histogram for record in steps],
        reevaluated=[record.reevaluated_histogram for record in steps],
        batch=[record.batch_histogram for record in steps],
    )
