"""Preview of a study file: its power, its runs and their cost, or all its problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from bapo.analysis.number_format import counted, share
from bapo.api.base import FieldProblem
from bapo.api.studies import StudyPower, StudyPreview
from bapo.figures import formatting


def preview_panel(found: StudyPreview) -> list[Any]:
    """Return the power of the design with the preview of a file, or with all its problems."""
    shown = [] if found.power is None else [_power(found.power)]
    if found.problems:
        return [
            *shown,
            html.H2(f"This cannot be made yet: {counted(len(found.problems), 'problem')}", className="chart-title"),
            html.Ul([_problem(each) for each in found.problems], className="study-problems"),
        ]
    arms = ", ".join(arm.name for arm in found.arms)
    lines = [
        ("Question", found.question or ""),
        ("Arms", arms),
        ("Regimes", ", ".join(found.regimes)),
        ("Seeds", ", ".join(map(str, found.seeds))),
        ("Test sets", ", ".join(found.test_sets)),
        ("Decides", found.primary or ""),
        ("Runs", _runs(found)),
        ("Time", _time(found)),
        *_spent(found),
    ]
    return [
        *shown,
        html.H2(found.title, className="chart-title wrap-anywhere"),
        html.Dl([part for label, text in lines for part in (html.Dt(label), html.Dd(text))], className="study-head"),
        html.Ul([_problem(each, is_warning=True) for each in found.warnings], className="study-problems"),
    ]


def _runs(found: StudyPreview) -> str:
    tuning = f", {found.num_tuning_runs:,} of them to choose settings" if found.num_tuning_runs else ""
    return f"{found.num_runs:,}{tuning}"


def _time(found: StudyPreview) -> str:
    if found.seconds is None:
        return "unknown: no run like these has ended here"
    low, high = formatting.duration(found.seconds.low), formatting.duration(found.seconds.high)
    return f"about {formatting.duration(found.seconds.value)} ({low} to {high}), one run after the other"


def _spent(found: StudyPreview) -> list[tuple[str, str]]:
    """Return what the runs take together, as far as it is known."""
    amounts = (
        ("Rollouts", found.rollouts, formatting.count),
        ("Compute", found.compute_hours, lambda value: f"{value:,.2f} hours"),
        ("Cost", found.cost, lambda value: f"{value:,.2f} {found.currency}"),
    )
    return [
        (label, f"{form(amount.value)} ({form(amount.low)} to {form(amount.high)})")
        for label, amount, form in amounts
        if amount is not None
    ]


def _power(power: StudyPower) -> html.Div:
    """Return what the design can show, from which spread between seeds, and what more seeds would."""
    parts: list[Any] = [html.Div(power.text, className="study-power", id="study-power")]
    if power.detectable is not None:
        parts.append(
            html.P(
                "The smallest true difference of the primary comparison that 80 % of repetitions would show: paired t "
                "test over seeds, two-sided at 5 %.",
                className="chart-note",
            )
        )
    if power.detectable_low is not None and power.detectable_high is not None:
        low, high = share(power.detectable_low), share(power.detectable_high)
        parts.append(html.P(f"{low} to {high} points, as the spread may be between seeds.", className="chart-note"))
    spread = f"Spread between seeds: {share(power.deviation, 2)} points, {power.source_text}."
    parts.append(html.P(spread, className="chart-note"))
    if power.more_seeds:
        more = ", ".join(f"{number} seeds {share(value)}" for number, value in power.more_seeds.items())
        parts.append(html.P(f"More seeds would show: {more} points.", className="chart-note"))
    return html.Div(parts, className="study-power-card")


def _problem(problem: FieldProblem, *, is_warning: bool = False) -> html.Li:
    given: list[Any] = [] if problem.value is None else [" = ", html.Code(str(problem.value))]
    return html.Li(
        [html.Code(problem.field), *given, html.Div(problem.remedy)], className="warning" if is_warning else ""
    )


def problem_items(problems: Sequence[FieldProblem]) -> html.Ul:
    """Return field, value and remedy of each problem."""
    return html.Ul([_problem(each) for each in problems], className="study-problems", style={"marginTop": 12})
