"""The attempts of a trainer in its own log: one that resumes from a checkpoint appends, and steps come again."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from bapo.observe.dumps.rows import row_error

REPLACED = "steps that a later attempt repeats"
UNFINISHED = "responses of a last step that repeats an earlier one in part"


class _Earlier(NamedTuple):
    """The little that is remembered of a step: a log has many."""

    num_rows: int
    group_size: int
    """Size of most groups of the step."""
    keys: array[int]
    """Keys of the step's prompts."""


class Attempts:
    """Counts the attempts while the steps of a log pass by."""

    def __init__(self) -> None:
        self.number = 0
        """Number of the attempt that is being read, from 0."""
        self._step = -1
        self._earlier: dict[int, _Earlier] = {}

    @property
    def group_size(self) -> int:
        """Group size of the previous step; 0 at first."""
        return self._earlier[self._step].group_size if self._earlier else 0

    def is_taken(
        self, step: int, keys: Sequence[int], file: str, row: int, is_last: bool, left_out: Counter[str]
    ) -> bool:
        """Note a step by the keys of its rows' prompts; return whether it counts.

        `is_last`: whether the log ends with it. Raises ConfigError where the rows are a part of a step that came
        before.
        """
        counts = Counter(keys)
        sizes = Counter(counts.values())
        size = max(sizes, key=lambda each: (sizes[each], each))
        earlier = self._earlier.get(step)
        if earlier is not None:
            is_shared = not counts.keys().isdisjoint(earlier.keys)
            if len(keys) < earlier.num_rows and not (is_shared and min(counts.values()) >= earlier.group_size):
                if is_last:
                    # Its trainer was killed, or is still writing.
                    left_out[UNFINISHED] += len(keys)
                    return False
                remedy = (
                    f"it comes again after step {self._step}, with {len(keys):,} rows of {earlier.num_rows:,}: the "
                    "rows of several steps are mixed, so sort them by step"
                )
                raise row_error("step", file, row, step, remedy)
            left_out[REPLACED] += 1
        if step < self._step:
            self.number += 1
        self._step = step
        self._earlier[step] = _Earlier(len(keys), size, array("q", counts))
        return True
