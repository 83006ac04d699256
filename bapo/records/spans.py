"""When each phase of a step ran, and in which process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bapo.records.base import Record

Process = Literal["trainer", "generator"]


class Span(Record):
    """A phase of a process, from its beginning to its end."""

    process: Process = "trainer"
    """`generator`: the second process of `rollout.ahead` at `overlap`."""
    phase: str
    """`sync` (hand-over of weights to α), `gen`, `wait` (within `gen`, for the generator), `reevaluation`, `batch`,
    `update`, `evaluation` with tracking, `checkpoint`."""
    begin: float
    """Seconds since the attempt began."""
    seconds: float
    step: int | None = None
    """Step whose responses were generated, of the generator."""


SHORTEST_SECONDS = 1e-3
"""Shorter spans are not recorded: a timeline cannot show them."""


def recorded_spans(spans: Sequence[Span], *, origin: float) -> Sequence[Span]:
    """Return the spans to record, with beginnings counted from `origin`, to a tenth of a millisecond."""
    return [
        span.model_copy(update={"begin": round(span.begin - origin, 4), "seconds": round(span.seconds, 4)})
        for span in spans
        if span.seconds >= SHORTEST_SECONDS
    ]
