"""The column beside the form: what differs, what to beware of, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api import ConfigReport, FieldProblem
from frontend import formatting
from frontend.pages.new_run.cost import cost_of
from frontend.symbols import short_name


def problem_list(problems: Sequence[FieldProblem], *, colour: str, title: str) -> Any:
    """Field, value and remedy of each."""
    return dmc.Alert(
        html.Ul(
            [
                html.Li(
                    [
                        html.Code(problem.field),
                        f" = {formatting.config_value(problem.value)}: " if problem.value is not None else ": ",
                        problem.remedy,
                    ]
                )
                for problem in problems
            ],
            className="problem-list",
        ),
        title=title,
        color=colour,
        variant="light",
        p="sm",
    )


def diff_summary(report: ConfigReport, origin: str) -> html.Div:
    """What the run will do otherwise than where it comes from."""
    rows: list[Any] = [
        html.Div(
            [
                html.Code(short_name(path), title=path, className="diff-field"),
                html.Code(formatting.config_value(before) or "empty", className="diff-old"),
                html.Span("→"),
                html.Code(formatting.config_value(after) or "empty", className="diff-new"),
            ],
            className="diff-row",
        )
        for path, (before, after) in report.diff.items()
    ]
    nothing = [dmc.Text(f"Nothing: it repeats {origin}.", size="sm", c="dimmed")]
    return html.Div([html.H3(f"Differs from {origin}", className="chart-title"), *(rows or nothing)])


def cost_summary(report: ConfigReport) -> html.Div:
    """Responses to generate, by purpose."""
    cost = cost_of(report.config)
    lines = [
        ("training steps", formatting.count(cost.steps)),
        ("fresh rollouts", formatting.count(cost.fresh)),
        ("re-evaluations, at most", formatting.count(cost.reevaluated_at_most)),
        ("tracking", formatting.count(cost.tracking)),
        ("evaluation", formatting.count(cost.evaluation)),
    ]
    return html.Div(
        [
            html.H3("What it will generate", className="chart-title"),
            *(
                html.Div([html.Span(label), html.Span(value, className="cost-value")], className="cost-row")
                for label, value in lines
            ),
        ]
    )
