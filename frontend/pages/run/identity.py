"""What people wrote about a run, on its page: name, tags, notes in Markdown, and whether it is starred or archived."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import dash_mantine_components as dmc
import httpx
from dash import Dash, Input, Output, State, dcc, html, no_update

from bapo.api.runs import RunDetail, RunUpdate
from bapo.client import ApiError
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.markdown import markdown
from frontend.components.notices import error_text, toast
from frontend.session import Api


def star_button(is_starred: bool) -> html.Button:
    """Everybody has stars of their own."""
    return html.Button(
        icon("star-filled" if is_starred else "star", 20),
        id="run-star",
        className=star_class(is_starred),
        title="Take the star away" if is_starred else "Star this run",
        **attributes(aria_label="Star", aria_pressed="true" if is_starred else "false"),
    )


def star_class(is_starred: bool) -> str:
    """Filled where the run is starred."""
    return "run-star starred" if is_starred else "run-star"


def edit_button(run: RunDetail) -> dmc.Button:
    """Not shown to who may not edit."""
    return dmc.Button(
        "Edit",
        id="run-edit",
        leftSection=icon("notes", 16),
        variant="default",
        color="gray",
        size="xs",
        style={} if run.may_edit else {"display": "none"},
    )


def archive_button(run: RunDetail) -> dmc.Button:
    """Not shown where the run's state does not allow it."""
    return dmc.Button(
        archive_label(run),
        id="run-archive",
        leftSection=icon("archive", 16),
        variant="default",
        color="gray",
        size="xs",
        style=archive_style(run),
    )


def archive_label(run: RunDetail) -> str:
    """What the button would do."""
    return "Archive" if run.archived_at is None else "Unarchive"


def archive_style(run: RunDetail) -> dict[str, Any]:
    """Hidden unless allowed."""
    return {} if run.may_archive else {"display": "none"}


def written(run: RunDetail) -> list[Any]:
    """Tags, which lead to the runs that share them, and notes; nothing where there are none."""
    parts: list[Any] = []
    if run.archived_at is not None:
        parts.append(html.Span([icon("archive", 14), " Archived: lists leave it out"], className="run-archived"))
    if run.tags:
        tags = [dcc.Link(tag, href=f"/runs?tag={quote(quote(tag, safe=''))}", className="run-tag") for tag in run.tags]
        parts.append(html.Div(tags, className="run-tags", **attributes(aria_label="Tags")))
    if run.notes.strip():
        parts.append(html.Div(markdown(run.notes), className="run-notes", **attributes(aria_label="Notes")))
    return parts


def dialog() -> dmc.Modal:
    """Closed and empty until somebody edits."""
    editor = dmc.Tabs(
        [
            dmc.TabsList([dmc.TabsTab("Write", value="write"), dmc.TabsTab("Preview", value="preview")]),
            dmc.TabsPanel(
                dmc.Textarea(
                    id="edit-notes",
                    value="",
                    autosize=True,
                    minRows=8,
                    maxRows=20,
                    placeholder="What was tried, and what came of it. Markdown: **bold**, - lists, [links](https://…)",
                    debounce=150,
                    **attributes(aria_label="Notes in Markdown"),
                ),
                value="write",
                pt="xs",
            ),
            dmc.TabsPanel(html.Div(id="edit-preview", className="edit-preview"), value="preview", pt="xs"),
        ],
        value="write",
        id="edit-tabs",
    )
    return dmc.Modal(
        dmc.Stack(
            [
                dmc.TextInput(id="edit-name", label="Name", value="", size="sm"),
                dmc.TagsInput(
                    id="edit-tags",
                    label="Tags",
                    placeholder="a new one, or one that other runs have",
                    value=[],
                    data=[],
                    limit=20,
                    clearable=True,
                    size="sm",
                ),
                html.Div([html.Div("Notes", className="edit-label"), editor]),
                html.Div(id="edit-problem", className="form-problems", role="alert"),
                dmc.Group(
                    [
                        dmc.Button("Cancel", id="edit-cancel", variant="default", color="gray"),
                        dmc.Button("Save", id="edit-save"),
                    ],
                    justify="flex-end",
                ),
            ]
        ),
        id="edit-dialog",
        title="Name, tags and notes",
        size="lg",
        opened=False,
    )


