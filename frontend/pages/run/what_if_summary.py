"""What-if in figures and words: the row of totals, and what is exact, estimated and left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import html

from bapo.api.base import FieldProblem
from bapo.api.what_if import WhatIfAnswer, WhatIfTotal
from bapo.figures.formatting import config_value, count, percent, points, share
from frontend.components.attributes import attributes
from frontend.symbols import SYMBOLS, short_name


class Total(NamedTuple):
    """A figure of the row; texts are formatted."""

    name: str
    label: str
    recorded: str
    forecast: str
    interval: str
    """Or why there is none."""
    change: str


def totals(answer: WhatIfAnswer) -> list[Total]:
    """The row of totals."""
    sums = answer.totals
    # A buffer that is always full asks for as many prompts whatever is drawn.
    certain = "exact" if answer.num_draws == 1 else "the same in all draws"
    return [
        _total("fill-rate", "Mean fill rate", sums.fill_rate, certain, percent, share, points),
        _total("empty-batches", "Empty batches", sums.empty_batches, certain, count, count, _signed_count),
        _total("x1-share", "X1 share", sums.x1_share, certain, percent, share, points),
        _total("x2-share", "X2 share", sums.x2_share, certain, percent, share, points),
        _total("x3-share", "X3 share", sums.x3_share, certain, percent, share, points),
        _total("reevaluated", "Prompts answered again", sums.reevaluated, certain, count, count, _signed_count),
        _total("rollouts", "Rollouts", sums.rollouts, certain, count, count, _signed_count),
    ]


def _total(
    name: str,
    label: str,
    total: WhatIfTotal,
    certain: str,
    text: Callable[[float], str],
    bound: Callable[[float], str],
    change: Callable[[float], str],
) -> Total:
    return Total(
        name,
        label,
        text(total.recorded),
        text(total.forecast),
        f"95 %: {bound(total.low)} to {bound(total.high)}" if total.low < total.high else certain,
        "" if text(total.recorded) == text(total.forecast) else change(total.forecast - total.recorded),
    )


def _signed_count(change: float) -> str:
    return f"{'+' if change > 0 else '−'}{count(abs(change))}"


def _field_name(path: str) -> str:
    """Its symbol, or its place in the method."""
    symbol = SYMBOLS.get(path)
    return symbol.symbol if symbol and symbol.symbol else path.removeprefix("method.")


def total_row(found: Sequence[Total]) -> list[Any]:
    """Recorded → forecast with its interval, a tile each."""
    return [
        html.Div(
            [
                html.Div(total.label, className="what-if-total-label"),
                html.Div(
                    [
                        html.Span(total.recorded, className="what-if-was"),
                        html.Span(" → ", className="what-if-arrow"),
                        html.Span(total.forecast, className="what-if-now"),
                    ]
                ),
                html.Div(
                    [
                        html.Span(total.interval),
                        *([html.Span(total.change, className="what-if-change")] if total.change else []),
                    ],
                    className="what-if-total-note",
                ),
            ],
            className="what-if-total",
            **attributes(data_total=total.name),
        )
        for total in found
    ]


def words(answer: WhatIfAnswer) -> list[Any]:
    """What rests on what, in sentences."""
    if not answer.num_steps:
        return ["The run has recorded no step yet."]
    if not answer.num_estimated:
        basis = (
            "Exact given the recorded accuracies: every re-evaluation that these settings ask for was recorded, or "
            "none is asked for."
        )
    else:
        known = f"{count(answer.num_known)} were recorded in the same step and are exact; " if answer.num_known else ""
        basis = (
            f"Exact through step {answer.exact_through:,}, and X1 in all of them. Of the re-evaluations that these "
            f"settings ask for, {known}{count(answer.num_estimated)} never happened: they are drawn {answer.num_draws} "
            "times from what each prompt did at its nearest later visit (hatched, with 95 % intervals)."
        )
    kept = [
        f"Fields that you do not move keep the values that held in each step; the run itself changed {_named(answer)}."
    ]
    return [
        html.Span(basis),
        " ",
        html.Strong("The policy's own reaction is not simulated: "),
        html.Span("trained on other batches, it would have answered otherwise."),
        *([" ", html.Span(kept[0])] if answer.run_changes else []),
    ]


def _named(answer: WhatIfAnswer) -> str:
    return "; ".join(
        ", ".join(f"{short_name(path)} to {config_value(value)}" for path, value in change.changes.items())
        + f" at step {change.first_step:,}"
        for change in answer.run_changes
    )


def cautions(answer: WhatIfAnswer) -> list[Any]:
    """Warnings of the config, and a record that no replay gives."""
    found = list(answer.warnings)
    if answer.num_disagreeing:
        found.append(
            FieldProblem(
                field="record",
                remedy=f"in {answer.num_disagreeing:,} steps the recorded batch is not what this version of BAPO makes "
                "of the recorded accuracies: the comparison is off by that much",
            )
        )
    return [
        dmc.Alert(
            [html.Code(problem.field), ": ", problem.remedy],
            color="yellow",
            variant="light",
            p="xs",
            className="caution",
        )
        for problem in found
    ]


def changed_fields(answer: WhatIfAnswer, moved: Collection[str]) -> list[Any]:
    """Each moved field, old and new; what follows from another method stands in the form."""
    return [
        html.Span(
            [
                html.Code(_field_name(path), title=path),
                " ",
                html.Code(config_value(before) or "empty", className="diff-old"),
                " → ",
                html.Code(config_value(after) or "empty", className="diff-new"),
            ],
            className="what-if-changed",
        )
        for path, (before, after) in answer.changes.items()
        if path in moved
    ] or [html.Span("Nothing is changed: both are the run as it was recorded.", className="fact-label")]
