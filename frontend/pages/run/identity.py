"""Name, tags, notes, star and archive of a run, on its page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html, set_props
from dash.exceptions import PreventUpdate

from bapo.api.runs import RunDetail, RunUpdate
from frontend.components.actions import in_place, in_toast, unchanged, when_pressed, when_submitted
from frontend.components.controls import small_button
from frontend.components.elements import Link, attributes
from frontend.components.icon import icon
from frontend.components.markdown import markdown
from frontend.request.session import Api


def star_button(is_starred: bool) -> html.Button:
    """Return the star; every user has their own."""
    return html.Button(
        icon("star-filled" if is_starred else "star", 20),
        id="run-star",
        className=star_class(is_starred),
        title="Unstar this run" if is_starred else "Star this run",
        **attributes(aria_label="Star", aria_pressed="true" if is_starred else "false"),
    )


def star_class(is_starred: bool) -> str:
    """Return the class of the star."""
    return "run-star starred" if is_starred else "run-star"


def edit_button(run: RunDetail) -> dmc.Button:
    """Return the button that opens the dialog, hidden from those who may not edit."""
    return small_button("Edit", "run-edit", "notes", size="xs", style={} if run.may_edit else {"display": "none"})


def archive_button(run: RunDetail) -> dmc.Button:
    """Return the button, hidden if the run's state does not allow it."""
    return small_button(archive_label(run), "run-archive", "archive", size="xs", style=archive_style(run))


def archive_label(run: RunDetail) -> str:
    """Return what the button would do."""
    return "Archive" if run.archived_at is None else "Unarchive"


def archive_style(run: RunDetail) -> dict[str, Any]:
    """Return a style that hides the button unless it is allowed."""
    return {} if run.may_archive else {"display": "none"}


def written(run: RunDetail) -> list[Any]:
    """Return the tags, which lead to the runs that share them, and the notes."""
    parts: list[Any] = []
    if run.archived_at is not None:
        parts.append(html.Span([icon("archive", 14), " Archived: hidden from lists"], className="run-archived"))
    if run.tags:
        tags = [Link(tag, href=f"/runs?tag={quote(quote(tag, safe=''))}", className="run-tag") for tag in run.tags]
        parts.append(html.Div(tags, className="run-tags", **attributes(aria_label="Tags")))
    if run.notes.strip():
        parts.append(html.Div(markdown(run.notes), className="run-notes", **attributes(aria_label="Notes")))
    return parts


def dialog() -> dmc.Modal:
    """Return the dialog, closed and empty."""
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
                    placeholder="What was tried, and what was found. Markdown: **bold**, - lists, [links](https://…)",
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
                    placeholder="New or existing tag",
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
    """Register the callbacks: stars, archive and the dialog."""
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
        on_error=unchanged,
    )
    async def follow(_: int, run_id: str) -> Any:
        run = await api.client().run(run_id)
        return written(run), run.name, archive_label(run), archive_style(run)


def _register_buttons(app: Dash, api: Api) -> None:
    @when_pressed(
        app,
        "run-star",
        outputs=[Output("run-star", part) for part in ("children", "className", "aria-pressed")],
        states=[State("run-id", "data"), State("run-star", "className")],
        on_error=in_toast("Star not changed"),
    )
    async def star(_: str, run_id: str, shown: str) -> Any:
        is_starred, client = shown != star_class(True), api.client()
        await (client.star(run_id) if is_starred else client.unstar(run_id))
        sign = icon("star-filled" if is_starred else "star", 20)
        return sign, star_class(is_starred), "true" if is_starred else "false"

    @when_pressed(
        app,
        "run-archive",
        outputs=[Output("run-reload", "data", allow_duplicate=True)],
        states=[State("run-archive", "children"), State("run-id", "data"), State("run-reload", "data")],
    )
    async def archive(_: str, label: str, run_id: str, reloads: int) -> int:
        await api.client().update_run(run_id, RunUpdate(archived=label == "Archive"))
        return reloads + 1


def _register_dialog(app: Dash, api: Api) -> None:
    def not_loaded(error: Exception) -> None:
        set_props("edit-dialog", {"opened": True})
        in_place("edit-problem", "red")(error)

    @when_pressed(
        app,
        "run-edit",
        outputs=[
            Output("edit-dialog", "opened"),
            Output("edit-name", "value"),
            Output("edit-tags", "value"),
            Output("edit-tags", "data"),
            Output("edit-notes", "value"),
            Output("edit-tabs", "value"),
            Output("edit-problem", "children"),
        ],
        states=[State("run-id", "data")],
        on_error=not_loaded,
    )
    async def begin(_: str, run_id: str) -> Any:
        client = api.client()
        run, facets = await client.run(run_id), await client.run_facets()
        return True, run.name, list(run.tags), [each.name for each in facets.tags], run.notes, "write", ""

    @app.callback(
        Output("edit-preview", "children"),
        Input("edit-tabs", "value"),
        State("edit-notes", "value"),
        prevent_initial_call=True,
    )
    async def preview(tab: str, notes: str | None) -> Any:
        if tab != "preview":
            raise PreventUpdate
        return markdown(notes) if notes else dmc.Text("Nothing written yet.", size="sm", c="dimmed")

    values = [State(f"edit-{part}", "value") for part in ("name", "tags", "notes")]

    @when_submitted(
        app,
        "edit-save",
        fields={"name": "edit-name", "tags": "edit-tags"},
        problem="edit-problem",
        states=[*values, State("run-id", "data"), State("run-reload", "data")],
        outputs=[
            Output("edit-dialog", "opened", allow_duplicate=True),
            Output("run-reload", "data", allow_duplicate=True),
        ],
    )
    async def save(name: str | None, tags: list[str] | None, notes: str | None, run_id: str, reloads: int) -> Any:
        # The server says what is wrong with it; what was typed stays in the dialog.
        changes = RunUpdate.model_construct(name=name or "", tags=tags or [], notes=notes or "")
        await api.client().update_run(run_id, changes)
        return False, reloads + 1

    @when_pressed(app, "edit-cancel", outputs=[Output("edit-dialog", "opened", allow_duplicate=True)])
    async def cancel(_: str) -> bool:
        return False
