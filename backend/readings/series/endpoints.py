"""Routes for metrics over steps: columns, groups of columns, histograms."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from backend.kit.context import new_router
from backend.kit.errors import Problem
from backend.kit.response_cache import Answer
from backend.models import Run
from backend.readings.run_reading import ReadableRun
from backend.records import distributions, metric_keys, repository, series
from backend.records.curves import smoothing_of
from backend.records.distributions import Spans
from backend.records.parameters import MAX_KEYS, TrainingWindow, Window
from bapo.api.records import HistogramSeries, MetricKeys, RatioSeries, Series, SeriesGroups, StalenessSeries
from bapo.config import patterns
from bapo.records import RATIO_BIN_EDGES

router = new_router("records")

MAX_GROUPS = 50

_HEADER = {"description": "`no`, or how steps were sampled.", "schema": {"type": "string"}}
_SAMPLED: dict[int | str, dict[str, Any]] = {200: {"headers": {"X-Sampled": _HEADER}}}


@router.get("/runs/{run_id}/metric-keys", summary="List metric names")
def get_metric_keys(reading: ReadableRun) -> MetricKeys:
    """List the names of a run's metrics: verl's names where verl has one, else `bapo/…`."""
    return MetricKeys(items=metric_keys.read(reading.session, reading.run.id))


@router.get("/runs/{run_id}/metrics", summary="Get metrics", response_model=Series, responses=_SAMPLED)
def get_metrics(
    reading: ReadableRun,
    keys: Annotated[str, Query(min_length=1, max_length=50_000, description="Names, separated by commas.")],
    window: Window,
) -> Response:
    """Return the values by step, null where a step lacks the key. `change:KEY` is the difference to the previous step.

    With `max_points`, a sample of the steps that keeps the extremes; the header `X-Sampled` says so.
    """

    def work_out(run: Run) -> Answer:
        names = list(dict.fromkeys(keys.split(",")))[:MAX_KEYS]
        columns = series.read(reading.session, run.id, names, window.steps)
        if window.max_points is not None:
            columns = series.sample(columns, window.max_points)
        return _answer({"steps": columns.steps, "columns": columns.values}, columns.sampled)

    return reading.answer(work_out)


@router.get("/runs/{run_id}/metric-groups", summary="Get metrics for several charts", response_model=SeriesGroups)
def get_metric_groups(
    reading: ReadableRun,
    window: TrainingWindow,
    groups: Annotated[
        str, Query(max_length=50_000, description="Names separated by commas, groups separated by `|`; may be empty.")
    ] = "",
    along: Annotated[str, Query(max_length=5_000, description="Names to return with every group.")] = "",
    smooth: Annotated[
        str | None,
        Query(
            pattern=patterns.SMOOTHING, description="`mean:STEPS`, or `ema:STEPS` for an exponential moving average."
        ),
    ] = None,
) -> Response:
    """Return training steps only. Each group has a separate sample of steps, which keeps the extremes of its columns.

    Means are computed over all steps, before sampling.
    """
    wanted = [[key for key in group.split(",") if key] for group in groups.split("|")]
    if len(wanted) > MAX_GROUPS or sum(map(len, wanted)) > MAX_KEYS:
        remedy = f"request at most {MAX_GROUPS} groups and {MAX_KEYS} keys at a time"
        raise Problem(422, "too_many_keys", remedy, field="groups", value=len(wanted))

    def work_out(run: Run) -> Answer:
        found = series.read_groups(
            reading.session,
            run.id,
            wanted,
            [key for key in along.split(",") if key],
            window.steps,
            max_points=window.max_points,
            smoothing=None if smooth is None else smoothing_of(smooth),
        )
        content = [
            {
                "steps": group.columns.steps,
                "columns": group.columns.values,
                "smoothed": group.smoothed,
                "sampled": group.columns.sampled,
            }
            for group in found
        ]
        return _answer({"groups": content})

    return reading.answer(work_out)


@router.get(
    "/runs/{run_id}/ratios",
    summary="Get histograms of probability ratios",
    response_model=RatioSeries,
    responses=_SAMPLED,
)
def get_ratios(reading: ReadableRun, window: TrainingWindow) -> Response:
    """Return the number of tokens by ratio ρ between the trained policy and the one that generated them, in 13 bins per
    step.

    With `max_points`, neighbouring steps are summed: nothing is left out. Skipped steps count no token.
    """

    def work_out(run: Run) -> Answer:
        spans, counts = distributions.ratios(reading.session, run.id, window.steps, window.max_points)
        return _answer({"edges": RATIO_BIN_EDGES, **_steps_of(spans), "counts": counts}, _summed(spans))

    return reading.answer(work_out)


@router.get(
    "/runs/{run_id}/staleness",
    summary="Get histograms of staleness",
    response_model=StalenessSeries,
    responses=_SAMPLED,
)
def get_staleness(reading: ReadableRun, window: TrainingWindow) -> Response:
    """Return the number of trained groups by staleness per step: step - 1 - version of the generating policy.

    Staleness 0 is on-policy. With `max_points`, neighbouring steps are summed: nothing is left out.
    """

    def work_out(_: Run) -> Answer:
        spans, ages, counts = distributions.staleness(reading.visits, window.steps, window.max_points)
        return _answer({"ages": ages, **_steps_of(spans), "counts": counts}, _summed(spans))

    return reading.answer(work_out)


@router.get(
    "/runs/{run_id}/histograms",
    summary="Get histograms of accuracy",
    response_model=HistogramSeries,
    responses=_SAMPLED,
)
def get_histograms(reading: ReadableRun, window: Window) -> Response:
    """Return the number of fresh, re-evaluated and trained groups with 0 to G correct responses, per step.

    With `max_points`, evenly spaced steps; the header `X-Sampled` says so.
    """

    def work_out(run: Run) -> Answer:
        steps, max_points = window
        num_steps = min(steps.last, run.step) - max(steps.first, 1) + 1
        every = 1 if max_points is None or num_steps <= max_points else -(-num_steps // (max_points - 1))
        rows = repository.histograms(reading.session, run.id, steps, every)
        content = {
            "steps": [row.step for row in rows],
            "fresh": [row.fresh for row in rows],
            "reevaluated": [row.reevaluated for row in rows],
            "batch": [row.batch for row in rows],
        }
        return _answer(
            content, series.NOT_SAMPLED if every == 1 else f"every {every}th; {len(rows)} of {num_steps} steps"
        )

    return reading.answer(work_out)


def _answer(content: object, sampled: str | None = None) -> Answer:
    return Answer.of(content, {} if sampled is None else {"X-Sampled": sampled})


def _steps_of(spans: Spans) -> dict[str, object]:
    return {"first_steps": spans.first_steps, "steps": spans.last_steps}


def _summed(spans: Spans) -> str:
    return series.NOT_SAMPLED if spans.num_steps_each == 1 else f"sums of {spans.num_steps_each} steps"
