"""Time that a trainer takes from SIGTERM to its end, from the measurements in its journals.

After SIGTERM a trainer finishes its step, evaluates and tracks where that is due, and writes a checkpoint.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from bapo.run.journal import RECORDS_FILE, attempt_folders
from bapo.run.line_reader import read_lines

RECENT_STEPS = 20
"""The longest of so many last steps counts: early ones are shorter than those of a policy that answers at length."""
RECENT_PAUSES = 2
"""Evaluations and checkpoints of so many steps, for the same reason."""
UNMEASURED_SECONDS = 45.0
"""Least time to stop, which is also that of a run without a step yet; and the time to start that is assumed."""
MARGIN = 1.5
"""A step may take longer than the longest one until now."""
END_SECONDS = 10.0
"""Allowance for the engine's shutdown."""


class StopTime(NamedTuple):
    """Time to start and to stop, from a run's journals; None until it is measured."""

    start_seconds: float | None = None
    """Time from the start of the newest attempt that made a step to the end of that step."""
    stop_seconds: float | None = None
    """The longest of the last steps, evaluations and checkpoints, one after another."""


def grace_seconds(stop_seconds: float | None) -> float:
    """Time to leave a trainer between SIGTERM and SIGKILL: max(45 s, 1.5 · stop_seconds + 10 s)."""
    return max(UNMEASURED_SECONDS, MARGIN * (stop_seconds or 0.0) + END_SECONDS)


def seconds_to_fit(time: StopTime) -> float:
    """Return the least time that a machine must have left to begin the run, make a step, and give it back."""
    start = UNMEASURED_SECONDS if time.start_seconds is None else time.start_seconds
    return start + grace_seconds(time.stop_seconds)


class StopWatch:
    """Follows the journals of a run's attempts."""

    def __init__(self, run_folder: Path, attempt: int) -> None:
        """Prepare to read: nothing is read before the first `look`."""
        self._run_folder = run_folder
        self._attempt = attempt
        self._offset = 0
        self._has_read_earlier = False
        self._steps: deque[float] = deque(maxlen=RECENT_STEPS)
        self._evaluations: deque[tuple[int, float]] = deque(maxlen=RECENT_PAUSES)
        """Completed steps, and the seconds of all sets that were evaluated and tracked after them."""
        self._checkpoints: deque[float] = deque(maxlen=RECENT_PAUSES)
        self._start_seconds: float | None = None
        self._started: str | None = None
        """Folder of the attempt whose first step `_start_seconds` is of."""

    def look(self) -> StopTime:
        """Read what is new in the journals. Raises OSError where they cannot be read."""
        if not self._has_read_earlier:
            for folder in attempt_folders(self._run_folder):
                if folder.name != f"attempt-{self._attempt}":
                    self._read(folder, 0)
            self._has_read_earlier = True
        self._offset = self._read(self._run_folder / f"attempt-{self._attempt}", self._offset)
        if not self._steps:
            return StopTime()
        evaluation = max((seconds for _, seconds in self._evaluations), default=0.0)
        checkpoint = max(self._checkpoints, default=0.0)
        return StopTime(self._start_seconds, max(self._steps) + evaluation + checkpoint)

    def _read(self, folder: Path, offset: int) -> int:
        """Read a journal from a byte offset to its end. Returns that."""
        while (found := read_lines(folder / RECORDS_FILE, offset)) is not None:
            for line in found.lines:
                self._note(folder.name, line)
            offset = found.end_offset
        return offset

    def _note(self, attempt: str, line: str) -> None:
        try:
            record = orjson.loads(line)
            timing = record["timing"]
            match record["type"]:
                case "step":
                    self._note_step(attempt, timing)
                case "evaluation":
                    self._note_evaluation(record["step"], timing["evaluation"])
                case "tracking":
                    self._note_evaluation(record["step"], timing["tracking"])
                case "event" if record["event"] == "checkpoint" and "checkpoint" in timing:
                    self._checkpoints.append(timing["checkpoint"])
        except (ValueError, KeyError, TypeError):
            # Of a newer trainer, or damaged: whatever it says, it is no measurement that we know.
            return

    def _note_step(self, attempt: str, timing: dict[str, Any]) -> None:
        self._steps.append(float(timing["step"]))
        if self._started != attempt:
            self._started, self._start_seconds = attempt, float(timing["elapsed"])

    def _note_evaluation(self, step: int, seconds: float) -> None:
        if self._evaluations and self._evaluations[-1][0] == step:
            seconds += self._evaluations.pop()[1]
        self._evaluations.append((step, seconds))
