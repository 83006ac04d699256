"""The rows of the run list as texts; numbers stay only where a cell draws them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError
from starlette.datastructures import QueryParams

from bapo.analysis.number_format import counted
from bapo.api.base import ErrorBody
from bapo.api.runs import RunQuery, RunSummary
from bapo.client import ApiError, AsyncClient
from bapo.client.calls.runs import query_of
from bapo.config.error_messages import problems_said
from bapo.config.method import method_name
from bapo.figures import formatting
from frontend.components.runs import compute_text

TREND_PARTS = 40
"""A run that trains has its line drawn so often."""


def run_row(run: RunSummary, now: datetime) -> dict[str, Any]:
    """Return what the cells of a row show."""
    change = None if run.eval_latest is None or run.eval_base is None else run.eval_latest - run.eval_base
    seconds = None
    if run.started_at is not None:
        seconds = ((run.finished_at or now) - run.started_at).total_seconds()
    return {
        "id": run.id,
        "id_text": run.id,
        "name": run.name,
        "name_text": run.name,
        "status": run.status.value,
        # A cell is redrawn when its text changes.
        "status_text": f"{run.status.value} {run.archived_at is not None}",
        "status_reason": run.status_reason or "",
        "is_archived": run.archived_at is not None,
        "is_starred": run.is_starred,
        "starred_text": "yes" if run.is_starred else "no",
        "tags": list(run.tags),
        "tags_text": ", ".join(run.tags),
        "method_text": method_name(run.method),
        "recipe_text": run.recipe or formatting.MISSING,
        "progress": run.step / run.num_steps if run.num_steps else 0.0,
        "progress_text": f"{run.step:,} / {run.num_steps:,}" if run.num_steps else f"{run.step:,}",
        "trend_text": _stretch(run),
        "reward_mean_text": formatting.reward(run.reward_mean),
        "eval_name": _held_out(run),
        "eval_latest_text": formatting.MISSING
        if run.eval_latest is None
        else f"{formatting.share(run.eval_base)} → {formatting.percent(run.eval_latest)}",
        "eval_change": change,
        "eval_change_text": "" if not change else formatting.signed_decimal(100 * change, 1),
        "eval_best_text": formatting.percent(run.eval_best),
        "num_rollouts_text": formatting.count(run.num_rollouts),
        "owner_text": run.owner,
        "group": run.group,
        "group_text": run.group or formatting.MISSING,
        "project_text": run.project,
        "notes_text": run.notes_start,
        "num_findings": run.num_findings or 0,
        "gravest_finding": run.gravest_finding,
        "findings_text": _findings_text(run),
        "attempt_text": f"{run.attempt:,}",
        **_moment("created_at", run.created_at, now),
        **_moment("started_at", run.started_at, now),
        **_moment("finished_at", run.finished_at, now),
        **_moment("trashed_at", run.trashed_at, now),
        "trashed_by_text": run.trashed_by or formatting.MISSING,
        "is_trashed": run.trashed_at is not None,
        "duration_text": formatting.duration(seconds),
        "compute_hours_text": compute_text(run),
        "storage_bytes_text": formatting.size(run.storage_bytes),
        "cost_text": formatting.MISSING if run.cost is None else formatting.money(run.cost, run.currency),
        **{f"{name}_text": recorded_text(value) for name, value in run.values.items()},
    }


def recorded_text(value: Any) -> str:
    """Return the value of a config field or a metric: numbers to four digits."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else formatting.config_value(value)


def _held_out(run: RunSummary) -> str:
    """Return the held-out set of the accuracies with its size: accuracies on other sets are on no common scale."""
    if run.eval_name is None or run.eval_num_problems is None:
        return run.eval_name or ""
    return f"{run.eval_name}, {counted(run.eval_num_problems, 'problem')}"


def _stretch(run: RunSummary) -> str:
    """Return which part of the run is done, of parts so large that its line changes visibly with each."""
    if not run.step:
        return ""
    return str(TREND_PARTS * run.step // run.num_steps if run.num_steps else run.step // TREND_PARTS + 1)


def _findings_text(run: RunSummary) -> str:
    if run.num_findings is None:
        return formatting.MISSING
    return str(run.num_findings) if run.gravest_finding is None else f"{run.num_findings} {run.gravest_finding}"


def _moment(name: str, moment: datetime | None, now: datetime) -> dict[str, str | None]:
    """Return the time as an age, and exactly, for the browser to show in the viewer's zone."""
    return {
        f"{name}_text": formatting.ago(moment, now),
        name: None if moment is None else moment.isoformat(timespec="seconds"),
    }


def rows_of(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Return rows as of now."""
    now = datetime.now(UTC)
    return [run_row(run, now) for run in runs]


_LISTS = ("status", "method", "tag", "owner", "group", "project", "where", "columns")


async def rows(client: AsyncClient, params: QueryParams) -> dict[str, Any]:
    """Answer GET /live/runs with rows from `offset` on and how many match the filters. Raises ApiError."""
    given: dict[str, Any] = {name: params.getlist(name) if name in _LISTS else params[name] for name in params}
    query = parsed(given)
    page = await client.runs(**query_of(query))
    is_new_here = False
    if not page.total and not query.model_dump(exclude_defaults=True, exclude={"sort", "limit", "offset", "columns"}):
        is_new_here = not (await client.runs(archived="shown", limit=1)).total
    return {"rows": rows_of(page.items), "total": page.total, "num_sets": page.num_sets, "is_new_here": is_new_here}


def parsed(given: dict[str, Any]) -> RunQuery:
    """Read the query in an address. Raises ApiError 422 naming the first parameter that is wrong."""
    try:
        return RunQuery.model_validate(given)
    except ValidationError as error:
        first = problems_said(error.errors())[0]
        value = str(first.value)[:200]
        body = ErrorBody(code="invalid_request", field=first.field, value=value, remedy=first.remedy, request_id="none")
        raise ApiError(422, body) from error
