"""What a run's batches would have been under other thresholds, buffers or filters.

The recorded stream of group accuracies is replayed through the real batch construction. Fresh groups are what they
were, so X1 and what fresh groups do to the buffers are exact given the record; the policy's own reaction to other
batches is not simulated. A re-evaluation that never happened is drawn from what the prompt did later, many times, so
that the figures which depend on it come with an interval.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bapo.config import RunConfig
from bapo.draws import generator
from bapo.methods import build_method
from bapo.records import Interval, PromptVisit, SourceCounts, StepRecord
from bapo.rollout import BatchSource, RolloutGroup

DEFAULT_REPLICATES = 20


@dataclass(frozen=True, slots=True)
class StepForecast:
    """One step's batch as it would have been."""

    step: int
    x1: int
    """Exact, given the recorded accuracies."""
    x2: Interval
    x3: Interval
    batch: Interval
    fill_rate: Interval
    reevaluated: Interval
    difficult_size: Interval
    """Prompts in the difficult buffer after the step."""
    high_quality_size: Interval
    """Groups in the high-quality buffer after the step."""
    num_estimated: float
    """Re-evaluations of this step that never happened, mean over the replicates."""
    is_exact: bool
    """No figure up to this step rests on an estimate: the intervals have no width."""


def what_if(
    records: Sequence[StepRecord], config: RunConfig, *, replicates: int = DEFAULT_REPLICATES
) -> list[StepForecast]:
    """Replay the steps 1..n under `config`, whose seed, group size and prompts must be the recorded run's.

    Intervals hold the middle 95 % of `replicates` draws; the value is their mean. Raises ValueError where a step is
    missing or the group size is another.
    """
    _check(records, config)
    visits = _Visits(records)
    replays = [_replay(records, config, visits, replicate=0)]
    if any(step.num_estimated for step in replays[0]):
        replays += [_replay(records, config, visits, replicate=number) for number in range(1, replicates)]
    return _summarise(records, replays)


def _check(records: Sequence[StepRecord], config: RunConfig) -> None:
    if [record.step for record in records] != list(range(1, len(records) + 1)):
        raise ValueError("the record lacks steps: a replay needs every step from 1 on")
    if records and records[0].group_size != config.rollout.group_size:
        raise ValueError(
            f"rollout.group_size = {config.rollout.group_size}, but the run was recorded with "
            f"{records[0].group_size}: other group sizes cannot be replayed"
        )


class _Visits:
    """Each prompt's accuracies by step."""

    def __init__(self, records: Sequence[StepRecord]) -> None:
        self._visits: dict[str, list[tuple[int, PromptVisit]]] = defaultdict(list)
        for record in records:
            for visit in record.prompts:
                if visit.source is not BatchSource.REUSED:
                    self._visits[visit.prompt_id].append((record.step, visit))

    def reevaluated_at(self, prompt_id: str, step: int) -> PromptVisit | None:
        """The prompt's re-evaluation in exactly this step."""
        visits = self._visits[prompt_id]
        for visit_step, visit in visits[bisect_left(visits, step, key=lambda entry: entry[0]) :]:
            if visit_step > step:
                break
            if visit.source is BatchSource.REEVALUATED:
                return visit
        return None

    def nearest_later(self, prompt_id: str, step: int) -> PromptVisit:
        """The first visit at or after the step, or else the last one before it: the replayed buffer only holds
        prompts that were visited."""
        visits = self._visits[prompt_id]
        index = bisect_left(visits, step, key=lambda entry: entry[0])
        return visits[min(index, len(visits) - 1)][1]


@dataclass(frozen=True, slots=True)
class _ReplayedStep:
    counts: SourceCounts
    difficult_size: int
    high_quality_size: int
    num_estimated: int


def _replay(
    records: Sequence[StepRecord], config: RunConfig, visits: _Visits, *, replicate: int
) -> list[_ReplayedStep]:
    method = build_method(config)
    steps = []
    for record in records:
        step = record.step
        fresh = [_group(visit, record) for visit in record.prompts if visit.source is BatchSource.FRESH]
        method.observe_fresh(step, fresh)
        reevaluated, num_estimated = [], 0
        for prompt_id in method.prompts_to_reevaluate(step):
            visit = visits.reevaluated_at(prompt_id, step)
            if visit is None:
                draw = generator(config.training.seed, step, f"what-if:{replicate}:{prompt_id}")
                num_correct = _estimate(visits.nearest_later(prompt_id, step), record.group_size, draw)
                reevaluated.append(RolloutGroup(prompt_id, num_correct, record.group_size, step - 1, step))
                num_estimated += 1
            else:
                reevaluated.append(_group(visit, record))
        batch = method.compose(step, reevaluated)
        method.finish_step(step)
        difficult, high_quality = method.buffers(step)
        steps.append(
            _ReplayedStep(
                batch.counts,
                difficult.size if difficult else 0,
                high_quality.size if high_quality else 0,
                num_estimated,
            )
        )
    return steps


def _group(visit: PromptVisit, record: StepRecord) -> RolloutGroup:
    return RolloutGroup(visit.prompt_id, visit.num_correct, record.group_size, visit.policy_version, record.step)


def _estimate(visit: PromptVisit, group_size: int, draw: random.Random) -> int:
    """Draw what a re-evaluation would have found: p from Beta(k + ½, G - k + ½), then k' from Binomial(G, p).

    Jeffreys' posterior of the accuracy after the visit that lies nearest; its spread is part of the interval.
    """
    accuracy = draw.betavariate(visit.num_correct + 0.5, group_size - visit.num_correct + 0.5)
    return sum(draw.random() < accuracy for _ in range(group_size))


def _summarise(records: Sequence[StepRecord], replays: Sequence[Sequence[_ReplayedStep]]) -> list[StepForecast]:
    forecasts = []
    is_exact = True
    for record, replicas in zip(records, zip(*replays, strict=True), strict=True):
        is_exact = is_exact and not any(replica.num_estimated for replica in replicas)
        forecasts.append(
            StepForecast(
                step=record.step,
                x1=replicas[0].counts.x1,
                x2=_middle([replica.counts.x2 for replica in replicas]),
                x3=_middle([replica.counts.x3 for replica in replicas]),
                batch=_middle([replica.counts.batch for replica in replicas]),
                fill_rate=_middle([replica.counts.fill_rate for replica in replicas]),
                reevaluated=_middle([replica.counts.reevaluated for replica in replicas]),
                difficult_size=_middle([replica.difficult_size for replica in replicas]),
                high_quality_size=_middle([replica.high_quality_size for replica in replicas]),
                num_estimated=sum(replica.num_estimated for replica in replicas) / len(replicas),
                is_exact=is_exact,
            )
        )
    return forecasts


def _middle(values: Sequence[float]) -> Interval:
    """Mean and the middle 95 % of the values."""
    ordered = sorted(values)
    cut = int(0.025 * len(ordered))
    return Interval(value=sum(ordered) / len(ordered), low=ordered[cut], high=ordered[-1 - cut])
