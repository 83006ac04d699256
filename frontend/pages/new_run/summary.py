"""The column next to the form: what differs, the estimate, and the constants of the theory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.configs import ConfigReport, EstimateRange, RunEstimate
from bapo.config.resolve import flatten
from bapo.figures import formatting
from frontend.components.card import card
from frontend.components.config_form.values import FormField
from frontend.components.elements import Link
from frontend.components.symbols import short_name


def diff_summary(report: ConfigReport, origin: str) -> html.Div:
    """Return what differs from the origin; fields that the method lacks are counted."""
    present = flatten(report.config).keys()
    rows: list[Any] = [
        _diff_row(path, before, after) for path, (before, after) in report.diff.items() if path in present
    ]
    gone = Counter(path.split(".", 1)[0] for path in report.diff.keys() - present)
    for section, number in sorted(gone.items()):
        fields = f"field of the other {section} does" if number == 1 else f"fields of the other {section} do"
        rows.append(dmc.Text(f"{number} {fields} not apply.", size="sm", c="dimmed"))
    nothing = [dmc.Text(f"Nothing: it is the same as {origin}.", size="sm", c="dimmed")]
    return html.Div([html.H2(f"Differs from {origin}", className="chart-title"), *(rows or nothing)])


def typed_summary(
    fields: Sequence[FormField], changed: Mapping[str, Any], refused: Container[str], origin: str
) -> html.Div:
    """Return what was typed in a form that cannot run yet, next to what it began with."""
    bases = {field.info.path: field.base for field in fields}
    rows = [
        _diff_row(path, bases[path], value, "not possible" if path in refused else "")
        for path, value in changed.items()
    ]
    return html.Div([html.H2(f"Differs from {origin}", className="chart-title"), *rows])


def _diff_row(path: str, before: Any, after: Any, remark: str = "") -> html.Div:
    return html.Div(
        [
            html.Code(short_name(path), title=path, className="diff-field"),
            html.Code(formatting.config_value(before) or "empty", className="diff-old"),
            html.Span("→"),
            html.Code(formatting.config_value(after) or "empty", className="diff-new"),
            *([html.Span(remark, className="bad")] if remark else []),
        ],
        className="diff-row",
    )


def estimate_summary(estimate: RunEstimate) -> html.Div:
    """Return what the run will take: rollouts by arithmetic, the rest from similar runs, with ranges."""
    warm_start = [
        cost_row("steps of the warm start", _count(estimate.warm_start_steps)),
        cost_row("warm start, at most", _count(estimate.warm_start_at_most)),
    ]
    rollouts = [
        *(warm_start if estimate.warm_start_steps else []),
        cost_row("training steps", _count(estimate.steps)),
        cost_row("fresh rollouts", _count(estimate.fresh)),
        cost_row("re-evaluations, at most", _count(estimate.reevaluated_at_most)),
        *([cost_row("further rounds, at most", _count(estimate.further_at_most))] if estimate.further_at_most else []),
        cost_row("tracking", _count(estimate.tracking)),
        cost_row("evaluation", _count(estimate.evaluation)),
    ]
    hours = "GPU-hours" if estimate.num_gpus else "CPU-hours"
    found = (
        ("rollouts of training", estimate.rollouts, formatting.count),
        ("tokens of training", estimate.tokens, formatting.count),
        ("duration", estimate.seconds, formatting.duration),
        (hours, estimate.compute_hours, lambda value: f"{value:,.2f}"),
        ("cost", estimate.cost, lambda value: f"{value:,.2f} {estimate.currency}"),
    )
    expected = [cost_row(label, with_range(value, form)) for label, value, form in found if value is not None]
    return html.Div(
        [
            html.H2("Estimate", className="chart-title"),
            *expected,
            html.Div(_basis(estimate), className="cost-basis"),
            html.H3("Rollouts by setting", className="cost-title"),
            *rollouts,
        ]
    )


def _count(value: int | None) -> Any:
    """Return a count; the problems of a data set that is not registered are unknown."""
    if value is None:
        return html.Span(
            "unknown", title="The file is not registered under Data and models, so its problems are not counted."
        )
    return formatting.count(value)


def cost_row(label: Any, value: Any) -> html.Div:
    """Return a line of a list of costs."""
    return html.Div([html.Span(label), html.Span(value, className="cost-value")], className="cost-row")


def with_range(value: EstimateRange, form: Callable[[float], str]) -> Any:
    """Return an estimate with its range, where it has one."""
    low, high = form(value.low), form(value.high)
    if low == high:
        return form(value.value)
    return [form(value.value), html.Span(f" {low} to {high}", className="cost-range")]


def _basis(estimate: RunEstimate) -> list[Any]:
    runs = estimate.similar_runs
    if not runs:
        return [
            "No finished run has the same model, engine and G and similar sizes, so tokens, duration and cost are "
            "unknown."
        ]
    links: list[Any] = []
    for run in runs:
        differs = f" ({', '.join(run.differs)})" if run.differs else ""
        links += [", " if links else "", Link(run.name, href=f"/runs/{run.id}", className="wrap-anywhere"), differs]
    num = f"{len(runs)} similar runs" if len(runs) > 1 else "one similar run"
    unpriced = "" if estimate.cost else " This deployment sets no price per hour."
    return [f"Median and range of {num}: ", *links, ".", unpriced]


THEORY = (
    ("K1", "fresh groups (X1)", "Eq. 11: bounds how far one step on fresh groups may move the policy."),
    ("K2", "re-evaluated groups (X2)", "Eq. 12, as in the paper; it does not hold for accuracies near 1."),
    ("K2_exact", "X2, exactly", "Eq. 12 with the least variance that an improved group can have."),
    ("K3", "reused groups (X3)", "Eq. 13 at r_tot = 0: groups of low variance weigh most."),
)
"""Constants of Theorem 3.2 with their meaning."""


def theory_summary(report: ConfigReport) -> Any:
    """Return K1..K3 with what they bound; nothing for methods without thresholds."""
    known = [(name, label, text, report.constants[name]) for name, label, text in THEORY if report.constants.get(name)]
    if not known:
        return None
    note = (
        "Weights of the distance to each source's behaviour policy in the bound on the improvement: the smaller, the "
        "safer."
    )
    rows = [
        cost_row(
            html.Span([html.Span(name.replace("_exact", "′"), className="symbol"), f" {label}"], title=text),
            formatting.decimal(value, 2),
        )
        for name, label, text, value in known
    ]
    return card(dmc.Text(note, size="xs", c="dimmed"), *rows, title="Theorem 3.2")
