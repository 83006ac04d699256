"""The progress of a study: its runs by status, and steps done."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.studies import StudyDetail, StudySummary
from bapo.figures import formatting
from frontend.components.status_badge import status_badge


def share_done(study: StudySummary) -> float:
    """Return steps done as a share of all."""
    return study.steps_done / study.steps_planned if study.steps_planned else 0.0


def without_status(study: StudySummary) -> dict[str, int]:
    """Return the numbers of runs that do not exist yet, or no longer."""
    deleted = study.states.get("missing", 0)
    waiting = study.num_runs - deleted - sum(study.statuses.values())
    return {label: number for label, number in (("not submitted", waiting), ("deleted", deleted)) if number}


def run_counts(study: StudySummary) -> str:
    """Return the number of runs and how many have each status: `6: 4 succeeded, 2 running`."""
    counts = {status.value: number for status, number in study.statuses.items()} | without_status(study)
    return f"{study.num_runs:,}: " + ", ".join(f"{number:,} {label}" for label, number in counts.items())


def progress(study: StudyDetail) -> list[Any]:
    """Return the runs by status, and a bar."""
    facts: list[Any] = []
    for status, number in study.statuses.items():
        facts += [status_badge(status), html.Span(f"{number:,}", className="fact")]
    facts += [html.Span(f"{number:,} {label}", className="fact") for label, number in without_status(study).items()]
    steps = f"{study.steps_done:,} of {study.steps_planned:,} steps of {counted(study.num_runs, 'run')}"
    return [
        html.Div([*facts, html.Span(steps, className="fact")], className="study-states"),
        dmc.Progress(value=100 * share_done(study), size="md", **{"aria-label": "Steps done"}),
    ]


def share_text(study: StudySummary) -> str:
    """Return the share of steps done, such as `25 %`."""
    return formatting.percent(share_done(study), 0)
