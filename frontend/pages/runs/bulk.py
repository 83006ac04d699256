"""Actions on the selected runs: a bar that appears with the first of them, and a question before what is final.

The browser sends the request and shows the outcome of each run (assets/runs_bulk.js).
"""

from __future__ import annotations

from typing import NamedTuple

import dash_mantine_components as dmc
from dash import html

from bapo.api.runs import NamedCount
from frontend.components.controls import menu_of, small_button
from frontend.components.elements import attributes
from frontend.components.icon import IconName, icon


class BulkButton(NamedTuple):
    """An action on the selected runs."""

    action: str
    label: str
    icon_name: IconName
    colour: str = "gray"


BUTTONS: tuple[BulkButton, ...] = (
    BulkButton("star", "Star", "star"),
    BulkButton("unstar", "Unstar", "star"),
    BulkButton("archive", "Archive", "archive"),
    BulkButton("unarchive", "Unarchive", "archive"),
    BulkButton("pause", "Pause", "pause"),
    BulkButton("resume", "Resume", "play"),
    BulkButton("stop", "Stop", "stop", "red"),
    BulkButton("delete", "Delete", "trash", "red"),
    BulkButton("restore", "Restore", "play"),
    BulkButton("purge", "Delete now", "trash", "red"),
)
"""Those that none of the selected runs allows are not shown."""


def bar(tags: list[NamedCount]) -> html.Div:
    """Return the bar, hidden while no run is selected."""
    buttons = [
        dmc.Button(
            each.label,
            id={"type": "runs-bulk", "action": each.action},
            leftSection=icon(each.icon_name, 14),
            color=each.colour,
            variant="light" if each.colour == "red" else "default",
            size="compact-sm",
            className="for-members",
        )
        for each in BUTTONS
    ]
    compare = dmc.Button("Compare", id="runs-compare", size="compact-sm", leftSection=icon("runs", 14))
    study = small_button("Study", "runs-study", "study", size="compact-sm", className="for-members")
    clear = dmc.Button("Clear", id="runs-unselect", size="compact-sm", variant="subtle", color="gray")
    return html.Div(
        [
            html.Span("", id="runs-chosen", className="runs-chosen", role="status"),
            dmc.Button("", id="runs-all", size="compact-sm", variant="subtle", style={"display": "none"}),
            compare,
            study,
            _tags(tags),
            *buttons,
            clear,
        ],
        id="runs-bulk",
        className="runs-bulk",
        role="toolbar",
        hidden=True,
        **attributes(aria_label="Actions on the selected runs"),
    )


def undo_bar() -> html.Div:
    """Return the bar above the list after runs went to the trash, until it is closed; the browser fills it."""
    return html.Div(id="runs-undo", className="runs-undo", role="status", hidden=True)


def _tags(tags: list[NamedCount]) -> dmc.Popover:
    field = dmc.Autocomplete(
        id="runs-tag",
        label="Tag",
        placeholder="New or existing tag",
        data=[each.name for each in tags],
        value="",
        limit=20,
        size="xs",
        comboboxProps={"withinPortal": False},
    )
    buttons = [
        dmc.Button("Add to all", id={"type": "runs-bulk", "action": "tag"}, size="compact-sm"),
        dmc.Button(
            "Remove from all", id={"type": "runs-bulk", "action": "untag"}, size="compact-sm", variant="default"
        ),
    ]
    return menu_of(
        "Tags",
        "tag",
        dmc.Stack([field, dmc.Group(buttons, gap="xs")], gap="xs"),
        look="compact for-members",
    )
