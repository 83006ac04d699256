"""The rows of the run list as texts; numbers stay only where a cell draws them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bapo.api.runs import RunSummary
from bapo.figures import formatting
from frontend.components.compute import compute_text


def run_row(run: RunSummary, now: datetime) -> dict[str, Any]:
    """Returns what the cells of a row show."""
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
        # A cell is drawn anew where its text changes.
        "status_text": f"{run.status.value} {run.archived_at is not None}",
        "status_reason": run.status_reason or "",
        "is_archived": run.archived_at is not None,
        "is_starred": run.is_starred,
        "starred_text": "yes" if run.is_starred else "no",
        "tags": list(run.tags),
        "tags_text": ", ".join(run.tags),
        "method_text": run.method,
        "recipe_text": run.recipe or formatting.MISSING,
        "progress": run.step / run.num_steps if run.num_steps else 0.0,
        "progress_text": f"{run.step:,} / {run.num_steps:,}" if run.num_steps else f"{run.step:,}",
        "reward_mean_text": formatting.percent(run.reward_mean),
        "eval_name": run.eval_name or "",
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
        "duration_text": formatting.duration(seconds),
        "compute_hours_text": compute_text(run),
        "storage_bytes_text": formatting.size(run.storage_bytes),
        "cost_text": formatting.MISSING if run.cost is None else formatting.money(run.cost, run.currency),
    }


def _findings_text(run: RunSummary) -> str:
    if run.num_findings is None:
        return formatting.MISSING
    return str(run.num_findings) if run.gravest_finding is None else f"{run.num_findings} {run.gravest_finding}"


def _moment(name: str, moment: datetime | None, now: datetime) -> dict[str, str | None]:
    """Returns the time as an age, and exactly, for the browser to show in the viewer's zone."""
    return {
        f"{name}_text": formatting.ago(moment, now),
        name: None if moment is None else moment.isoformat(timespec="seconds"),
    }


def rows_of(runs: Sequence[RunSummary]) -> list[dict[str, Any]]:
    """Returns rows as of now."""
    now = datetime.now(UTC)
    return [run_row(run, now) for run in runs]
