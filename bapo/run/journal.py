"""Append-only files of lines: the journal of an attempt, its samples, the control file.

A line counts once its newline is there; a torn last line, left by a crash or by a full disk, is not read and is cut
off before the next line is written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from bapo.records import AnyRecord, EventRecord, Record, StepRecord, dump_record, parse_record

RECORDS_FILE = "records.jsonl"
SAMPLES_FILE = "samples.jsonl"


class JournalError(OSError):
    """A record could not be written; says which file and what to do."""


def append_line(path: Path, line: bytes) -> None:
    """Append one whole line, newline included, in a single write. Raises JournalError when the disk is full."""
    with LineWriter(path) as writer:
        writer.write(line)


class LineWriter:
    """Keeps a file open for appending; each `write` is on its way to disk when it returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._cut_torn_line()

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._descriptor).st_size
        end = size
        while end:
            start = max(0, end - 65_536)
            newline = os.pread(self._descriptor, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end != size:
            os.ftruncate(self._descriptor, end)

    def write(self, line: bytes) -> None:
        """Append one line. A partial write (full disk) is taken back before JournalError is raised."""
        before = os.fstat(self._descriptor).st_size
        try:
            written = os.write(self._descriptor, line)
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from error
        if written != len(line):
            os.ftruncate(self._descriptor, before)
            raise self._failure("no space left on device")

    def _failure(self, cause: str) -> JournalError:
        return JournalError(f"cannot append to {self.path}: {cause}; free some space, then start the run again")

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)

    def __enter__(self) -> LineWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Journal:
    """The two files of one attempt that the trainer writes."""

    def __init__(self, attempt_folder: Path) -> None:
        self.records = LineWriter(attempt_folder / RECORDS_FILE)
        self.samples = LineWriter(attempt_folder / SAMPLES_FILE)

    def write(self, record: Record) -> None:
        """Append a step, evaluation, tracking or event record."""
        self.records.write(dump_record(record))

    def write_sample(self, record: Record) -> None:
        """Append a sampled group."""
        self.samples.write(dump_record(record))

    def close(self) -> None:
        """Closes both files."""
        self.records.close()
        self.samples.close()


def complete_lines(path: Path) -> Iterator[bytes]:
    """The file's lines that end in a newline, without it; none where there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def read_records(path: Path) -> Iterator[AnyRecord]:
    """The records of one journal file."""
    return (parse_record(line) for line in complete_lines(path))


def attempt_folders(run_folder: Path) -> Sequence[Path]:
    """attempt-1, attempt-2, … in order."""
    folders = (path for path in run_folder.glob("attempt-*") if path.name.removeprefix("attempt-").isdigit())
    return sorted(folders, key=lambda path: int(path.name.removeprefix("attempt-")))


def merged_records(run_folder: Path) -> list[AnyRecord]:
    """The run's history over its attempts: where a later attempt repeats a step, its record replaces the earlier one.

    A resumed attempt goes back to its checkpoint, so what an earlier attempt recorded after that step is replaced.
    """
    merged: dict[tuple[object, ...], AnyRecord] = {}
    events: list[AnyRecord] = []
    for folder in attempt_folders(run_folder):
        for record in read_records(folder / RECORDS_FILE):
            if isinstance(record, EventRecord):
                events.append(record)
            else:
                merged[(record.step, *_identity(record))] = record
    return sorted([*merged.values(), *events], key=lambda record: record.step)


def last_recorded_step(run_folder: Path, default: int = 0) -> int:
    """Return the last step that the journal of any attempt records, or `default` where none does."""
    journals = (read_records(folder / RECORDS_FILE) for folder in attempt_folders(run_folder))
    steps = (record.step for records in journals for record in records if isinstance(record, StepRecord))
    return max(steps, default=default)


def _identity(record: AnyRecord) -> tuple[object, ...]:
    return (record.type, getattr(record, "dataset", None), getattr(record, "replicate", None))
