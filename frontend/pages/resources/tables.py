"""The registered resources, in one table for each kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.resources import ResourceInfo, ResourceKind, ResourcePage
from bapo.figures import formatting
from frontend.components.card import section_title
from frontend.components.controls import icon_button
from frontend.components.notices import link_button, notice
from frontend.components.table import cell, row, table_card
from frontend.components.text import moment
from frontend.pages.resources.details import LEADS, new_run_with
from frontend.pages.resources.register_dialog import KINDS

HEAD = ("Name", "Contents", "From", "Runs", "Registered", "", "")


def sections(page: ResourcePage, *, shows_projects: bool = False) -> list[Any]:
    """Return a table for each kind that has something; those who have several projects see which."""
    if not page.items:
        text = (
            "Upload a data set or a base model of your own, and every form and script can refer to it by its name: "
            "duplicates, overlap with test sets and the verifier are checked first."
        )
        return [notice("Nothing is registered yet", text, icon_name="data")]
    now, found = datetime.now(UTC), []
    for kind, words in KINDS.items():
        rows = [_row(info, now, shows_projects) for info in page.items if info.kind == kind]
        if rows:
            look = "queue-table resource-table"
            found += [section_title(words.plural), table_card(HEAD, rows, f"{look} row-hover")]
    return found


def _row(info: ResourceInfo, now: datetime, shows_projects: bool) -> html.Tr:
    missing = dmc.Badge("file missing", color="red", variant="light", size="sm") if not info.is_present else None
    opener = html.Button(
        f"@{info.name}", id={"type": "resource-show", "id": info.id}, className="resource-name", title="Show contents"
    )
    identifier = {"type": "resource-remove", "id": info.id, "name": info.name}
    remove = icon_button("trash", f"Unregister {info.name}", id=identifier)
    registered = [
        html.Div([info.author, f" in {info.project}" if shows_projects else ""]),
        html.Div(moment(info.created_at, now=now), className="queue-detail nowrap"),
    ]
    return row(
        [opener, html.Div(info.description, className="queue-detail resource-description")],
        [summary(info), missing],
        _place(info),
        cell(f"{info.num_runs:,}", "number"),
        registered,
        link_button(LEADS[info.kind], new_run_with(info), size="compact-xs", variant="light"),
        remove if info.may_remove else None,
    )


def _place(info: ResourceInfo) -> Any:
    """Return the resource's path, or an upload's version."""
    if not info.versions:
        return html.Code(f"{info.path}{':' + info.function if info.function else ''}", className="resource-path")
    newest = info.versions[0]
    licence = f" · {newest.licence}" if newest.licence else ""
    return html.Div(
        [f"version {newest.number}{licence}", html.Div(f"uploaded as {newest.file_name}", className="queue-detail")],
        className="wrap-anywhere",
    )


def summary(info: ResourceInfo) -> str:
    """Return a short description of its content."""
    details, kind = info.details, info.kind
    size = formatting.size(details.get("num_bytes"))
    return _SUMMARIES[kind](details, size)


def _dataset(details: dict[str, Any], size: str) -> str:
    return f"{details.get('num_rows', 0):,} rows · {', '.join(map(str, details.get('columns', ())))} · {size}"


def _model(details: dict[str, Any], size: str) -> str:
    parameters = details.get("num_parameters")
    counted = f"{formatting.count(parameters)} parameters · " if parameters else ""
    return f"{details.get('model_type', 'unknown')} · {counted}{size}"


def _verifier(details: dict[str, Any], size: str) -> str:
    return f"{details.get('signature', '')} · {size}"


_SUMMARIES: dict[ResourceKind, Callable[[dict[str, Any], str], str]] = {
    "dataset": _dataset,
    "model": _model,
    "verifier": _verifier,
}
