"""Several runs from the API, as the paper's figures read them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from bapo.api.runs import RunDetail
from bapo.client import AsyncClient
from bapo.figures.recorded import STEP_KEYS, RecordedRun
from bapo.records import EvaluationRecord, TrackingRecord

MOST_RUNS = 50
MOST_VALUES = 2_000_000
"""Numbers fetched for all runs together; beyond, the server samples the steps and keeps each metric's extremes."""
MOST_SAMPLINGS = 40
"""Evaluations, and samplings of the tracked prompts, of one run; of more, evenly spaced ones are fetched."""
PAGE_RECORDS = 1000

_EVALUATIONS = TypeAdapter(list[EvaluationRecord])
_TRACKING = TypeAdapter(list[TrackingRecord])


async def fetch_runs(client: AsyncClient, run_ids: Sequence[str]) -> list[RecordedRun]:
    """Return the runs in the order of their identifiers, everything at once.

    Raises:
        ApiError: one of them does not exist, or may not be seen.
        ValueError: more than MOST_RUNS.
    """
    if len(run_ids) > MOST_RUNS:
        raise ValueError(f"{len(run_ids)} runs are more than fit on a page: choose at most {MOST_RUNS}")
    most_steps = max(100, MOST_VALUES // (len(STEP_KEYS) * max(1, len(run_ids))))
    return list(await asyncio.gather(*(fetch_run(client, run_id, most_steps=most_steps) for run_id in run_ids)))


async def fetch_run(client: AsyncClient, run_id: str, *, most_steps: int = 100_000) -> RecordedRun:
    """Return one run; with more than `most_steps` steps, a sample of them."""
    run = await client.run(run_id)
    steps, evaluations, tracking = await asyncio.gather(
        client.metrics(run_id, STEP_KEYS, from_step=1, max_points=most_steps if run.step > most_steps else None),
        _records(client, run, "evaluation"),
        _records(client, run, "tracking"),
    )
    return RecordedRun(
        id=run.id,
        name=run.name,
        config=run.config,
        steps=steps,
        evaluations=_EVALUATIONS.validate_python(evaluations),
        tracking=_TRACKING.validate_python(tracking),
        compute_hours=run.compute_hours or None,
        cost=run.cost,
        currency=run.currency,
        num_gpus=run.num_gpus,
        status=run.status.value,
        tags=run.tags,
        group=run.group,
        applied_changes=run.applied_changes,
        num_left_out=max(0, run.step - len(steps.steps)) if steps.steps else 0,
    )


async def _records(client: AsyncClient, run: RunDetail, kind: str) -> list[dict[str, Any]]:
    # At which steps another trainer evaluates is its own affair.
    steps = sampled_steps(int(run.config[kind]["interval"]), run.step, MOST_SAMPLINGS) if kind in run.config else None
    if steps is None:
        return await records_between(client, run.id, kind)
    parts = await asyncio.gather(*(records_between(client, run.id, kind, step, step) for step in steps))
    return [record for part in parts for record in part]


def sampled_steps(interval: int, last_step: int, most: int) -> list[int] | None:
    """Choose the steps to fetch of records made every `interval` steps and at the end; None if all may be fetched."""
    due = [*range(0, last_step, interval), last_step]
    if len(due) <= most:
        return None
    return [due[round(index * (len(due) - 1) / (most - 1))] for index in range(most)]


async def records_between(
    client: AsyncClient, run_id: str, kind: str, from_step: int = 0, to_step: int | None = None
) -> list[dict[str, Any]]:
    """Return all records of a kind, page by page."""
    records: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = await client.records(
            run_id, type=kind, from_step=from_step, to_step=to_step, cursor=cursor, limit=PAGE_RECORDS
        )
        records += page.items
        cursor = page.next_cursor
        if cursor is None:
            return records
