"""The results of a grid or list of runs: by setting, with intervals over seeds, and run by run."""

from __future__ import annotations

from typing import Any

from dash import html

from bapo.api.studies import StudyDetail, StudyRun, StudySetting
from bapo.figures import formatting
from frontend.components.address import Link
from frontend.components.card import card
from frontend.components.status_badge import status_badge
from frontend.components.table import cell, row, table, table_card
from frontend.symbols import short_name

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
