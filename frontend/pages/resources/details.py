"""What is in a resource, and the runs that use it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import dcc, html

from bapo.api.resources import ResourceInfo, ResourcePreview, ResourceRun
from bapo.api.runs import RunStatus
from frontend.components.notices import link_button
from frontend.components.status_badge import status_badge


def contents_panel(info: ResourceInfo, preview: ResourcePreview) -> html.Div:
    """The first rows, the config's fields, or the source; always as text."""
    if preview.text is not None:
        content: Any = html.Pre(preview.text, className="resource-source", tabIndex=0)
        title = "Source"
    else:
        head = dmc.TableTr([dmc.TableTh(column) for column in preview.columns])
        rows = [
            dmc.TableTr([dmc.TableTd(html.Code(_text(value), className="resource-value")) for value in row])
            for row in preview.rows
        ]
        table = dmc.Table([dmc.TableThead(head), dmc.TableTbody(rows)], verticalSpacing=4, striped="odd")
        content = dmc.ScrollArea(table, type="auto")
        total = f"{preview.num_rows:,}" if preview.num_rows is not None else "all"
        title = "Config" if info.kind == "model" else f"The first {len(preview.rows):,} of {total} rows"
    return html.Div(
        [
            html.Code(info.path, className="resource-path"),
            html.Div(info.description, className="resource-description") if info.description else None,
            _use_it(info),
            html.H3(title, className="section-title"),
            content,
        ]
    )


def _use_it(info: ResourceInfo) -> html.Div:
    examples = ", ".join(f"{field} = @{info.name}" for field in info.fields)
    return html.Div(["In a config: ", html.Code(examples)], className="queue-detail")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def runs_panel(uses: Sequence[ResourceRun]) -> html.Div:
    """Runs with the field that names the resource, newest first."""
    if not uses:
        content: Any = dmc.Group(
            [dmc.Text("No run uses it yet.", size="sm", c="dimmed"), link_button("New run", "/new", size="compact-sm")]
        )
    else:
        content = html.Div(
            [
                html.Div(
                    [
                        dcc.Link(use.name, href=f"/runs/{use.id}", className="queue-name", title=use.name),
                        status_badge(RunStatus(use.status), size="sm"),
                        html.Code(use.field, className="queue-detail"),
                    ],
                    className="slot-head",
                )
                for use in uses
            ],
            className="slots",
        )
    return html.Div([html.H3("Runs that use it", className="section-title"), content])
