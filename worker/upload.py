"""Uploads an attempt's files line by line; the server's byte offset decides what is next.

After a failure the worker asks the server for its offset before it sends anything again, so that nothing is lost and
little is sent twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bapo.api.workers import RecordBatch
from bapo.client import Client
from bapo.run.line_reader import ATTEMPT_FILES, FileKind, read_lines
from worker.attempts import Attempt

SLOW_INTERVAL_SECONDS = 0.5
"""Interval between two checks of the less urgent files: samples and log."""
SETTLE_SECONDS, LONGEST_SETTLE_SECONDS = 0.004, 0.06
"""A journal that grew within the first time is still being written: its upload waits up to the second time."""
ENOUGH_BYTES = 1024 * 1024
"""Size of new lines that is worth a request immediately."""

_STEP_LINE = re.compile(r'"type":"step","attempt":\d+,"step":(\d+)')


@dataclass(slots=True)
class _File:
    attempt: int
    kind: FileKind
    path: Path
    offset: int | None = None
    """Next byte that the server expects; `None` until it is asked."""
    stored: int = 0
    """Offset that the server last confirmed."""
    next_look: float = 0.0


class Uploader:
    """The files of one run that this worker may upload: the attempt's own and what earlier attempts left."""

    def __init__(self, client: Client, attempt: Attempt) -> None:
        self._client = client
        self._attempt = attempt
        self.step = 0
        """Latest completed step seen in the journal."""
        self._files = [
            # It has nothing of the newest attempt's files, most likely; where it has, it takes what is new to it.
            _File(number, kind, _folder(attempt, number) / name, offset=0 if number == attempt.number else None)
            for number in range(1, attempt.number + 1)
            for kind, name in ATTEMPT_FILES.items()
        ]

    def pump(self, *, everything: bool = False) -> bool:
        """Upload new lines, at most one batch per file. Returns whether there were any.

        `everything` looks at all files now. Raises what the client raises; calling it again is always right.
        """
        now = time.monotonic()
        found = False
        for file in list(self._files):
            if not everything and now < file.next_look:
                continue
            if file.kind != "records":
                file.next_look = now + SLOW_INTERVAL_SECONDS
            is_new = self._upload_next(file)
            found |= is_new
            if not is_new and file.attempt != self._attempt.number:
                # An earlier attempt writes no more.
                self._files.remove(file)
        return found

    def _upload_next(self, file: _File) -> bool:
        if file.offset is None:
            if not file.path.exists():
                return False
            file.offset = self._post(file, 0, 0, ())
        if file.kind == "records":
            _let_settle(file.path, file.offset)
        batch = read_lines(file.path, file.offset)
        if batch is None:
            return False
        offset, file.offset = file.offset, None
        file.offset = self._post(file, offset, batch.end_offset, batch.lines)
        if file.kind == "records" and file.attempt == self._attempt.number:
            self._note_step(batch.lines)
        return True

    def _post(self, file: _File, start: int, end: int, lines: Sequence[str]) -> int:
        batch = RecordBatch(
            fencing_token=self._attempt.fencing_token,
            attempt=file.attempt,
            kind=file.kind,
            start_offset=start,
            end_offset=end,
            lines=lines,
        )
        file.stored = self._client.post_records(self._attempt.run_id, batch).next_offset
        return file.stored

    @property
    def lag_bytes(self) -> int:
        """Bytes in the files that the server does not have yet."""
        return sum(max(0, _size(file.path) - file.stored) for file in list(self._files))

    def _note_step(self, lines: Sequence[str]) -> None:
        for line in reversed(lines):
            match = _STEP_LINE.search(line[:200])
            if match:
                self.step = int(match[1])
                return


def _let_settle(path: Path, offset: int) -> None:
    """Let a trainer that writes many lines at once go on: one line alone takes the server as long as fifty."""
    deadline = time.monotonic() + LONGEST_SETTLE_SECONDS
    size = _size(path)
    while 0 < size - offset < ENOUGH_BYTES and time.monotonic() < deadline:
        time.sleep(SETTLE_SECONDS)
        before, size = size, _size(path)
        if size == before:
            return


def _folder(attempt: Attempt, number: int) -> Path:
    return attempt.run_folder / f"attempt-{number}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
