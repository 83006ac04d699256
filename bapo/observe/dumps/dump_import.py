"""A dump → the folder of an observed run, step by step; another import adds what is new."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from bapo.files.safe_paths import open_inside
from bapo.observe import folder as folders
from bapo.observe.dumps.formats import Dump, ParseReport
from bapo.observe.dumps.rows import DumpFile, dump_error
from bapo.observe.dumps.steps import DumpedStep, lines_of_evaluations, lines_of_step, read_steps, sizes_ahead
from bapo.observe.observation import Observation, Sizes
from bapo.records import EvaluationRecord, EventRecord, StepRecord
from bapo.run.journal import RECORDS_FILE, Journal, attempt_folders, read_records
from bapo.run.run_folder import exclusive, next_attempt

DUMP_ATTEMPT = "dump_attempt"
"""Key in the data of an attempt's first record: the number of its attempt in the dump, from 0."""


class Settings(NamedTuple):
    """Settings by which a dump is read."""

    reward_threshold: float = 0.0
    source: str | None = None
    """Data source of prompts whose rows name none."""
    samples_per_step: int = 4
    trainer: str = ""


class Imported(NamedTuple):
    """The outcome of an import."""

    num_steps: int
    """Written now."""
    num_evaluations: int
    last_step: int
    num_bytes: int
    """Size of the files that were read."""
    understood: Mapping[str, str]
    """Source of each field."""
    left_out: Mapping[str, int]
    """Number of items missing from the record, by kind."""
    messages: tuple[str, ...]
    """The first of each kind, in words."""


def import_dump(
    dump: Dump,
    evaluations: Dump | None,
    out: Path,
    settings: Settings,
    progress: Callable[[int, int], None] = lambda step, num_bytes: None,
) -> Imported:
    """Write a dump to `out` as an observed run, or what is new of it; `progress` gets each step and the bytes read.

    Raises ConfigError for what cannot be read, and for a folder that holds another run; OSError where the disk refuses.
    """
    settings = settings._replace(trainer=settings.trainer or dump.trainer)
    left_out: Counter[str] = Counter()
    known, steps = sizes_ahead(read_steps(dump, left_out))
    first = next(steps, None)
    if first is None:
        raise dump_error("FOLDER", str(dump.folder), "its files hold no row: give the folder of a run that has trained")
    # Of a trainer that counts from 0, the first step is our step 1.
    shift = 1 if first.step == 0 else 0
    with ExitStack() as held:
        held.enter_context(exclusive(out))
        config = folders.config_of(
            {},
            trainer=settings.trainer,
            trainer_version="",
            reward_threshold=settings.reward_threshold,
            sizes=None,
        )
        sizes = folders.claimed_sizes(out, config)
        written = _written(out)
        identity = _identity(first)
        if written.identity not in (None, identity):
            raise dump_error("--out", str(out), "it holds the import of another dump: choose another folder")
        observation = Observation(
            attempt=next_attempt(out),
            reward_threshold=settings.reward_threshold,
            sizes=sizes or known,
            samples_per_step=settings.samples_per_step,
            is_past=True,
        )
        if written.latest is not None:
            observation.resume_after(written.latest)
        writer = _Writer(out, observation, settings, written, identity, held, has_sizes=sizes is not None)
        evaluated = read_steps(evaluations, left_out) if evaluations is not None else iter(())
        pending = next(evaluated, None)
        num_bytes = 0
        seen: set[DumpFile] = set()
        parse_report = ParseReport(dump)
        for step in chain([first], steps):
            while pending is not None and pending.step < step.step + shift:
                writer.write_evaluation(pending, evaluations)
                pending = next(evaluated, None)
            parse_report.note(step.rollouts)
            writer.write_step(step, step.step + shift, dump)
            if step.file not in seen:
                seen.add(step.file)
                num_bytes += step.file.num_bytes
            progress(step.step + shift, num_bytes)
        while pending is not None:
            writer.write_evaluation(pending, evaluations)
            pending = next(evaluated, None)
        writer.finish(left_out, parse_report.facts())
    return Imported(
        writer.num_steps,
        writer.num_evaluations,
        max(observation.step, written.last_step),
        sum(file.num_bytes for each in (dump, evaluations) if each is not None for file in each.files),
        parse_report.facts(),
        dict(left_out + observation.rejections),
        tuple(writer.messages),
    )


class _Written(NamedTuple):
    """The steps that earlier imports wrote."""

    identity: str | None
    latest: StepRecord | None
    evaluations: frozenset[tuple[int, str]]
    position: tuple[int, int]
    """Attempt of the dump and its step; what comes after it is new."""
    last_step: int


