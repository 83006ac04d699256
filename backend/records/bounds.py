"""Rejects numbers that the database's columns cannot hold, from a broken or hostile trainer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bapo.records import AnyRecord, EventRecord, StepRecord, TrackingRecord

MAX_INTEGER = 2**31 - 1
MAX_BIGINT = 2**63 - 1


def fault(record: AnyRecord) -> str | None:
    """Return the error of a well-formed record with unstorable values; `None` if there is none."""
    for value in _integers(record):
        if not is_integer(value):
            return _complaint(value)
    if isinstance(record, StepRecord):
        return outside(_bigints(record), -MAX_BIGINT, MAX_BIGINT)
    if isinstance(record, EventRecord):
        for name in ("num_steps", "applied_step"):
            value = record.data.get(name, 0)
            if type(value) is not int or not is_integer(value):
                return f"{name}: {_complaint(value)}"
        if not isinstance(record.data.get("set", {}), dict):
            return "set: not an object"
    return None


def is_integer(value: int) -> bool:
    """Return whether a column of counts holds the number."""
    return 0 <= value <= MAX_INTEGER


def outside(values: Sequence[int | None], lowest: int, highest: int) -> str | None:
    """Return the error naming the first number out of bounds; `None` if there is none."""
    # Most are the same few, and this looks at every prompt of every step.
    distinct = {*values} - {None}
    if not distinct or (lowest <= min(distinct) and max(distinct) <= highest):  # type: ignore[type-var, operator]
        return None
    return _complaint(next(value for value in values if value is not None and not lowest <= value <= highest))


def _complaint(value: object) -> str:
    return f"{str(value)[:40]} is not a number that can be stored here"


def _integers(record: AnyRecord) -> Iterator[int]:
    yield record.step
    if isinstance(record, StepRecord):
        yield record.num_steps or 0
    elif isinstance(record, TrackingRecord):
        yield record.replicate


def _bigints(record: StepRecord) -> Sequence[int]:
    return [
        record.cost.num_rollouts,
        *record.fresh_histogram,
        *record.reevaluated_histogram,
        *record.batch_histogram,
        *(() if record.update is None else record.update.ratio_histogram),
    ]
