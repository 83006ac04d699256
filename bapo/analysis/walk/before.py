"""The state of BAPO's buffers before a step, rebuilt from what was recorded up to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.visits import Visits
from bapo.buffers import HighQualityBuffer
from bapo.methods.bapo import BapoConfig
from bapo.methods.lines import Answered
from bapo.records import StepRecord
from bapo.rollout import BatchSource, RolloutGroup

MOST_STEPS_BACK = 100
"""Age in steps up to which stored groups are looked for: each step's record is read for them."""


class DifficultEntry(NamedTuple):
    """A remembered prompt, as a checkpoint writes it."""

    prompt_id: str
    num_correct: int
    step: int


class History(NamedTuple):
    """Records before a step, as far as the difficult buffer depends on them."""

    visits: Visits
    steps: NDArray[np.int64]
    """The steps before this one."""
    difficult_max: NDArray[np.float64]
    """Largest number of correct responses that counted as difficult, in each of them; NaN where none is recorded."""
    difficult_size: int
    """Prompts in the difficult buffer after the last of them."""


def fresh_groups(record: StepRecord, source: BatchSource = BatchSource.FRESH) -> list[RolloutGroup]:
    """Return the step's fresh groups, or those of another source that it generated."""
    return [
        RolloutGroup(visit.prompt_id, visit.num_correct, record.group_size, visit.policy_version or 0, record.step)
        for visit in record.prompts
        if visit.source == source
    ]


def stored_before(window: Iterable[StepRecord], step: int, method: BapoConfig) -> list[RolloutGroup] | None:
    """Return the high-quality buffer before a step, from the records of the steps within its age; None where it reaches
    back too far.

    Groups older than that have left. Where the buffer is full, the oldest make room, and these were older still: what
    the window holds is what the buffer holds.
    """
    config = method.high_quality_buffer
    if config.max_age_steps > MOST_STEPS_BACK:
        return None
    buffer = HighQualityBuffer(config.capacity, config.max_age_steps)
    for record in window:
        if record.thresholds is None or not step - config.max_age_steps <= record.step < step:
            continue
        low, high = record.thresholds.reusable_min_count or 0, record.thresholds.reusable_max_count or 0
        for group in fresh_groups(record):
            if low <= group.num_correct <= high:
                buffer.put(group)
        surplus = {visit.prompt_id for visit in record.prompts if visit.reason == "surplus_stored"}
        for group in fresh_groups(record, BatchSource.REEVALUATED):
            if group.prompt_id in surplus:
                buffer.put(group)
    return list(buffer.groups())


def difficult_before(history: History, step: int) -> list[DifficultEntry]:
    """Return the difficult buffer before a step, least recently evaluated first.

    A prompt can be in it only if its latest evaluation was difficult, then and under every c1 since. Of these the
    buffer holds the most recently evaluated ones: evicted ones were seen before all that stayed. How many there are
    is recorded.
    """
    visits = history.visits
    latest = _latest_rows(visits, step)
    rows = np.sort(latest[latest >= 0])
    # The least limit from each step on: a lower c1 takes out those above it, and a higher one does not bring them back.
    least = np.fmin.accumulate(history.difficult_max[::-1])[::-1]
    places = np.searchsorted(history.steps, visits.step[rows])
    rows = rows[visits.num_correct[rows] <= least[places]]
    rows = rows[len(rows) - min(history.difficult_size, len(rows)) :]
    return [
        DifficultEntry(visits.prompt_ids[visits.prompt[row]], int(visits.num_correct[row]), int(visits.step[row]))
        for row in rows
    ]


def earlier_evaluations(visits: Visits, step: int, prompt_ids: Collection[str]) -> dict[str, Answered]:
    """Return the latest evaluation of each of these prompts before a step, where there was one."""
    wanted, latest = frozenset(prompt_ids), _latest_rows(visits, step)
    codes = [code for code, prompt_id in enumerate(visits.prompt_ids) if prompt_id in wanted and latest[code] >= 0]
    return {
        visits.prompt_ids[code]: Answered(int(visits.num_correct[latest[code]]), int(visits.step[latest[code]]))
        for code in codes
    }


def _latest_rows(visits: Visits, step: int) -> NDArray[np.int64]:
    """Return the row of each prompt's latest evaluation before a step; -1 if there is none."""
    rows = np.flatnonzero(visits.is_evaluation[: int(np.searchsorted(visits.step, step))])
    latest = np.full(len(visits.prompt_ids), -1, np.int64)
    # Of a prompt's several rows the last one counts.
    latest[visits.prompt[rows]] = rows
    return latest
