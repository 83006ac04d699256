"""The charts of a comparison: a card for each metric, one legend for all of them, and how migrations differ."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
import plotly.graph_objects as go
from dash import html

from bapo.analysis.comparison import shown_name
from bapo.api.compare import ComparedCurve, ComparedCurves, CurveGroup
from bapo.api.difficulty import Migration
from bapo.client import ApiError, AsyncClient
from bapo.figures import formatting
from bapo.figures.formatting import config_value
from bapo.figures.looks import LineStyle, styles_of
from bapo.figures.metric_titles import AVERAGE, drawn_for, metric_of
from bapo.figures.migration_difference import migration_difference_data, migration_difference_figure
from bapo.figures.overlay import OverlaidMark, overlay_data, overlay_figure
from bapo.figures.theme import Palette, themed
from frontend.components.elements import Graph, attributes
from frontend.components.icon import IconName, icon
from frontend.components.symbols import short_name
from frontend.pages.compare.view import SMOOTH_STRETCHES, View, api_address
from frontend.request.prefix import served


def styles(labels: Sequence[str], palette: Palette) -> dict[str, LineStyle]:
    """Return the style of each group by its label."""
    names = shown_names(labels)
    found = styles_of(list(names.values()), palette)
    return {label: found[name] for label, name in names.items()}


def shown_names(labels: Sequence[str]) -> Mapping[str, str]:
    """Return the shown names by label."""
    return {label: shown_name(label) for label in labels}


USUAL = ("critic/rewards/mean", "actor/entropy", "response_length/mean")


def usual_metrics(known: Sequence[str]) -> list[str]:
    """Return reward, avg@k of the widest held-out set, entropy and length, as far as the runs have them."""
    averages = [key for key in known if (match := AVERAGE.fullmatch(key)) is not None and match["k"]]
    first = sorted(averages, key=lambda key: (-len(key), key))[:1]
    keys = [USUAL[0], *first, *USUAL[1:]]
    return [key for key in keys if not known or key in known]


_ACTIONS: tuple[tuple[str, str, IconName], ...] = (
    ("table", "Show as table", "columns"),
    ("csv", "Download as CSV", "download"),
    ("svg", "Download as SVG", "copy"),
    ("fullscreen", "Full screen", "expand"),
)


def card(
    name: str, title: str, note: str, figure: go.Figure, palette: Palette, *, question: str = "", wide: bool = False
) -> html.Div:
    """Return a chart with its own small buttons; `note` says what was left out or interpolated."""
    buttons = [
        html.Button(
            icon(icon_name, 16),
            className="compare-action",
            title=label,
            type="button",
            **attributes(data_compare_action=action, aria_label=f"{label}: {title}"),
        )
        for action, label, icon_name in _ACTIONS
    ]
    drawing = themed(figure, palette)
    return html.Div(
        [
            html.Div(
                [
                    html.Div(
                        [
                            html.H2(title, className="chart-title"),
                            *([html.Div(question, className="chart-question")] if question else []),
                        ]
                    ),
                    html.Div(buttons, className="chart-tools compare-tools"),
                ],
                className="chart-head",
            ),
            Graph(
                {"type": "compare-graph", "name": name},
                drawing,
                style={"height": drawing["layout"]["height"]},
                look="chart-graph",
            ),
            html.Div(note, className="compare-note"),
        ],
        className="chart-card wide" if wide else "chart-card",
        role="figure",
        **attributes(data_chart=name, aria_label=f"{title} {note}"),
    )


def curve_cards(
    curves: ComparedCurves, keys: Sequence[str], view: View, styles: Mapping[str, LineStyle], palette: Palette
) -> list[html.Div]:
    """Return a card for each metric."""
    cards = []
    for key in keys:
        found = curves.curves.get(key, ())
        metric = drawn_for(metric_of(key), (value for curve in found for value in curve.mean))
        data = overlay_data(
            found,
            curves.x,
            styles,
            names=shown_names([each.label for each in found]),
            unit=metric.unit,
            is_share=metric.is_share,
            hidden=view.hidden,
            marks=marks_of_groups(curves.groups),
        )
        note, figure = curves_note(curves, key, view), overlay_figure(data, palette)
        cards.append(card(key, metric.title, note, figure, palette, question=metric.question))
    return cards


def curves_note(curves: ComparedCurves, key: str, view: View) -> str:
    """Return how the curves were made."""
    found = curves.curves.get(key, ())
    if not found:
        return "No run has recorded this metric."
    text = "; ".join(_making(curves, found, view))
    made = f"{text[:1].upper()}{text[1:]}." if text else ""
    return " ".join(part for part in (curves.notes.get(key, ""), made) if part)


def _making(curves: ComparedCurves, found: Sequence[ComparedCurve], view: View) -> list[str]:
    parts = []
    means = [curve for curve in found if curve.n]
    if means:
        counts = sorted({max(curve.n) for curve in means} - {1, 2})
        if counts:
            runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}–{counts[-1]}"
            parts.append(f"mean and 95 % interval over {runs} replicates (Student's t)")
        if any(max(curve.n) == 2 for curve in means):
            parts.append("mean and range of two replicates, whose 95 % interval would be 12.7 times as wide")
        if any(max(curve.n) == 1 for curve in means):
            parts.append("runs of one seed are one replicate, without an interval")
    if any(group.changes for group in curves.groups):
        parts.append("◆ marks where a parameter was changed")
    if curves.budget is not None and curves.budget.run_id is not None:
        names = {run_id: name for each in curves.groups for run_id, name in zip(each.run_ids, each.names, strict=True)}
        shortest = names[curves.budget.run_id]
        parts.append(f"cut off at {budget_text(curves.budget.x, curves.budget.until)}, as far as {shortest} goes")
    if curves.is_interpolated:
        parts.append("interpolated linearly to common positions")
    shown, whole = (sum(sizes) for sizes in zip(*((len(each.x), each.num_positions) for each in found), strict=True))
    if shown < whole and view.smooth:
        parts.append(f"each run averaged over {SMOOTH_STRETCHES} stretches")
    elif shown < whole:
        parts.append(f"{formatting.count(shown)} of {formatting.count(whole)} points, extremes kept")
    return parts


def marks_of_groups(groups: Sequence[CurveGroup]) -> list[OverlaidMark]:
    """Return the parameter changes of all runs; one for seeds with the same change."""
    found: dict[tuple[str, float, str], list[str]] = {}
    for group in groups:
        names = dict(zip(group.run_ids, group.names, strict=True))
        for each in group.changes:
            values = ", ".join(
                f"{short_name(field)} = {config_value(value)}" for field, value in each.change.set.items()
            )
            text = f"step {each.change.step:,}: {values}"
            found.setdefault((group.label, each.x, text), []).append(names[each.run_id])
    return [OverlaidMark(label, x, f"{', '.join(names)}, {text}") for (label, x, text), names in found.items()]


def budget_text(x: str, until: float) -> str:
    """Return a budget in words: "12.8k rollouts"."""
    if x == "time":
        return f"{formatting.duration(until)} of training steps"
    return f"{formatting.count(until)} rollouts" if x == "rollouts" else f"step {until:,.0f}"


def legend(groups: Sequence[CurveGroup], styles: Mapping[str, LineStyle], hidden: frozenset[str]) -> list[Any]:
    """Return a button for each group, which shows and hides it in all charts."""
    return [
        html.Button(
            [
                html.Span(
                    className=f"compare-swatch {styles[group.label].dash}",
                    style={"borderTopColor": styles[group.label].colour},
                ),
                html.Span(shown_name(group.label), className="compare-name"),
                *([html.Span(f"n={len(group.run_ids)}", className="compare-n")] if len(group.run_ids) > 1 else []),
            ],
            type="button",
            className="compare-key",
            title=f"{shown_name(group.label)}: show or hide",
            **attributes(data_label=group.label, aria_pressed="false" if group.label in hidden else "true"),
        )
        for group in groups
    ]


def downloads(view: View, keys: Sequence[str]) -> dmc.Group:
    """Return links to the same comparison in the API."""
    links = (
        ("Curves as JSON", api_address(view, "compare/curves", keys=",".join(keys))),
        ("Tables as JSON", api_address(view, "compare")),
    )
    return dmc.Group(
        [html.A(label, href=served(href), download="", className="compare-download") for label, href in links], gap="md"
    )


MOST_OF_A_GROUP = 10
"""Most runs of a group whose matrices are added up."""


async def migrations(client: AsyncClient, run_ids: Sequence[str]) -> list[Migration]:
    """Return the migrations from the base model to the last sampling, of the runs that track prompts."""
    asked = (_migration(client, run_id) for run_id in run_ids[:MOST_OF_A_GROUP])
    return [found for found in await asyncio.gather(*asked) if found is not None]


async def _migration(client: AsyncClient, run_id: str) -> Migration | None:
    try:
        return await client.migration(run_id, kind="tracked", from_step=0)
    except ApiError as error:
        if error.status in (404, 409, 422):
            return None
        raise


async def migration_card(
    client: AsyncClient, first: CurveGroup, second: CurveGroup, styles: dict[str, LineStyle], palette: Palette
) -> Any:
    """Return a card with the difference of the two matrices, in the colours of the two groups."""
    ours, theirs = await asyncio.gather(migrations(client, first.run_ids), migrations(client, second.run_ids))
    names = shown_name(first.label), shown_name(second.label)
    data = migration_difference_data(names[0], ours, names[1], theirs)
    if data is None:
        return html.P(
            "Not comparable: one of the groups tracked no prompts, or the group sizes differ.",
            className="compare-remark",
        )
    figure = migration_difference_figure(data, styles[first.label], styles[second.label], palette)
    note = (
        f"Percentage points of the tracked prompts, {names[1]} less {names[0]}; base model against step "
        f"{data.second_step:,} and {data.first_step:,}; {formatting.count(data.num_prompts[1])} and "
        f"{formatting.count(data.num_prompts[0])} prompts over all runs."
    )
    return card("migration", f"Migration: {names[1]} less {names[0]}", note, figure, palette, wide=True)
