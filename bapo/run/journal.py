"""Append-only files of lines: the journal of an attempt, its samples, the control file.

A line counts once its newline is there; a torn last line, left by a crash or by a full disk, is not read and is cut
off before the next line is written.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from bapo.files.safe_paths import open_inside
from bapo.records import AnyRecord, EventRecord, Record, StepRecord, dump_record, parse_record
from bapo.run.write_failures import remedy

RECORDS_FILE = "records.jsonl"
SAMPLES_FILE = "samples.jsonl"
MOST_ATTEMPTS = 100_000
"""Largest number of an attempt; a folder with a higher one is no attempt."""


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
        """Append one line. A partial write (full disk) is taken back before JournalError is raised.

        Raises JournalError, too, if the file was deleted or moved: written lines would be lost.
        """
        before = os.fstat(self._descriptor).st_size
        if not self._is_there():
            raise JournalError(
                f"{self.path} was deleted or moved while the run wrote it: clone the run to train it again"
            )
        try:
            written = os.write(self._descriptor, line)
        except OSError as error:
            raise self._failure(error) from error
        if written != len(line):
            os.ftruncate(self._descriptor, before)
            raise self._failure(OSError(errno.ENOSPC, "no space left on device"))

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._descriptor))
        except OSError as error:
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                return False
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> JournalError:
        cause = error.strerror or str(error)
        return JournalError(f"cannot append to {self.path}: {cause}; {remedy(error)}, then start the run again")

    def close(self) -> None:
        """Close the file."""
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
        """Close both files."""
        self.records.close()
        self.samples.close()


def open_run_file(path: Path) -> BinaryIO:
    """Return a file of a run folder, or of an attempt's folder in it, for reading.

    Raises OutsideError if it, or the attempt's folder, is a link or no plain file: the author of an imported folder
    must not choose what else is read.
    """
    depth = 2 if _number_of(path.parent) is not None else 1
    return open_inside(path.parents[depth - 1], path.parts[-depth:])


def complete_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a run's file that end in a newline, without it; none where there is no file."""
    try:
        file = open_run_file(path)
    except FileNotFoundError:
        return
    with file:
        for line in file:
            if line.endswith(b"\n"):
                yield line[:-1]


def read_records(path: Path) -> Iterator[AnyRecord]:
    """Yield the records of one journal file."""
    return (parse_record(line) for line in complete_lines(path))


def attempt_folders(run_folder: Path) -> Sequence[Path]:
    """Return attempt-1, attempt-2, … in order."""
    numbered = ((number, path) for path in run_folder.glob("attempt-*") if (number := _number_of(path)) is not None)
    return [path for _, path in sorted(numbered)]


def _number_of(attempt_folder: Path) -> int | None:
    digits = attempt_folder.name.removeprefix("attempt-")
    is_number = digits != attempt_folder.name and digits.isascii() and digits.isdigit()
    # Checked by its length first: a number of thousands of digits is not even read.
    return int(digits) if is_number and len(digits) <= 6 and int(digits) <= MOST_ATTEMPTS else None


def merged_records(run_folder: Path) -> list[AnyRecord]:
    """Return the run's history over its attempts: where a later attempt repeats a step, its record replaces the earlier
    one.

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
