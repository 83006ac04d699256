"""One table for each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.resources import ResourceInfo, ResourceKind, ResourcePage
from bapo.figures import formatting
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import notice
from frontend.pages.resources.registering import KINDS

HEAD = ("Name", "What it is", "Path", "Runs", "Registered", "")


def sections(page: ResourcePage, *, shows_projects: bool = False) -> list[Any]:
    """Every kind that has something; where nothing is registered, what to do. Who has several projects sees which."""
    if not page.items:
        text = (
            "Give a data set, a base model or your own verifier a name, and every form and script can refer to it."
            if page.roots
            else "This deployment permits no folder yet: its administrator sets BAPO_RESOURCE_ROOTS to the folders "
            "that hold data and models."
        )
        return [notice("Nothing is registered yet", text, icon_name="data")]
    found = []
    for kind, words in KINDS.items():
        items = [info for info in page.items if info.kind == kind]
        if items:
            found += [html.H3(words.plural, className="section-title"), _table(items, shows_projects)]
    return found


def _table(items: Sequence[ResourceInfo], shows_projects: bool) -> html.Div:
    now = datetime.now(UTC)
    table = dmc.Table(
        [
            dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in HEAD])),
            dmc.TableTbody([_row(info, now, shows_projects) for info in items]),
        ],
        highlightOnHover=True,
        verticalSpacing="xs",
        className="queue-table resource-table",
    )
    return html.Div(dmc.ScrollArea(table, type="auto"), className="panel-card")


def _row(info: ResourceInfo, now: datetime, shows_projects: bool) -> dmc.TableTr:
    missing = dmc.Badge("file is gone", color="red", variant="light", size="sm") if not info.is_present else None
    show = html.Button(
        f"@{info.name}", id={"type": "resource-show", "id": info.id}, className="resource-name", title="Look inside"
    )
    remove = dmc.ActionIcon(
        icon("trash", 16),
        id={"type": "resource-remove", "id": info.id, "name": info.name},
        variant="subtle",
        color="red",
        size="sm",
        **attributes(aria_label=f"Take the name {info.name} away"),
    )
    return dmc.TableTr(
        [
            dmc.TableTd([show, html.Div(info.description, className="queue-detail resource-description")]),
            dmc.TableTd([summary(info), missing]),
            dmc.TableTd(
                html.Code(f"{info.path}{':' + info.function if info.function else ''}", className="resource-path")
            ),
            dmc.TableTd(f"{info.num_runs:,}", className="number"),
            dmc.TableTd(
                [
                    html.Div([info.author, f" in {info.project}" if shows_projects else ""]),
                    html.Div(moment(info.created_at, now=now), className="queue-detail nowrap"),
                ]
            ),
            dmc.TableTd(remove if info.may_remove else None),
        ]
    )


def summary(info: ResourceInfo) -> str:
    """What was found in it, in a few words."""
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