def _written(out: Path) -> _Written:
    identity: str | None = None
    latest: StepRecord | None = None
    evaluations: set[tuple[int, str]] = set()
    position, last_step = (0, 0), 0
    for attempt in attempt_folders(out):
        number = 0
        for record in read_records(attempt / RECORDS_FILE):
            if isinstance(record, EventRecord):
                if identity is None:
                    identity = str(record.data.get("observation", ""))
                number = max(number, record.data.get(DUMP_ATTEMPT, 0))
            elif isinstance(record, StepRecord):
                latest = record
                position = max(position, (number, record.step))
                last_step = max(last_step, record.step)
            elif isinstance(record, EvaluationRecord):
                evaluations.add((record.step, record.dataset))
    return _Written(identity, latest, frozenset(evaluations), position, last_step)


def _identity(first: DumpedStep) -> str:
    """Return a dump's identity, from its first step, wherever it lies: the same dump is the same run."""
    digest = hashlib.sha256()
    for each in first.rollouts:
        digest.update(repr((each.prompt, each.response, each.reward)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


class _Writer:
    """The journal of one import; opened with the first thing that is new."""

    def __init__(
        self,
        out: Path,
        observation: Observation,
        settings: Settings,
        written: _Written,
        identity: str,
        held: ExitStack,
        *,
        has_sizes: bool,
    ) -> None:
        self.num_steps = self.num_evaluations = 0
        self.messages: list[str] = []
        self._out = out
        self._observation = observation
        self._settings = settings
        self._written = written
        self._identity = identity
        self._held = held
        self._journal: Journal | None = None
        self._has_sizes = has_sizes
        self._dump_attempt = 0
        self._last_step = written.last_step

    def write_step(self, dumped: DumpedStep, step: int, dump: Dump) -> None:
        """Write a step that is not there yet. Raises OSError."""
        if (dumped.attempt, step) <= self._written.position:
            return
        observation = self._observation
        if dumped.attempt != self._dump_attempt:
            self._begin_attempt(dumped.attempt, step)
        try:
            _, lines = lines_of_step(observation, dumped, step, self._settings.source, at=_time_of(dump, dumped.file))
        finally:
            self.messages += observation.complaints()
        if lines is None:
            return
        journal = self._opened()
        self._note_sizes()
        journal.records.write(lines.records)
        if lines.samples:
            journal.samples.write(lines.samples)
        # A step that a later attempt repeats is one step.
        self.num_steps += step > self._last_step
        self._last_step = max(step, self._last_step)

    def _begin_attempt(self, number: int, step: int) -> None:
        """Write what follows as a later attempt, whose steps replace those of the earlier ones."""
        self._dump_attempt = number
        if self._journal is not None:
            message = f"step {step} comes again after step {self._observation.step}, as where a trainer resumes"
            self.messages.append(f"{message}: of the steps that it repeats the later rollouts count")
            self._journal = None
            self._observation.attempt += 1
        self._observation.step = 0

    def write_evaluation(self, dumped: DumpedStep, dump: Dump | None) -> None:
        """Write an evaluation that is not there yet, one per data source. Raises OSError."""
        assert dump is not None, "it holds the step"
        at = _time_of(dump, dumped.file)
        for lines in lines_of_evaluations(self._observation, dumped, self._written.evaluations, at=at):
            self._opened().records.write(lines.records)
            self.num_evaluations += 1
        self.messages += self._observation.complaints()

    def finish(self, left_out: Mapping[str, int], understood: Mapping[str, str]) -> None:
        """Say that all is there, what is not, and what the fields were read from. Raises OSError."""
        if self._journal is None:
            return
        rejected = {**left_out, **self._observation.rejections}
        message = f"imported {self.num_steps:,} steps from {self._settings.trainer or 'a dump'}"
        if rejected:
            message += f"; left out: {', '.join(f'{count:,} × {kind}' for kind, count in rejected.items())}"
        for complaint in self.messages:
            self._journal.records.write(self._observation.line_of_event("warning", complaint))
        event = self._observation.line_of_event(
            "finished", message, {"rejected": rejected, "understood": dict(understood)}
        )
        self._journal.records.write(event)

    def _opened(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(self._out / f"attempt-{self._observation.attempt}")
            self._held.callback(self._journal.close)
            is_first = self._observation.attempt == 1
            message = f"imported from the files of {self._settings.trainer or 'a trainer'}"
            data = {
                "observation": self._identity,
                "trainer": self._settings.trainer,
                "trainer_version": "",
                DUMP_ATTEMPT: self._dump_attempt,
            }
            line = self._observation.line_of_event("started" if is_first else "resumed", message, data)
            self._journal.records.write(line)
        return self._journal

    def _note_sizes(self) -> None:
        sizes: Sizes | None = self._observation.sizes
        if self._has_sizes or sizes is None:
            return
        config = folders.config_of(
            {},
            trainer=self._settings.trainer,
            trainer_version="",
            reward_threshold=self._settings.reward_threshold,
            sizes=sizes,
        )
        folders.write_config(self._out, config)
        self._has_sizes = True


def _time_of(dump: Dump, file: DumpFile) -> float | None:
    """Return when a trainer wrote the file of one step; None for a file of many steps."""
    if file.step is None:
        return None
    with open_inside(dump.folder, file.parts) as opened:
        return os.fstat(opened.fileno()).st_mtime
