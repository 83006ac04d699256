"""Reads an attempt's growing files from a byte offset on: what a worker uploads and what `bapo import` sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from bapo.run.journal import RECORDS_FILE, SAMPLES_FILE, open_run_file

LOG_FILE = "trainer.log"
"""Standard output and error of a trainer that a worker started."""

CHUNK_BYTES = 2 * 1024 * 1024
"""Most that is read at once, unless a single line is longer."""
LONGEST_LINE_BYTES = 30_000_000
"""A server takes batches of 64 MB, in which a line's quotes count twice."""

FileKind = Literal["records", "samples", "log"]

ATTEMPT_FILES: Mapping[FileKind, str] = MappingProxyType(
    {"records": RECORDS_FILE, "samples": SAMPLES_FILE, "log": LOG_FILE}
)
"""The files of an attempt that a server stores, by the name it gives them."""


class LineTooLongError(OSError):
    """A line that no server takes; says which and what to do."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines of a file."""

    start_offset: int
    end_offset: int
    lines: Sequence[str]
    """Lines without their newlines; bytes that are not UTF-8 are replaced."""


def read_lines(path: Path, offset: int, chunk_bytes: int = CHUNK_BYTES) -> Lines | None:
    """Return the next whole lines after a byte offset; None where there are none yet.

    Raises LineTooLongError, and OutsideError where the file or its folder is a link.
    """
    try:
        # Of a link, its own size: it is refused when it is opened.
        size = path.lstat().st_size
    except FileNotFoundError:
        return None
    if size <= offset:
        return None
    with open_run_file(path) as file:
        file.seek(offset)
        content = file.read(chunk_bytes)
        while (end := content.rfind(b"\n") + 1) == 0:
            # A line longer than the chunk, or a last line that is not finished.
            more = file.read(chunk_bytes)
            if not more:
                return None
            content += more
            if len(content) > LONGEST_LINE_BYTES:
                longest = LONGEST_LINE_BYTES // 1_000_000
                raise LineTooLongError(
                    f"{path}: the line at byte {offset} is longer than {longest} MB, which no server takes: shorten it"
                )
    # Not splitlines: it also splits at characters that a JSON string may hold.
    lines = [line.decode(errors="replace") for line in content[: end - 1].split(b"\n")]
    return Lines(offset, offset + end, lines)
