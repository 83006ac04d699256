"""The results of a sweep: by setting with intervals over seeds, and run by run."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import dcc, html

from bapo.api.sweeps import SweepDetail, SweepRun, SweepSetting
from bapo.figures import formatting
from bapo.figures.sweep_outcomes import SettingOutcome, parallel_lines, parallel_lines_figure
from bapo.figures.theme import Palette, themed
from frontend.components.status_badge import status_badge
from frontend.symbols import short_name

SEEDS = ("training.seed", "task.seed")


def varied(sweep: SweepDetail) -> list[str]:
    """The fields of its settings: seeds repeat one."""
    return [field for field in sweep.fields if field not in SEEDS]


def outcome_figure(sweep: SweepDetail, palette: Palette) -> go.Figure:
    """One line a setting with a result; without any, what the figure waits for."""
    settings = [
        SettingOutcome(each.set, each.latest, f"{setting_text(each)}: {result_text(each)}")
        for each in sweep.settings
        if each.latest is not None
    ]
    fields = {field: short_name(field) for field in varied(sweep)}
    if not settings:
        figure = go.Figure().update_layout(xaxis={"visible": False}, yaxis={"visible": False})
        figure.add_annotation(
            text="No evaluation yet", showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5, font={"size": 14}
        )
        return themed(figure, palette)
    shown = {str(value): formatting.config_value(value) for each in sweep.settings for value in each.set.values()}
    return themed(parallel_lines_figure(parallel_lines(fields, settings, shown), palette), palette)


def setting_text(setting: SweepSetting) -> str:
    """`c1 = 0.25, v = 3`."""
    parts = [f"{short_name(field)} = {formatting.config_value(value)}" for field, value in setting.set.items()]
    return ", ".join(parts) or "all runs"


def result_text(setting: SweepSetting) -> str:
    """Mean and interval."""
    mean = formatting.percent(setting.latest)
    if setting.latest_low is None or setting.latest_high is None:
        return mean
    return f"{mean} [{formatting.percent(setting.latest_low)}, {formatting.percent(setting.latest_high)}]"


def results(sweep: SweepDetail) -> html.Div:
    """A row a setting, the best first."""
    fields = varied(sweep)
    ordered = sorted(sweep.settings, key=lambda each: -1.0 if each.latest is None else each.latest, reverse=True)
    head = [*(short_name(field) for field in fields), "Runs", sweep.eval_name or "Result", "Best"]
    rows = [
        dmc.TableTr(
            [
                *(dmc.TableTd(formatting.config_value(each.set.get(field))) for field in fields),
                dmc.TableTd(f"{each.num_results:,} of {len(each.run_ids):,}", className="number"),
                dmc.TableTd(_result(each), className="number"),
                dmc.TableTd(formatting.percent(each.best), className="number"),
            ]
        )
        for each in ordered
    ]
    note = "Mean of the latest evaluation over the runs of a setting, with Student's 95 % interval over its seeds."
    return html.Div(
        [
            html.H3("Results by setting", className="chart-title"),
            _table(head, rows),
            html.Div(note, className="chart-note"),
        ],
        className="panel-card",
    )


def _result(setting: SweepSetting) -> list[Any]:
    shown: list[Any] = [formatting.percent(setting.latest)]
    if setting.latest_low is not None and setting.latest_high is not None:
        low, high = formatting.percent(setting.latest_low), formatting.percent(setting.latest_high)
        shown.append(html.Span(f"{low} to {high}", className="sweep-interval"))
    return shown


def run_table(sweep: SweepDetail) -> html.Div:
    """Every run in the order of the plan."""
    head = [*(short_name(field) for field in sweep.fields), "Run", "State", "Step", "Rollouts", "Reward", "Latest"]
    rows = [_run(sweep, run) for run in sweep.runs]
    return html.Div([html.H3("Runs", className="chart-title"), _table(head, rows)], className="panel-card")


def _run(sweep: SweepDetail, run: SweepRun) -> dmc.TableTr:
    return dmc.TableTr(
        [
            *(dmc.TableTd(formatting.config_value(run.set.get(field))) for field in sweep.fields),
            dmc.TableTd(dcc.Link(run.name, href=f"/runs/{run.id}", className="sweep-run", title=run.name)),
            dmc.TableTd(html.Span(status_badge(run.status, size="sm"), title=run.status_reason or "")),
            dmc.TableTd(f"{run.step:,} of {run.num_steps:,}", className="number"),
            dmc.TableTd(formatting.count(run.num_rollouts), className="number"),
            dmc.TableTd(formatting.percent(run.reward_mean), className="number"),
            dmc.TableTd(formatting.percent(run.eval_latest), className="number"),
        ]
    )


def _table(head: list[str], rows: list[Any]) -> dmc.TableScrollContainer:
    return dmc.TableScrollContainer(
        dmc.Table(
            [
                dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in head])),
                dmc.TableTbody(rows),
            ],
            highlightOnHover=True,
            className="sweep-table",
        ),
        minWidth=640,
    )
