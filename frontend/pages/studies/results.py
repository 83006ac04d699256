"""The progress of a study, and its results: by setting, with intervals over seeds, run by run, and as a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.studies import StudyDetail, StudyReport, StudyRun, StudyRunState, StudySetting, StudySummary
from bapo.figures import formatting
from bapo.report.study import facts_of, head_of, sections_of_study
from frontend.components.card import card
from frontend.components.elements import Link, attributes
from frontend.components.report_sections import section_part
from frontend.components.runs import status_badge
from frontend.components.symbols import short_name
from frontend.components.table import cell, row, table, table_card


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


_LOOK, _LEAST_WIDTH = "study-table row-hover", 640
SEEDS = ("training.seed", "task.seed")


def varied(study: StudyDetail) -> list[str]:
    """Return the fields of its settings, without seeds, which repeat a setting."""
    return [field for field in study.fields if field not in SEEDS]


def result_tables(study: StudyDetail) -> list[Any]:
    """Return the settings, then the runs."""
    return [_setting_table(study), _run_table(study)]


def _setting_table(study: StudyDetail) -> html.Div:
    """Return a row per setting, the best first."""
    fields = varied(study)
    ordered = sorted(study.settings, key=lambda each: -1.0 if each.latest is None else each.latest, reverse=True)
    head = [*(short_name(field) for field in fields), "Runs", study.eval_name or "Result", "Best"]
    rows = [
        row(
            *(formatting.config_value(each.set.get(field)) for field in fields),
            cell(f"{each.num_results:,} of {len(each.run_ids):,}", "number"),
            cell(_result(each), "number"),
            cell(formatting.percent(each.best), "number"),
        )
        for each in ordered
    ]
    note = "Mean of the latest evaluation over the runs of a setting, with Student's 95 % interval over its seeds."
    return table_card(head, rows, _LOOK, html.Div(note, className="chart-note"), least_width=_LEAST_WIDTH)


def _result(setting: StudySetting) -> list[Any]:
    shown: list[Any] = [formatting.percent(setting.latest)]
    if setting.latest_low is not None and setting.latest_high is not None:
        low, high = formatting.percent(setting.latest_low), formatting.percent(setting.latest_high)
        shown.append(html.Span(f"{low} to {high}", className="study-interval"))
    return shown


def _run_table(study: StudyDetail) -> html.Section:
    """Return every run in the order of the plan."""
    head = [*(short_name(field) for field in study.fields), "Run", "State", "Step", "Rollouts", "Reward", "Latest"]
    rows = [_run(study, run) for run in study.runs]
    return card(table(head, rows, _LOOK, least_width=_LEAST_WIDTH), title="Runs")


def _run(study: StudyDetail, run: StudyRun) -> html.Tr:
    numbers = (
        f"{run.step:,} of {run.num_steps or 0:,}",
        formatting.count(run.num_rollouts),
        formatting.reward(run.reward_mean),
        formatting.percent(run.eval_latest),
    )
    values = (formatting.config_value(run.set.get(field)) for field in study.fields)
    return row(*values, _name(run), _status(run), *(cell(number, "number") for number in numbers))


def _name(run: StudyRun) -> Any:
    if run.run_id is None:
        return run.name
    return Link(run.name, href=f"/runs/{run.run_id}", className="study-run", title=run.name)


def _status(run: StudyRun) -> Any:
    if run.status is None:
        return run.reason or run.state
    return html.Span(status_badge(run.status, size="sm"), title=run.reason or "")


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
