"""A study with a question: its runs by arm and seed, and its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from bapo.api.studies import StudyDetail, StudyReport, StudyRun, StudyRunState
from bapo.report.study import facts_of, head_of, sections_of_study
from frontend.components.elements import Link, attributes
from frontend.components.report_sections import section_part

STATES: tuple[StudyRunState, ...] = ("done", "training", "waiting", "stopped", "failed", "missing")


def run_grid(study: StudyDetail) -> list[Any]:
    """Return one cell per run, by regime, arm and seed."""
    parts: list[Any] = []
    tuning = [run for run in study.runs if run.stage == "tuning"]
    if tuning:
        done = sum(run.state == "done" for run in tuning)
        end = "." if done == len(tuning) else "; the others wait for them."
        parts.append(html.P(f"{done} of {len(tuning)} runs that choose settings are done{end}", className="chart-note"))
    for regime in study.regimes:
        if len(study.regimes) > 1:
            parts.append(html.H2(regime, className="chart-title"))
        parts.append(_grid(study, [run for run in study.runs if run.stage == "final" and run.regime == regime]))
    key = [html.Span([html.Span(className=f"study-cell {state}"), state]) for state in STATES if state in study.states]
    return [*parts, html.Div(key, className="study-key")]


def _grid(study: StudyDetail, runs: Sequence[StudyRun]) -> html.Div:
    by_place = {(run.arm, run.seed): run for run in runs}
    head = html.Tr([html.Th("arm"), *(html.Th(f"seed {seed}", className="seed", scope="col") for seed in study.seeds)])
    rows = [
        html.Tr(
            [
                html.Th(arm.name, className="arm", scope="row", title=arm.name),
                *(html.Td(_cell(by_place[arm.name, seed])) for seed in study.seeds),
            ]
        )
        for arm in study.arms
    ]
    return html.Div(
        html.Table([html.Thead(head), html.Tbody(rows)]),
        className="study-grid",
        tabIndex=0,
        role="region",
        **attributes(aria_label="Runs by arm and seed"),
    )


def _cell(run: StudyRun) -> Any:
    text = {"done": "done", "failed": "failed", "missing": "deleted"}.get(run.state)
    if text is None:
        text = f"{run.step / run.num_steps:.0%}" if run.num_steps and run.step else "·" if run.run_id else ""
    title = f"{run.arm}, seed {run.seed}: {run.state}" + (f" ({run.reason})" if run.reason else "")
    if run.run_id is None:
        return html.Span(text, className=f"study-cell {run.state}", title=title)
    return Link(text, href=f"/runs/{run.run_id}", className=f"study-cell {run.state}", title=title)


def report_parts(report: StudyReport) -> list[Any]:
    """Return the report below the progress; assets/paper.js draws its figures into it."""
    items = [
        part
        for label, text in head_of(report)
        for part in (html.Dt(label), html.Dd(text, className="result" if label == "Result" else ""))
    ]
    return [
        html.Div(
            [html.Dl(items, className="study-head"), html.P(facts_of(report), className="chart-note wrap-anywhere")],
            className="panel-card",
            style={"marginBottom": 16},
        ),
        *(section_part(section) for section in sections_of_study(report)),
    ]