def register(app: Dash, api: Api) -> None:
    """Stars, archive and the dialog."""
    _register_buttons(app, api)
    _register_dialog(app, api)

    @app.callback(
        Output("run-written", "children"),
        Output("run-name", "children"),
        Output("run-archive", "children"),
        Output("run-archive", "style"),
        Input("run-reload", "data"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def follow(_: int, run_id: str) -> Any:
        try:
            run = await api.client().run(run_id)
        except (ApiError, httpx.TransportError):
            # The charts, which are fetched at the same time, say so.
            return no_update, no_update, no_update, no_update
        return written(run), run.name, archive_label(run), archive_style(run)


def _register_buttons(app: Dash, api: Api) -> None:
    @app.callback(
        Output("run-star", "children"),
        Output("run-star", "className"),
        Output("run-star", "aria-pressed"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("run-star", "n_clicks"),
        State("run-id", "data"),
        State("run-star", "className"),
        prevent_initial_call=True,
    )
    async def star(clicks: int | None, run_id: str, shown: str) -> Any:
        is_starred = shown != star_class(True)
        if not clicks:
            return no_update, no_update, no_update, no_update
        client = api.client()
        try:
            await (client.star(run_id) if is_starred else client.unstar(run_id))
        except (ApiError, httpx.TransportError) as error:
            return no_update, no_update, no_update, toast(error_text(error), title="The star did not change")
        pressed = "true" if is_starred else "false"
        return icon("star-filled" if is_starred else "star", 20), star_class(is_starred), pressed, no_update

    @app.callback(
        Output("run-reload", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("run-archive", "n_clicks"),
        State("run-archive", "children"),
        State("run-id", "data"),
        State("run-reload", "data"),
        prevent_initial_call=True,
    )
    async def archive(clicks: int | None, label: str, run_id: str, reloads: int) -> Any:
        if not clicks:
            return no_update, no_update
        try:
            await api.client().update_run(run_id, RunUpdate(archived=label == "Archive"))
        except (ApiError, httpx.TransportError) as error:
            return no_update, toast(error_text(error), title="This was refused")
        return reloads + 1, no_update


def _register_dialog(app: Dash, api: Api) -> None:
    @app.callback(
        Output("edit-dialog", "opened"),
        Output("edit-name", "value"),
        Output("edit-tags", "value"),
        Output("edit-tags", "data"),
        Output("edit-notes", "value"),
        Output("edit-tabs", "value"),
        Output("edit-problem", "children"),
        Input("run-edit", "n_clicks"),
        State("run-id", "data"),
        prevent_initial_call=True,
    )
    async def begin(clicks: int | None, run_id: str) -> Any:
        if not clicks:
            return (no_update,) * 7
        client = api.client()
        try:
            run, facets = await client.run(run_id), await client.run_facets()
        except (ApiError, httpx.TransportError) as error:
            return True, "", [], [], "", "write", error_text(error)
        return True, run.name, list(run.tags), [each.name for each in facets.tags], run.notes, "write", ""

    @app.callback(Output("edit-preview", "children"), Input("edit-notes", "value"), prevent_initial_call=True)
    async def preview(notes: str | None) -> Any:
        return markdown(notes) if notes else dmc.Text("Nothing written yet.", size="sm", c="dimmed")

    @app.callback(
        Output("edit-dialog", "opened", allow_duplicate=True),
        Output("edit-problem", "children", allow_duplicate=True),
        Output("run-reload", "data", allow_duplicate=True),
        Input("edit-save", "n_clicks"),
        State("edit-name", "value"),
        State("edit-tags", "value"),
        State("edit-notes", "value"),
        State("run-id", "data"),
        State("run-reload", "data"),
        prevent_initial_call=True,
    )
    async def save(
        clicks: int | None, name: str | None, tags: list[str] | None, notes: str | None, run_id: str, reloads: int
    ) -> Any:
        if not clicks:
            return no_update, no_update, no_update
        changes = RunUpdate.model_construct(name=name or "", tags=tags or [], notes=notes or "")
        try:
            # What is wrong with it, the server says: what was typed stays in the dialog.
            await api.client().update_run(run_id, changes)
        except (ApiError, httpx.TransportError) as error:
            return no_update, error_text(error), no_update
        return False, "", reloads + 1

    @app.callback(
        Output("edit-dialog", "opened", allow_duplicate=True),
        Input("edit-cancel", "n_clicks"),
        prevent_initial_call=True,
    )
    async def cancel(_: Any) -> bool:
        return False
