"""Every visit of a run's prompts as columns: what difficulty tracking, migration and what-if read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.records import StepRecord
from bapo.rollout import BatchSource

SOURCES: tuple[BatchSource, ...] = (BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED)
"""`Visits.source` holds indices into this."""


UNKNOWN_VERSION = -1
"""Policy version of a group whose trainer did not tell: it has no staleness."""


class Visits(NamedTuple):
    """One row per prompt and step in which it was seen, by step, within a step in the record's order."""

    prompt_ids: Sequence[str]
    """Distinct prompts, in the order in which they were first seen; `prompt` holds indices into this."""
    group_size: int
    step: NDArray[np.int32]
    prompt: NDArray[np.int32]
    source: NDArray[np.int8]
    num_correct: NDArray[np.int16]
    policy_version: NDArray[np.int32]
    """Version of the policy that generated the group; staleness = step - 1 - policy_version, unless it is
    UNKNOWN_VERSION.
    """
    in_batch: NDArray[np.bool_]

    @property
    def is_evaluation(self) -> NDArray[np.bool_]:
        """Rows in which a policy answered: a reused group was answered at an earlier step, where it has its own row."""
        return np.not_equal(self.source, SOURCES.index(BatchSource.REUSED))


def visits_of(records: Iterable[StepRecord], group_size: int) -> Visits:
    """Return the visits of these records, which are in the order of their steps."""
    codes: dict[str, int] = {}
    number = {source: index for index, source in enumerate(SOURCES)}
    rows = [
        (
            record.step,
            codes.setdefault(visit.prompt_id, len(codes)),
            number[visit.source],
            visit.num_correct,
            UNKNOWN_VERSION if visit.policy_version is None else visit.policy_version,
            visit.in_batch,
        )
        for record in records
        for visit in record.prompts
    ]
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return Visits(
        list(codes),
        group_size,
        np.array(columns[0], dtype=np.int32),
        np.array(columns[1], dtype=np.int32),
        np.array(columns[2], dtype=np.int8),
        np.array(columns[3], dtype=np.int16),
        np.array(columns[4], dtype=np.int32),
        np.array(columns[5], dtype=np.bool_),
    )
