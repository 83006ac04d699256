"""The controls of a comparison, next to the choice of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from frontend.components.choices import choices, select
from frontend.components.controls import segments
from frontend.components.symbols import SYMBOLS
from frontend.pages.compare.view import AXES, SMOOTH_STRETCHES, View

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
