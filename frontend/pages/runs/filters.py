"""The filters of the run list: a search, quick choices of states, and a panel with the others.

The browser keeps the choice in the address and fetches the rows (assets/runs_filters.js).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.runs import TERMINAL_STATUSES, NamedCount, RunFacets, RunStatus
from bapo.api.views import RunListLayouts
from bapo.config.method import method_name
from frontend.components import controls
from frontend.components.choices import choices, select
from frontend.components.elements import Store, attributes
from frontend.components.markup import Later
from frontend.pages.runs.columns import NEEDED_WIDTHS, SORTABLE, TITLES

PRESETS: dict[str, tuple[RunStatus, ...]] = {
    "all": (),
    "active": tuple(status for status in RunStatus if status not in (*TERMINAL_STATUSES, RunStatus.DRAFT)),
    "finished": (RunStatus.SUCCEEDED, RunStatus.CANCELLED),
    "failed": (RunStatus.FAILED, RunStatus.LOST),
}
"""States behind each quick choice."""

CONTROLS: dict[str, str] = {
    "status": "runs-filter-status",
    "method": "runs-filter-method",
    "tag": "runs-filter-tag",
    "owner": "runs-filter-owner",
    "group": "runs-filter-group",
    "project": "runs-filter-project",
    "starred": "runs-filter-starred",
    "archived": "runs-filter-archived",
    "created_after": "runs-filter-created-after",
    "created_before": "runs-filter-created-before",
    "min_step": "runs-filter-min-step",
    "max_step": "runs-filter-max-step",
    "min_best": "runs-filter-min-best",
    "max_best": "runs-filter-max-best",
    "trash": "runs-filter-trash",
}
"""Component of each filter; `starred` is `checked`, all others have a `value`.

The search is none of them: the browser hears each letter by itself.
"""


OPERATORS: tuple[tuple[str, str], ...] = (
    ("=", "is one of"),
    ("!=", "is none of"),
    ("~", "contains"),
    (">=", "at least"),
    ("<=", "at most"),
    (">", "more than"),
    ("<", "less than"),
    ("is missing", "is missing"),
    ("is present", "is present"),
)
"""Operators of a condition on any column: in the API's notation, and as text."""


def store(layouts: RunListLayouts, facets: RunFacets) -> Store:
    """Return the store of what the browser needs to know of controls and columns."""
    data = {
        "controls": CONTROLS,
        "presets": {name: [status.value for status in states] for name, states in PRESETS.items()},
        "widths": NEEDED_WIDTHS,
        "titles": TITLES,
        "sortable": [*SORTABLE, "study"],
        "trash_days": facets.trash_days,
        "layouts": layouts.model_dump(mode="json"),
    }
    return Store(id="runs-controls", data=data)


def search_field() -> dmc.TextInput:
    """Return the search over names, tags, notes, owners and config values."""
    label = "Search runs by name, tag, note, owner or config value"
    placeholder = "Search name, tags, notes, config"
    return controls.search_field("runs-search", label, "", placeholder, className="runs-search", debounce=100)


def presets() -> dmc.SegmentedControl:
    """Return the quick choice of states."""
    names = choices((value, value.capitalize()) for value in PRESETS)
    return controls.segments("runs-status", "State of the runs", "all", names)


