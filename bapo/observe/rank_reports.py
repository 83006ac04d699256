"""Reports of one rank of a run that several ranks record together, as lines of the rank's own file.

Rank 0 reads these lines back and makes the records of them: `bapo.observe.rank_merge`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bapo.observe.group import CheckedGroup, Group
from bapo.observe.observation import EvaluationReport, Lines, Observation, StepReport
from bapo.observe.rank_files import GrowingFile, RankFile
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
        report = self.step_report(step, groups, metrics, sources, at=at)
        self.step = report.step
        rejections, self._passed_on = self.rejections - self._passed_on, Counter(self.rejections)
        return _line("step", report, rejections=rejections)

    def lines_of_evaluation(
        self, step: int, dataset: str, groups: Sequence[Group], *, at: float | None = None
    ) -> Lines:
        """Return this rank's part of a held-out set, which may have no problem. Raises RejectedStepError."""
        return _line("evaluation", self.evaluation_report(step, dataset, groups, at=at))

    def _num_samples(self, step: int) -> int:
        """Return the number of this rank's samples: all ranks together keep those of a step, in turn."""
        first = step * self._samples_per_step
        return sum((first + number) % self.world_size == self.rank for number in range(self._samples_per_step))


def _line(kind: str, report: StepReport | EvaluationReport, **more: Any) -> Lines:
    content = {
        "type": kind,
        **report._asdict(),
        "groups": [tuple(group) for group in report.groups],
        "samples": [orjson.Fragment(line[:-1]) for line in report.samples if line],
        **more,
    }
    return Lines(orjson.dumps(content) + b"\n")


class PartOfStep(NamedTuple):
    """A rank's part of a step, read back."""

    report: StepReport
    rejections: Mapping[str, int]
    """Number of items that the rank has left out since its last part, by kind."""


def read_part(line: bytes, attempt: int) -> PartOfStep | EvaluationReport | EventRecord:
    """Return a line of a rank's file, for the records of an attempt. Raises ValueError for anything else."""
    content = orjson.loads(line)
    try:
        if content["type"] not in ("step", "evaluation"):
            return _event(content)
        groups = [CheckedGroup(*fields) for fields in content["groups"]]
        samples = [_sample(sample, attempt) for sample in content["samples"]]
        if content["type"] == "evaluation":
            return EvaluationReport(content["step"], content["dataset"], groups, samples, content["at"])
        report = StepReport(
            content["step"], groups, content["num_rejected"], content["metrics"], samples, content["at"]
        )
        return PartOfStep(report, content["rejections"])
    except (KeyError, TypeError, AssertionError) as error:
        raise ValueError(f"not a part of a step: {error}") from None


def _event(content: Mapping[str, Any]) -> EventRecord:
    record = read_record(content)
    assert isinstance(record, EventRecord), "all that a rank reports besides"
    return record


def _sample(content: Mapping[str, Any], attempt: int) -> bytes:
    if content["type"] == "sample":
        content = {**content, "attempt": attempt}
    return orjson.dumps(content) + b"\n"


class RankReader:
    """Reads the files of one rank, in the order of its starts."""

    def __init__(
        self,
        run_folder: Path,
        attempt: int,
        listener: Callable[[EvaluationReport | EventRecord], None],
        *,
        from_step: int = 0,
    ) -> None:
        """Take `listener`, which receives all that is no part of a step, in its place among them.

        `from_step`: parts up to this step were merged by an earlier reader.
        """
        self.has_ended = False
        """True if its newest process reported that it was done."""
        self.newest: RankFile | None = None
        self._folder = run_folder
        self._attempt = attempt
        self._listener = listener
        self._from_step = from_step
        self._files: list[GrowingFile] = []
        self._ahead: dict[RankFile, list[PartOfStep | EvaluationReport | EventRecord]] = {}
        """Parts that were read and not taken yet, by file."""

    def add(self, file: RankFile) -> None:
        """Add a further start of the rank; one that is known already changes nothing."""
        if self.newest is None or file > self.newest:
            self.newest, self.has_ended = file, False
            self._files.append(GrowingFile(self._folder, file))
            self._ahead[file] = []

    def hand_over(self, attempt: int, listener: Callable[[EvaluationReport | EventRecord], None]) -> None:
        """Continue in another attempt from the current position: its process lived on while rank 0 restarted."""
        self._attempt, self._listener, self._from_step = attempt, listener, 0

    def head(self) -> PartOfStep | None:
        """Return the earliest part of a step that was not taken; None where there is none yet. Raises ValueError."""
        while self._files:
            current = self._files[0]
            part = self._next(current)
            if part is None:
                if len(self._files) == 1:
                    return None
                # The process of this file has ended: another one runs.
                self._files.pop(0).close()
                del self._ahead[current.file]
            elif not isinstance(part, PartOfStep):
                self._note_end(current, part)
                self._listener(part)
            elif part.report.step > self._from_step and not self._is_repeated(part):
                self._ahead[current.file].insert(0, part)
                return part
        return None

    def take(self) -> None:
        """Drop the head: it is merged, or left out."""
        self._ahead[self._files[0].file].pop(0)

    def _next(self, file: GrowingFile) -> PartOfStep | EvaluationReport | EventRecord | None:
        ahead = self._ahead[file.file]
        if ahead:
            return ahead.pop(0)
        line = file.next_line()
        return None if line is None else read_part(line, self._attempt)

    def _is_repeated(self, part: PartOfStep) -> bool:
        """Return whether a later process of the rank went back to this step or before it: then its part counts."""
        for file in self._files[1:]:
            ahead = self._ahead[file.file]
            while not any(isinstance(each, PartOfStep) for each in ahead):
                line = file.next_line()
                if line is None:
                    break
                ahead.append(read_part(line, self._attempt))
            first = next((each.report.step for each in ahead if isinstance(each, PartOfStep)), None)
            if first is not None and first <= part.report.step:
                return True
        return False

    def _note_end(self, file: GrowingFile, part: EvaluationReport | EventRecord) -> None:
        if file.file == self.newest and isinstance(part, EventRecord):
            self.has_ended = part.event in ("finished", "failed", "stop")

    def close(self) -> None:
        """Close its files."""
        for file in self._files:
            file.close()
