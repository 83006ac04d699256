"""Tables that sort by their headings and can be copied; a cell shows one value and sorts by another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dash import html

from bapo.analysis.number_format import bounds_text, within_share
from bapo.api.compare import CostSpread, MeanEstimate
from bapo.api.difficulty import MigrationRate
from bapo.figures import formatting
from frontend.components.elements import attributes


class Cell(NamedTuple):
    """One cell."""

    text: Any
    """A text, or components."""
    raw: float | str | None = None
    """Used for sorting and export."""
    note: str = ""
    """Interval or null, in small type."""
    title: str = ""


class Heading(NamedTuple):
    """A column."""

    text: str
    title: str = ""
    is_number: bool = True


NONE = Cell(formatting.MISSING)
Text = Callable[[float], str]


def table(name: str, headings: Sequence[Heading], rows: Sequence[tuple[str, Sequence[Cell]]], caption: str) -> html.Div:
    """Return a table of rows (group label, cells): a group hidden in the legend is dimmed. The first cell names the
    row."""
    head = html.Tr(
        [
            html.Th(
                html.Button(heading.text, type="button", className="compare-sort", title=heading.title or heading.text),
                scope="col",
                className="number" if heading.is_number else "",
                **attributes(aria_sort="none"),
            )
            for heading in headings
        ]
    )
    body = [
        html.Tr(
            [
                _cell(cell, heading, is_first=index == 0)
                for index, (cell, heading) in enumerate(zip(cells, headings, strict=True))
            ],
            **attributes(data_label=label),
        )
        for label, cells in rows
    ]
    actions = html.Div(
        [
            html.Button(
                label,
                type="button",
                className="compare-text-action",
                **attributes(data_compare_table=action, aria_label=f"{label}: {caption}"),
            )
            for action, label in (("copy", "Copy"), ("csv", "CSV"))
        ],
        className="compare-table-actions",
    )
    scrolled = html.Div(
        html.Table([html.Thead(head), html.Tbody(body)], className="compare-table", **attributes(aria_label=caption)),
        className="compare-scroll",
        tabIndex=0,
        role="region",
        **attributes(aria_label=f"{caption}, scrolls sideways"),
    )
    return html.Div([actions, scrolled], className="compare-table-box", **attributes(data_compare_name=name))


def _cell(cell: Cell, heading: Heading, *, is_first: bool) -> Any:
    content = [cell.text, *([html.Span(cell.note, className="compare-interval")] if cell.note else [])]
    raw = "" if cell.raw is None else str(cell.raw)
    extra = attributes(data_raw=raw, data_note=cell.note)
    if is_first:
        return html.Th(content, scope="row", title=cell.title, **extra)
    return html.Td(content, className="number" if heading.is_number else "", title=cell.title, **extra)


def share(estimate: MeanEstimate | None, *, over: str = "") -> Cell:
    """Return a share with its interval: 41.2 %, 38.0 to 44.4."""
    return _estimated(estimate, formatting.percent, within_share, over)


def points(estimate: MeanEstimate | None, *, over: str = "") -> Cell:
    """Return a difference with its interval: +8.2 pts, +4.0 to +12.4."""
    return _estimated(estimate, formatting.points, lambda value: formatting.signed_decimal(100 * value, 1), over)


def _estimated(estimate: MeanEstimate | None, text: Text, bound: Text, over: str) -> Cell:
    if estimate is None:
        return NONE
    bounds = interval(estimate, bound)
    note = ", ".join(part for part in (bounds, f"n={estimate.n}" if over else "") if part)
    title = f"95 % interval over {estimate.n} {over}" if over and bounds else ""
    return Cell(text(estimate.value), estimate.value, note, title)


def interval(estimate: MeanEstimate, text: Text) -> str:
    """Return "38.0 to 44.4"; empty without bounds."""
    return bounds_text(estimate.low, estimate.high, text)


def rate(now: MigrationRate | None, null: MigrationRate | None) -> Cell:
    """Return a rate next to the rate by chance."""
    if now is None:
        return NONE
    bounds = f"95 % interval {formatting.share(now.low)} to {formatting.share(now.high)}"
    return _beside_chance(now.value, null, f"{now.num_moved} of {now.num_prompts} prompts; {bounds}")


def mean_rate(now: MeanEstimate | None, null: MeanEstimate | None) -> Cell:
    """Return the same for the runs of a group."""
    if now is None:
        return NONE
    bounds = interval(now, within_share)
    return _beside_chance(now.value, null, _mean_of(now) + (f": {bounds}" if bounds else ""))


def _mean_of(estimate: MeanEstimate) -> str:
    return "1 replicate" if estimate.n == 1 else f"mean of {estimate.n} replicates"


def _beside_chance(value: float, null: MigrationRate | MeanEstimate | None, title: str) -> Cell:
    note = "" if null is None else f"chance {formatting.percent(null.value)}"
    return Cell(formatting.percent(value), value, note, title)


def mean(estimate: MeanEstimate | None, text: Text) -> Cell:
    """Return the mean of a group."""
    return NONE if estimate is None else Cell(text(estimate.value), estimate.value, "", _mean_of(estimate))


def range_of(spread: CostSpread | None, text: Text) -> Cell:
    """Return the median, with the range below."""
    if spread is None:
        return NONE
    note = "" if spread.low == spread.high else f"{text(spread.low)} to {text(spread.high)}"
    return Cell(text(spread.median), spread.median, note, "median and range over the runs that reached it")


def hours(value: float | None) -> str:
    """Return hours such as 12.3 h or 0.012 h."""
    return formatting.MISSING if value is None else f"{value:,.{_digits(value)}f}{formatting.THIN_SPACE}h"


def money(value: float | None, currency: str) -> str:
    """Return a cost such as 12.35 USD or 0.0012 USD."""
    return formatting.MISSING if value is None else f"{value:,.{_digits(value) + 1}f}{formatting.THIN_SPACE}{currency}"


def _digits(value: float) -> int:
    # What small runs take is seen too.
    return 1 if value >= 10 or value == 0 else 2 if value >= 1 else 3
