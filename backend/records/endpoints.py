"""Series, histograms, records and the log of a run."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from fastapi import Query, Response

from backend.context import DbSession, new_router
from backend.cursors import decode_numbers, encode
from backend.permissions import Reader
from backend.records import metric_keys, repository, series
from backend.records.repository import Place, StepRange
from backend.runs import repository as runs
from bapo.api import HistogramSeries, LogChunk, MetricKeys, RecordPage, Series

router = new_router("records")

MAX_STEP = 2**31 - 1
MAX_KEYS = 500
LOG_PIECES = 200

FromStep = Annotated[int, Query(ge=0, le=MAX_STEP, description="First step.")]
ToStep = Annotated[int, Query(ge=0, le=MAX_STEP, description="Last step.")]
MaxPoints = Annotated[int | None, Query(ge=2, le=100_000, description="Most steps to answer.")]
Cursor = Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1_000)]

_SAMPLED = {"X-Sampled": {"description": "`no`, or how steps were left out.", "schema": {"type": "string"}}}


@router.get("/runs/{run_id}/metric-keys", summary="Names of a run's metrics")
def get_metric_keys(_: Reader, session: DbSession, run_id: str) -> MetricKeys:
    """verl's names where verl has one, else `bapo/…`."""
    runs.get(session, run_id)
    return MetricKeys(items=metric_keys.read(session, run_id))


@router.get(
    "/runs/{run_id}/metrics",
    summary="Columns of metrics",
    response_model=Series,
    responses={200: {"headers": _SAMPLED}},
)
def get_metrics(
    _: Reader,
    session: DbSession,
    run_id: str,
    keys: Annotated[str, Query(min_length=1, max_length=50_000, description="Names, separated by commas.")],
    from_step: FromStep = 0,
    to_step: ToStep = MAX_STEP,
    max_points: MaxPoints = None,
) -> Response:
    """Values by step, None where a step lacks the key.

    With `max_points`, a sample of the steps that keeps each column's extremes; the header `X-Sampled` says so.
    """
    runs.get(session, run_id)
    names = list(dict.fromkeys(keys.split(",")))[:MAX_KEYS]
    columns = series.read(session, run_id, names, StepRange(from_step, to_step))
    if max_points is not None:
        columns = series.sample(columns, max_points)
    content = orjson.dumps({"steps": columns.steps, "columns": columns.columns})
    return Response(content, media_type="application/json", headers={"X-Sampled": columns.sampled})


@router.get(
    "/runs/{run_id}/histograms",
    summary="Groups per accuracy, step by step",
    response_model=HistogramSeries,
    responses={200: {"headers": _SAMPLED}},
)
def get_histograms(
    _: Reader,
    session: DbSession,
    run_id: str,
    from_step: FromStep = 0,
    to_step: ToStep = MAX_STEP,
    max_points: MaxPoints = None,
) -> Response:
    """Fresh, re-evaluated and trained groups with 0..G correct responses.

    With `max_points`, evenly spaced steps; the header `X-Sampled` says so.
    """
    run = runs.get(session, run_id)
    num_steps = min(to_step, run.step) - max(from_step, 1) + 1
    every = 1 if max_points is None or num_steps <= max_points else -(-num_steps // (max_points - 1))
    rows = repository.histograms(session, run_id, StepRange(from_step, to_step), every)
    content = orjson.dumps(
        {
            "steps": [row.step for row in rows],
            "fresh": [row.fresh for row in rows],
            "reevaluated": [row.reevaluated for row in rows],
            "batch": [row.batch for row in rows],
        }
    )
    sampled = series.NOT_SAMPLED if every == 1 else f"every {every}th; {len(rows)} of {num_steps} steps"
    return Response(content, media_type="application/json", headers={"X-Sampled": sampled})


@router.get("/runs/{run_id}/records", summary="Whole records", response_model=RecordPage)
def get_records(
    _: Reader,
    session: DbSession,
    run_id: str,
    type: Annotated[
        Literal["step", "evaluation", "tracking", "event"] | None, Query(description="All where empty.")
    ] = None,
    from_step: FromStep = 0,
    to_step: ToStep = MAX_STEP,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """The journal's records as the trainer wrote them, by step; of repeated steps the latest attempt's."""
    runs.get(session, run_id)
    after = None if cursor is None else Place(*decode_numbers(cursor, "records"))
    steps = StepRange(from_step, to_step)
    found: list[repository.PlacedRecord] = []
    if type in (None, "step"):
        found += repository.step_records(session, run_id, steps, after, limit + 1)
    if type != "step":
        found += repository.sparse_records(session, run_id, type, steps, after, limit + 1)
    found.sort(key=lambda each: each.place)
    items = found[:limit]
    next_cursor = encode("records", items[-1].place) if len(found) > limit else None
    content = orjson.dumps({"items": [each.record for each in items], "next_cursor": next_cursor})
    return Response(content, media_type="application/json")


@router.get("/runs/{run_id}/log", summary="The trainer's output")
def get_log(
    _: Reader,
    session: DbSession,
    run_id: str,
    offset: Annotated[int | None, Query(ge=0, le=2**62, description="`next_offset` of the piece before.")] = None,
) -> LogChunk:
    """What came after the offset; without one, the end of it. Offset 0 begins at the beginning."""
    runs.get(session, run_id)
    if offset is None:
        pieces = repository.log_end(session, run_id, LOG_PIECES)
    else:
        pieces = repository.log_after(session, run_id, offset, LOG_PIECES)
    next_offset = pieces[-1][0] if pieces else offset or 0
    return LogChunk(text="".join(text for _, text in pieces), next_offset=next_offset)
