"""Reports of one rank of a run that several ranks record together, as lines of the rank's own file.

Rank 0 reads these lines back and makes the records of them: `bapo.observe.rank_merge`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from bapo.observe.group import CheckedGroup, Group
from bapo.observe.observation import Lines, Observation, ToldEvaluation, ToldStep
from bapo.records import EventRecord, read_record


class RankObservation(Observation):
    """The observation of one rank: its lines are parts of steps, and not yet records."""

    def __init__(self, rank: int, world_size: int, *, reward_threshold: float, samples_per_step: int) -> None:
        super().__init__(reward_threshold=reward_threshold, samples_per_step=samples_per_step)
        self.rank = rank
        self.world_size = world_size
        self._passed_on: Counter[str] = Counter()

    def lines_of_step(
        self,
        step: int,
        groups: Sequence[Group],
        metrics: Mapping[str, Any] | None = None,
        sources: str | Sequence[str] | None = None,
        *,
        at: float | None = None,
    ) -> Lines:
        """Return this rank's part of a step, which may have no group. Raises RejectedStepError."""
        told = self.told_step(step, groups, metrics, sources, at=at)
        self.step = told.step
        rejections, self._passed_on = self.rejections - self._passed_on, Counter(self.rejections)
        content = {
            "type": "step",
            **told._asdict(),
            "groups": [tuple(group) for group in told.groups],
            "samples": [orjson.Fragment(line[:-1]) for line in told.samples if line],
            "rejections": rejections,
        }
        return Lines(orjson.dumps(content) + b"\n")

    def lines_of_evaluation(
        self, step: int, dataset: str, groups: Sequence[Group], *, at: float | None = None
    ) -> Lines:
        """Return this rank's part of a held-out set, which may have no problem. Raises RejectedStepError."""
        told = self.told_evaluation(step, dataset, groups, at=at)
        content = {
            "type": "evaluation",
            **told._asdict(),
            "groups": [tuple(group) for group in told.groups],
            "samples": [orjson.Fragment(line[:-1]) for line in told.samples if line],
        }
        return Lines(orjson.dumps(content) + b"\n")

    def _num_samples(self, step: int) -> int:
        """Return the number of this rank's samples: all ranks together keep those of a step, in turn."""
        first = step * self._samples_per_step
        return sum((first + number) % self.world_size == self.rank for number in range(self._samples_per_step))


class PartOfStep(NamedTuple):
    """A rank's part of a step, read back."""

    told: ToldStep
    rejections: Mapping[str, int]
    """Number of items that the rank has left out since its last part, by kind."""


def read_part(line: bytes, attempt: int) -> PartOfStep | ToldEvaluation | EventRecord:
    """Return a line of a rank's file, for the records of an attempt. Raises ValueError for anything else."""
    content = orjson.loads(line)
    try:
        if content["type"] not in ("step", "evaluation"):
            return _event(content)
        groups = [CheckedGroup(*fields) for fields in content["groups"]]
        samples = [_sample(sample, attempt) for sample in content["samples"]]
        if content["type"] == "evaluation":
            return ToldEvaluation(content["step"], content["dataset"], groups, samples, content["at"])
        told = ToldStep(content["step"], groups, content["num_rejected"], content["metrics"], samples, content["at"])
        return PartOfStep(told, content["rejections"])
    except (KeyError, TypeError, AssertionError) as error:
        raise ValueError(f"not a part of a step: {error}") from None


def _event(content: Mapping[str, Any]) -> EventRecord:
    record = read_record(content)
    assert isinstance(record, EventRecord), "all that a rank tells besides"
    return record


def _sample(content: Mapping[str, Any], attempt: int) -> bytes:
    if content["type"] == "sample":
        content = {**content, "attempt": attempt}
    return orjson.dumps(content) + b"\n"
