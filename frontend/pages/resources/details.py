"""The contents of a resource, and the runs that use it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import dash_mantine_components as dmc
from dash import dcc, html

from bapo.api.resources import ResourceInfo, ResourcePreview, ResourceRun
from bapo.api.runs import RunStatus
from frontend.changes_query import changes_text
from frontend.components.card import section_title
from frontend.components.notices import link_button
from frontend.components.status_badge import status_badge
from frontend.components.table import row, table


def contents_panel(info: ResourceInfo, preview: ResourcePreview) -> html.Div:
    """Returns the first rows, the config's fields, or the source; always as text."""
    if preview.text is not None:
        content: Any = html.Pre(preview.text, className="resource-source", tabIndex=0)
        title = "Source"
    else:
        rows = [row(*(html.Code(_text(value), className="resource-value") for value in each)) for each in preview.rows]
        content = table(preview.columns, rows, "", verticalSpacing=4, striped="odd")
        total = f"{preview.num_rows:,}" if preview.num_rows is not None else "all"
        title = "Config" if info.kind == "model" else f"First {len(preview.rows):,} of {total} rows"
    return html.Div(
        [
            html.Code(info.path, className="resource-path"),
            html.Div(info.description, className="resource-description") if info.description else None,
            _use_it(info),
            section_title(title),
            content,
        ]
    )


def _use_it(info: ResourceInfo) -> html.Div:
    examples = ", ".join(f"{field} = @{info.name}" for field in info.fields)
    return html.Div(["In a config: ", html.Code(examples)], className="queue-detail")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def new_run_with(info: ResourceInfo) -> str:
    """Returns the address of the form of a new run that uses the resource."""
    fields = {"model": "model.path", "dataset": "task.train_file", "verifier": "task.verifier"}
    is_countdown = {"nums", "target"} <= set(info.details.get("columns", ()))
    task = {} if info.kind == "model" else {"task.type": "countdown" if is_countdown else "file"}
    return "/new?" + urlencode({"set": changes_text({**task, fields[info.kind]: f"@{info.name}"})}, safe="@:;/")


def runs_panel(info: ResourceInfo, uses: Sequence[ResourceRun]) -> html.Div:
    """Returns the runs with the field that names the resource, the newest first."""
    if not uses:
        content: Any = dmc.Group(
            [
                dmc.Text("No run uses it yet.", size="sm", c="dimmed"),
                link_button("New run", new_run_with(info), size="compact-sm"),
            ]
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
    return html.Div([section_title("Runs that use it"), content])
