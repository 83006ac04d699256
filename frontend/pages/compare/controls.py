"""The controls of a comparison: the choice of runs, grouping, axis, equal budgets and metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.runs import RunSummary
from bapo.client import AsyncClient
from frontend.components.choices import choices, select
from frontend.components.controls import segments
from frontend.components.elements import Link, attributes
from frontend.components.icon import icon
from frontend.components.markup import Later
from frontend.components.notices import link_button, notice
from frontend.components.symbols import SYMBOLS
from frontend.pages.compare.view import AXES, MOST_RUNS, SMOOTH_STRETCHES, View

MOST_FOUND = 30
MOST_UNFOLDED = 12
"""Pills; browsers take a third of a second to draw fifty."""


def run_picker(view: View, options: Sequence[dict[str, str]]) -> Any:
    """Return the selected runs as pills, folded up where they are many; typing searches all runs on the server."""
    picker = dmc.MultiSelect(
        id="compare-runs",
        value=list(view.runs),
        data=list(options),
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        clearSearchOnChange=True,
        maxValues=MOST_RUNS,
        # The server has searched already, also in notes, tags and configs.
        filter={"function": "compareFound"},
        placeholder="Add runs: name, tag, method.c1=0.25 …",
        nothingFoundMessage="No other run matches",
        leftSection=icon("search", 16),
        size="sm",
        className="compare-runs",
        **attributes(aria_label="Runs to compare"),
    )
    if len(view.runs) <= MOST_UNFOLDED:
        return picker
    counted_runs = html.Span(counted(len(view.runs), "run"), id="compare-count")
    return html.Details(
        [html.Summary([counted_runs, ": show, add or remove"]), Later(picker)], className="compare-choice"
    )


async def run_options(
    client: AsyncClient, chosen: Sequence[str], options: Sequence[dict[str, str]], search: str | None
) -> list[dict[str, str]]:
    """Return the selected runs and those that match; runs of the same name show their identifiers."""
    page = await client.runs(search=search or None, limit=MOST_FOUND)
    names = {option["value"]: option["label"] for option in options if option["value"] in chosen}
    found = {run.id: run.name for run in page.items if run.id not in names}
    times = Counter([*names.values(), *found.values()])
    labels = names | {run_id: name if times[name] == 1 else f"{name} ({run_id})" for run_id, name in found.items()}
    return [{"value": run_id, "label": label} for run_id, label in labels.items()]


def nothing_chosen(recent: Sequence[RunSummary]) -> Any:
    """Return instructions for selecting runs, and the groups of the newest ones."""
    by_group: dict[str, list[RunSummary]] = {}
    for run in recent:
        if run.group:
            by_group.setdefault(run.group, []).append(run)
    offers = [
        (f"{name} ({counted(len(members), 'run')})", members)
        for name, members in by_group.items()
        if 2 <= len(members) <= MOST_RUNS
    ][:4]
    if not offers and len(recent) >= 2:
        offers = [("The 2 newest runs", list(recent[:2]))]
    links = [
        link_button(
            label,
            f"/compare?runs={','.join(run.id for run in members)}",
            variant="light",
            size="xs",
            className="compare-offer",
        )
        for label, members in offers
    ]
    return notice(
        "Select two or more runs",
        html.Span(
            [
                "Search for them above, or select them in the ",
                Link("run list", href="/runs"),
                " and press Compare there. Runs that differ only in their seed form a group, with a mean and its "
                "95 % interval. The address of this page restores all choices.",
            ]
        ),
        icon_name="compare",
        action=dmc.Group(links, justify="center", gap="xs") if links else None,
    )


GROUPINGS = (
    ("config", "Config without the seed"),
    ("run", "Single runs"),
    ("method.type", "Method"),
    ("group", "Group name"),
    ("tags", "Tags"),
)


def group_options(view: View, differing: Sequence[str], fields: Sequence[str]) -> list[dict[str, Any]]:
    """Return the kinds of grouping, then the config fields in which the runs differ, then all others."""
    usual = {value for value, _ in GROUPINGS}
    parts = [("Usual groupings", choices(GROUPINGS))]
    parts.append(("Config fields that differ", [_field(name) for name in differing if name not in usual]))
    others = [name for name in fields if name not in differing and name not in usual]
    if view.group not in usual and view.group not in fields:
        others.append(view.group)
    parts.append(("Other config fields", [_field(name) for name in others]))
    return [{"group": title, "items": items} for title, items in parts if items]


def _field(name: str) -> dict[str, str]:
    symbol = SYMBOLS.get(name)
    return {"value": name, "label": f"{name} ({symbol.name.lower()})" if symbol else name}


def controls(view: View, metric_names: Sequence[str], metrics: Sequence[str]) -> html.Div:
    """Return the controls: grouping, axis, equal budgets and metrics."""
    return html.Div(
        [
            select(
                "compare-group",
                "Group by",
                view.group,
                group_options(view, (), ()),
                searchable=True,
                size="xs",
                w={"base": "100%", "xs": 230},
            ),
            html.Div(
                [
                    html.Span("x-axis", className="compare-label"),
                    segments("compare-x", "x-axis of the charts", view.x, choices(AXES.items())),
                ],
                className="compare-control",
            ),
            _switch(
                "compare-equal",
                "Equal budgets",
                view.equal,
                "Cut all runs off where the shortest of them ends on this axis: at equal steps, rollouts or training "
                "time. Evaluations are interpolated linearly there.",
            ),
            _switch(
                "compare-smooth",
                "Smooth",
                view.smooth,
                f"Averages each run over {SMOOTH_STRETCHES} equal stretches of the axis, before means and intervals "
                "over runs are taken. Evaluations with fewer values stay as they are.",
            ),
            dmc.MultiSelect(
                id="compare-metrics",
                label="Metrics",
                value=list(metrics),
                data=sorted({*metric_names, *metrics}),
                searchable=True,
                hidePickedOptions=True,
                maxValues=12,
                placeholder="Add a metric",
                size="xs",
                className="compare-metrics",
            ),
        ],
        className="compare-controls",
    )


def _switch(identifier: str, label: str, checked: bool, explanation: str) -> dmc.Tooltip:
    switch = dmc.Switch(id=identifier, checked=checked, label=label, size="sm", className="compare-switch")
    return dmc.Tooltip(switch, label=explanation)
