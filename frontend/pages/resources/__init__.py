"""Data and models: what is registered under a name, what is in it, and which runs use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.resources import ResourceCreate, ResourceKind
from bapo.client import ApiError
from frontend.components.confirm import DONE, Question, answer, busy, confirm_dialog, confirmed, failed, question
from frontend.components.icon import icon
from frontend.components.notices import error_text, toast
from frontend.pages.resources.details import contents_panel, runs_panel
from frontend.pages.resources.registering import KINDS, file_options, register_dialog
from frontend.pages.resources.tables import sections
from frontend.projects import writable_projects
from frontend.session import Api

PREVIEW_ROWS = 20


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """All that is registered, by kind."""
    client = api.client()
    page = await client.resources()
    me = await client.me()
    return html.Div(
        [
            dcc.Store(id="resource-open"),
            dcc.Store(id="resources-changed", data=0),
            dmc.Group(
                [
                    dmc.Title("Data and models", order=2),
                    dmc.Button("Register", id="resource-register", leftSection=icon("plus", 16)),
                ],
                justify="space-between",
                mb="xs",
            ),
            dmc.Text(
                "Files and folders under a name: a config refers to them as @name. They stay where they are; workers "
                "read them under the same path.",
                size="sm",
                c="dimmed",
                mb="md",
            ),
            html.Div(sections(page, shows_projects=len(me.projects) > 1), id="resources"),
            register_dialog(page.roots, writable_projects(me)),
            dmc.Drawer(
                html.Div(id="resource-content"),
                id="resource-drawer",
                position="right",
                size="xl",
                title="",
                className="resource-drawer",
            ),
            confirm_dialog("resource-remove"),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Registering, looking in, and taking names away."""
    _lists(app, api)
    _registering(app, api)
    _looking_in(app, api)
    _removing(app, api)


def _lists(app: Dash, api: Api) -> None:
    @app.callback(Output("resources", "children"), Input("resources-changed", "data"), prevent_initial_call=True)
    async def refresh(_: int) -> Any:
        try:
            client = api.client()
            return sections(await client.resources(), shows_projects=len((await client.me()).projects) > 1)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="red", variant="light")


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
        hidden = {} if kind == "verifier" else {"display": "none"}
        try:
            files = await api.client().resource_files(kind)
        except (ApiError, httpx.TransportError) as error:
            return is_opened, [], error_text(error), hidden
        return is_opened, file_options(files.items), KINDS[kind].path_hint, hidden

    @app.callback(
        Output("resource-dialog", "opened", allow_duplicate=True),
        Output("resource-name", "error"),
        Output("resource-path", "error"),
        Output("resource-function", "error"),
        Output("resource-project", "error"),
        Output("resource-problem", "children"),
        Output("resources-changed", "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("resource-submit", "n_clicks"),
        State("resource-kind", "value"),
        State("resource-name", "value"),
        State("resource-path", "value"),
        State("resource-function", "value"),
        State("resource-description", "value"),
        State("resource-project", "value"),
        State("resources-changed", "data"),
        prevent_initial_call=True,
    )
    async def submit(
        clicks: int | None,
        kind: ResourceKind,
        name: str | None,
        path: str | None,
        function: str | None,
        description: str | None,
        project: str | None,
        changed: int,
    ) -> Any:
        if not clicks:
            return (no_update,) * 8
        body = ResourceCreate.model_construct(
            kind=kind,
            name=(name or "").strip(),
            path=(path or "").strip(),
            function=(function or "").strip() or None if kind == "verifier" else None,
            description=description or "",
            project=project,
        )
        try:
            # The server checks it: its words are the same here, over REST and in scripts.
            info = await api.client().register_resource(body)
        except ApiError as error:
            found = {problem.field: problem.remedy for problem in error.body.problems}
            found |= {error.body.field: error.body.remedy} if error.body.field else {}
            known = [found.pop(field, "") for field in ("name", "path", "function", "project")]
            rest = dmc.Alert(error_text(error), color="red", variant="light") if not any(known) else ""
            return no_update, *known, rest, no_update, no_update
        except httpx.TransportError as error:
            alert = dmc.Alert(error_text(error), color="red", variant="light")
            return no_update, "", "", "", "", alert, no_update, no_update
        told = toast(f"Configs can refer to it as @{info.name}.", title="Registered", colour="green")
        return False, "", "", "", "", "", changed + 1, told


def _looking_in(app: Dash, api: Api) -> None:
    @app.callback(
        Output("resource-drawer", "opened"),
        Output("resource-drawer", "title"),
        Output("resource-content", "children"),
        Input({"type": "resource-show", "id": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    async def show(_: Any) -> Any:
        if not any(each["value"] for each in ctx.triggered):
            return no_update, no_update, no_update
        trigger: Any = ctx.triggered_id
        client = api.client()
        try:
            page = await client.resources()
            info = next((each for each in page.items if each.id == trigger["id"]), None)
            if info is None:
                return True, "Gone", dmc.Text("Somebody took this name away.")
            uses = await client.resource_runs(info.id)
        except (ApiError, httpx.TransportError) as error:
            return True, "", dmc.Alert(error_text(error), color="red", variant="light")
        try:
            preview: Any = contents_panel(info, await client.resource_preview(info.id, limit=PREVIEW_ROWS))
        except (ApiError, httpx.TransportError) as error:
            preview = dmc.Alert(error_text(error), color="yellow", variant="light")
        return True, f"@{info.name}", [preview, runs_panel(uses.items)]


def _removing(app: Dash, api: Api) -> None:
    @app.callback(
        Output(question("resource-remove"), "data"),
        Input({"type": "resource-remove", "id": ALL, "name": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def ask(_: Any) -> Any:
        trigger: Any = ctx.triggered_id
        if not any(each["value"] for each in ctx.triggered):
            return no_update
        return Question(
            title="Take this name away?",
            subject=f"@{trigger['name']}",
            text="Configs can no longer refer to it by this name. The file stays where it is, and so do the runs that "
            "used it.",
            button="Take the name away",
            data=trigger["id"],
        )

    @app.callback(
        Output(answer("resource-remove"), "data"),
        Output("resources-changed", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input(confirmed("resource-remove"), "n_clicks"),
        State(question("resource-remove"), "data"),
        State("resources-changed", "data"),
        running=busy("resource-remove"),
        prevent_initial_call=True,
    )
    async def remove(clicks: int | None, asked: Question, changed: int) -> Any:
        if not clicks:
            return no_update, no_update, no_update
        try:
            await api.client().remove_resource(asked["data"])
        except (ApiError, httpx.TransportError) as error:
            return failed(error_text(error)), changed + 1, no_update
        return DONE, changed + 1, toast("The file stays where it is.", title="Name taken away", colour="green")
