"""What-if in figures and words: the totals, and what is exact, estimated and left out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.what_if.answer import WhatIfAnswer, WhatIfTotal
from bapo.api.base import FieldProblem
from bapo.figures.formatting import config_value, count, percent, points, share
from frontend.components.elements import attributes
from frontend.components.symbols import SYMBOLS, short_name


class Total(NamedTuple):
    """One total; its texts are formatted."""

    name: str
    label: str
    recorded: str
    forecast: str
    interval: str
    """The interval, or why there is none."""
    change: str


def totals(answer: WhatIfAnswer) -> list[Total]:
    """Return the totals."""
    sums = answer.totals
    return [
        _total("fill-rate", "Mean fill rate", sums.fill_rate, percent, share, points),
        _total("empty-batches", "Empty batches", sums.empty_batches, count, count, _signed_count),
        _total("x1-share", "X1 share", sums.x1_share, percent, share, points),
        _total("x2-share", "X2 share", sums.x2_share, percent, share, points),
        _total("x3-share", "X3 share", sums.x3_share, percent, share, points),
        _total("fresh", "Fresh groups", sums.fresh, count, count, _signed_count),
        _total("gradient-share", "With a gradient", sums.gradient_share, percent, share, points),
        _total("reevaluated", "Re-evaluated prompts", sums.reevaluated, count, count, _signed_count),
        _total("rollouts", "Rollouts", sums.rollouts, count, count, _signed_count),
    ]


def _total(
    name: str,
    label: str,
    total: WhatIfTotal,
    text: Callable[[float], str],
    bound: Callable[[float], str],
    change: Callable[[float], str],
) -> Total:
    return Total(
        name,
        label,
        "not recorded" if total.recorded is None else text(total.recorded),
        text(total.forecast),
        _interval(total, bound),
        ""
        if total.recorded is None or text(total.recorded) == text(total.forecast)
        else change(total.forecast - total.recorded),
    )


def _interval(total: WhatIfTotal, bound: Callable[[float], str]) -> str:
    if not total.estimated:
        return "exact"
    # A buffer that is always full asks for as many prompts whatever is drawn.
    if total.low == total.high:
        return "the same in all draws"
    return f"estimate, 90 %: {bound(total.low)} to {bound(total.high)}"


def _signed_count(change: float) -> str:
    return f"{'+' if change > 0 else '−'}{count(abs(change))}"


def _field_name(path: str) -> str:
    """Return the field's symbol, or its path in the method."""
    symbol = SYMBOLS.get(path)
    return symbol.symbol if symbol and symbol.symbol else path.removeprefix("method.")


def total_row(found: Sequence[Total]) -> list[Any]:
    """Return a tile for each total: recorded → forecast, with its interval."""
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
    """Return, in sentences, what is exact and what is estimated."""
    if not answer.num_steps:
        return ["The run has not recorded a step yet."]
    if not answer.estimated:
        basis = "Exact, given the recorded accuracies: these settings ask for no answer that was not recorded."
    elif answer.num_drawn_groups:
        basis = _drawn(answer)
    else:
        known = f"{count(answer.num_known)} were recorded in the same step and are exact; " if answer.num_known else ""
        basis = (
            f"Exact up to step {answer.exact_through:,}, and for X1 in all steps. Of the re-evaluations that these "
            f"settings ask for, {known}{count(answer.num_estimated)} never happened: they are drawn {answer.num_draws} "
            "times from each prompt's outcome at its nearest later visit (hatched, with 90 % intervals)."
        )
    kept = [
        "Settings that you do not change keep the values in force at each step; the run itself changed "
        f"{_named(answer)}."
    ]
    return [
        html.Span(basis),
        " ",
        html.Strong("The policy's reaction is not simulated: "),
        html.Span("trained on other batches, it would have given other responses."),
        *([" ", html.Span(kept[0])] if answer.run_changes else []),
    ]


def _drawn(answer: WhatIfAnswer) -> str:
    """Return how fresh groups that the run did not record were estimated."""
    again = (
        f"With {answer.group_size} responses to each prompt instead of {answer.group_size_recorded}, all answers are "
        "estimates: each prompt's pass rate is drawn from what the run recorded of it at that visit"
        if answer.group_size != answer.group_size_recorded
        else f"Exact in steps whose first round fills the batch. {count(answer.num_drawn_groups)} groups of further "
        "rounds were never rolled out: their prompts' pass rates are drawn from those of the run's prompts at that step"
    )
    return f"{again}, {answer.num_draws} times (hatched or dashed, with 90 % intervals)."


def _named(answer: WhatIfAnswer) -> str:
    return "; ".join(
        ", ".join(f"{short_name(path)} to {config_value(value)}" for path, value in change.changes.items())
        + f" at step {change.first_step:,}"
        for change in answer.run_changes
    )


def cautions(answer: WhatIfAnswer) -> list[Any]:
    """Return the warnings of the config, and how many records the replay does not reproduce."""
    found = list(answer.warnings)
    if answer.num_disagreeing:
        found.append(
            FieldProblem(
                field="record",
                remedy=f"in {answer.num_disagreeing:,} steps this version of BAPO would make another batch of the "
                "recorded accuracies than the one recorded: the comparison is off by that much",
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
    """Return each changed field with its old and new value."""
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
    ] or [html.Span("Nothing is changed: both show the run as recorded.", className="fact-label")]