def panel(facets: RunFacets) -> dmc.Popover:
    """Return all filters; the button says how many are set."""
    states = [{"value": status.value, "label": status.value} for status in RunStatus]
    fields = [
        # First, because it takes the focus, and a choice would open its list.
        dmc.Switch(id=CONTROLS["starred"], label="Only my starred runs", checked=False, size="xs"),
        _choices("status", "State", states, "Any of"),
        _choices("method", "Method", options(facets.methods, method_name), "Any of"),
        _choices("tag", "Tags", options(facets.tags), "All of"),
        _choices("group", "Group", options(facets.groups), "Any of"),
        _choices("owner", "Owner", options(facets.owners), "Any of"),
        _choices("project", "Project", options(facets.projects), "Any of"),
        select(
            CONTROLS["archived"],
            "Archived runs",
            "hidden",
            choices((("hidden", "hidden"), ("shown", "included"), ("only", "only these"))),
            size="xs",
            comboboxProps={"withinPortal": False},
        ),
        select(
            CONTROLS["trash"],
            "Trash",
            "hidden",
            choices((("hidden", "hidden"), ("only", "only runs in the trash"))),
            size="xs",
            comboboxProps={"withinPortal": False},
        ),
        _pair("Created", _date("created_after", "from"), _date("created_before", "before")),
        _pair("Completed steps", _number("min_step", "at least", {}), _number("max_step", "at most", {})),
        _pair(
            "Best test accuracy, %",
            _number("min_best", "at least", {"max": 100, "decimalScale": 2}),
            _number("max_best", "at most", {"max": 100, "decimalScale": 2}),
        ),
        _any_column(),
    ]
    clear = dmc.Button("Clear all filters", id="runs-clear", size="xs", variant="subtle", color="gray")
    label = ["Filters", html.Span("", id="runs-filter-count", className="runs-count")]
    # A field that is there when the panel opens takes the focus.
    first, *others = fields
    more = Later(html.Div([*others, clear], className="runs-filter-more"))
    content = html.Div([first, more], className="runs-filter-panel")
    return controls.menu_of(label, "sliders", content, id="runs-filters", width=320, keepMounted=True)


def _any_column() -> html.Div:
    """Return the fields of a condition on any column; added conditions are shown above the list and removed there."""
    column = dmc.Select(
        id="runs-where-column",
        data=[],
        placeholder="Column, config field or metric",
        searchable=True,
        limit=100,
        nothingFoundMessage="None",
        size="xs",
        comboboxProps={"withinPortal": False},
        **attributes(aria_label="Column of the condition"),
    )
    inside: dict[str, Any] = {"comboboxProps": {"withinPortal": False}}
    operators = choices(OPERATORS)
    operator = controls.small_select("runs-where-operator", "How the column is compared", "=", operators, **inside)
    value = dmc.TextInput(
        id="runs-where-value",
        value="",
        placeholder="0.25, or values between commas",
        size="xs",
        **attributes(aria_label="Value of the condition"),
    )
    add = dmc.Button("Add condition", id="runs-where-add", size="compact-xs", variant="default")
    label = html.Div("Any column", className="runs-pair-label")
    return html.Div(
        [label, column, html.Div([operator, value], className="runs-pair"), add],
        role="group",
        className="runs-where",
        **attributes(aria_label="Condition on any column"),
    )


def options(counts: Sequence[NamedCount], shown: Callable[[str], str] = str) -> list[dict[str, str]]:
    """Return choices with their numbers of runs; `shown` names a value where people call it otherwise."""
    return [{"value": each.name, "label": f"{shown(each.name)} ({each.count:,})"} for each in counts]


def _choices(name: str, label: str, data: list[dict[str, str]], placeholder: str) -> dmc.MultiSelect:
    return dmc.MultiSelect(
        id=CONTROLS[name],
        label=label,
        data=data,
        value=[],
        placeholder=placeholder,
        searchable=True,
        clearable=True,
        hidePickedOptions=True,
        limit=50,
        nothingFoundMessage="None",
        size="xs",
        comboboxProps={"withinPortal": False},
    )


def _number(name: str, placeholder: str, limits: dict[str, Any]) -> dmc.NumberInput:
    return dmc.NumberInput(
        id=CONTROLS[name],
        value="",
        min=0,
        placeholder=placeholder,
        hideControls=True,
        size="xs",
        debounce=200,
        **limits,
        **attributes(aria_label=f"{name.replace('_', ' ')}, {placeholder}"),
    )


def _date(name: str, placeholder: str) -> dmc.DateInput:
    return dmc.DateInput(
        id=CONTROLS[name],
        value=None,
        placeholder=placeholder,
        clearable=True,
        valueFormat="YYYY-MM-DD",
        size="xs",
        popoverProps={"withinPortal": False},
        **attributes(aria_label=f"Created {placeholder}"),
    )


def _pair(label: str, first: Any, second: Any) -> html.Div:
    return html.Div(
        [html.Div(label, className="runs-pair-label"), html.Div([first, second], className="runs-pair")],
        role="group",
        **attributes(aria_label=label),
    )
