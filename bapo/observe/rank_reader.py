"""Unmerged reports of one rank, over the starts of its process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bapo.observe.observation import ToldEvaluation
from bapo.observe.parts import PartOfStep, read_part
from bapo.observe.rank_files import GrowingFile, RankFile
from bapo.records import EventRecord


class RankReader:
    """Reads the files of one rank, in the order of its starts."""

    def __init__(
        self,
        run_folder: Path,
        attempt: int,
        tell: Callable[[ToldEvaluation | EventRecord], None],
        *,
        from_step: int = 0,
    ) -> None:
        """Take `tell`, which receives all that is no part of a step, in its place among them.

        `from_step`: parts up to this step were merged by an earlier reader.
        """
        self.has_ended = False
        """True if its newest process reported that it was done."""
        self.newest: RankFile | None = None
        self._folder = run_folder
        self._attempt = attempt
        self._tell = tell
        self._from_step = from_step
        self._files: list[GrowingFile] = []
        self._ahead: dict[RankFile, list[PartOfStep | ToldEvaluation | EventRecord]] = {}
        """Parts that were read and not taken yet, by file."""

    def add(self, file: RankFile) -> None:
        """Add a further start of the rank; one that is known already changes nothing."""
        if self.newest is None or file > self.newest:
            self.newest, self.has_ended = file, False
            self._files.append(GrowingFile(self._folder, file))
            self._ahead[file] = []

    def hand_over(self, attempt: int, tell: Callable[[ToldEvaluation | EventRecord], None]) -> None:
        """Continue in another attempt from the current position: its process lived on while rank 0 restarted."""
        self._attempt, self._tell, self._from_step = attempt, tell, 0

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
                self._tell(part)
            elif part.told.step > self._from_step and not self._is_told_again(part):
                self._ahead[current.file].insert(0, part)
                return part
        return None

    def take(self) -> None:
        """Drop the head: it is merged, or left out."""
        self._ahead[self._files[0].file].pop(0)

    def _next(self, file: GrowingFile) -> PartOfStep | ToldEvaluation | EventRecord | None:
        ahead = self._ahead[file.file]
        if ahead:
            return ahead.pop(0)
        line = file.next_line()
        return None if line is None else read_part(line, self._attempt)

    def _is_told_again(self, part: PartOfStep) -> bool:
        """Return whether a later process of the rank went back to this step or before it: then its part counts."""
        for file in self._files[1:]:
            ahead = self._ahead[file.file]
            while not any(isinstance(each, PartOfStep) for each in ahead):
                line = file.next_line()
                if line is None:
                    break
                ahead.append(read_part(line, self._attempt))
            first = next((each.told.step for each in ahead if isinstance(each, PartOfStep)), None)
            if first is not None and first <= part.told.step:
                return True
        return False

    def _note_end(self, file: GrowingFile, part: ToldEvaluation | EventRecord) -> None:
        if file.file == self.newest and isinstance(part, EventRecord):
            self.has_ended = part.event in ("finished", "failed", "stop")

    def close(self) -> None:
        """Close its files."""
        for file in self._files:
            file.close()
