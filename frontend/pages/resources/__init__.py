"""Data, models and verifiers that are registered under a name: what is in them, and which runs use them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html, no_update, set_props

from bapo.api.resources import ResourceCreate, ResourceKind
from frontend.components.actions import (
    FAILURES,
    failure_alert,
    on_failure,
    show,
    tell,
    when_pressed,
    when_submitted,
)
from frontend.components.card import new_button, page_heading
from frontend.components.choices import writable_projects
from frontend.components.dialogs import confirm_dialog, drawer, when_asked
from frontend.components.notices import error_text
from frontend.components.page import Page
from frontend.pages.resources.details import contents_panel, probes_panel, runs_panel
from frontend.pages.resources.register_dialog import KINDS, file_options, register_dialog
from frontend.pages.resources.tables import sections
from frontend.pages.resources.upload_callbacks import redraw, stores
from frontend.pages.resources.upload_panel import upload_drawer, waiting
from frontend.request.session import Api

PREVIEW_ROWS = 20
TEXT = (
    "Data sets, models and verifiers under a name: configs refer to them as @name. Upload your own, or register a file "
    "that the workers see."
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    client = api.client()
    page, me, uploads = await client.resources(), await client.me(), await client.uploads()
    actions = (
        dmc.Button("Register a path", id="resource-register", variant="default", className="for-members"),
        new_button("Upload", "resource-upload", className="for-members"),
    )
    return html.Div(
        [
            page_heading("Data and models", TEXT, *actions),
            *stores(),
            html.Div(waiting(uploads), id="uploads"),
            html.Div(sections(page, shows_projects=len(me.projects) > 1), id="resources"),
            register_dialog(page.roots, writable_projects(me)),
            upload_drawer(uploads, writable_projects(me)),
            drawer("resource", html.Div(id="resource-content"), size="xl", className="resource-drawer"),
            confirm_dialog("resource-remove"),
        ]
    )


PAGES = (Page("/data", layout, section="data--models"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: registering, opening, and unregistering."""
    _registering(app, api)
    _opening(app, api)

    @when_asked(
        app,
        "resource-remove",
        title="Unregister this name?",
        text="Configs can no longer refer to it. The runs that used it stay, and so does a file that was registered; "
        "uploaded content is deleted once no run refers to it.",
        button="Unregister",
        sign="@",
    )
    async def remove(resource_id: str) -> None:
        client = api.client()
        await client.remove_resource(resource_id)
        tell("Configs can no longer refer to it.", "Unregistered")
        await redraw(client)


def _registering(app: Dash, api: Api) -> None:
    @app.callback(
        Output("resource-dialog", "opened"),
        Output("resource-path", "data"),
        Output("resource-path", "description"),
        Output("resource-function", "style"),
        Input("resource-register", "n_clicks"),
        Input("resource-kind", "value"),
        prevent_initial_call=True,
    )
    async def choose(clicks: int | None, kind: ResourceKind) -> Any:
        is_opened = True if ctx.triggered_id == "resource-register" and clicks else no_update
        style = {} if kind == "verifier" else {"display": "none"}
        try:
            files = await api.client().resource_files(kind)
        except FAILURES as error:
            return is_opened, [], error_text(error), style
        return is_opened, file_options(files.items), KINDS[kind].path_hint, style

    fields = ("kind", "name", "path", "function", "description", "project")

    @when_submitted(
        app,
        "resource-submit",
        fields={field: f"resource-{field}" for field in ("name", "path", "function", "project")},
        problem="resource-problem",
        states=[State(f"resource-{field}", "value") for field in fields],
    )
    async def submit(
        kind: ResourceKind,
        name: str | None,
        path: str | None,
        function: str | None,
        description: str | None,
        project: str | None,
    ) -> None:
        body = ResourceCreate.model_construct(
            kind=kind,
            name=(name or "").strip(),
            path=(path or "").strip(),
            function=(function or "").strip() or None if kind == "verifier" else None,
            description=description or "",
            project=project,
        )
        client = api.client()
        # The server checks it: its words are the same here, over REST and in scripts.
        info = await client.register_resource(body)
        set_props("resource-dialog", {"opened": False})
        tell(f"Configs can refer to it as @{info.name}.", "Registered")
        await redraw(client)


def _opening(app: Dash, api: Api) -> None:
    def fill(title: str, content: Any) -> None:
        set_props("resource-drawer", {"opened": True, "title": title})
        show("resource-content", content)

    @when_pressed(
        app,
        {"type": "resource-show", "id": ALL},
        on_error=on_failure(lambda error: fill("", failure_alert(error))),
    )
    async def open_resource(pressed: Mapping[str, str]) -> None:
        client = api.client()
        page = await client.resources()
        info = next((each for each in page.items if each.id == pressed["id"]), None)
        if info is None:
            fill("Not found", dmc.Text("This name is no longer registered."))
            return
        uses, probes = await client.resource_runs(info.id), await client.data_probes(info.id)
        try:
            preview: Any = contents_panel(
                info, await client.resource_preview(info.id, limit=PREVIEW_ROWS), probes.items
            )
        except FAILURES as error:
            preview = [failure_alert(error, "yellow"), probes_panel(info, probes.items)]
        fill(f"@{info.name}", [html.Div(preview), runs_panel(info, uses.items)])
