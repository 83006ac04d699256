"""Projects: what they are, who is a member; their administrators change both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.people import MemberWrite, ProjectCreate, ProjectUpdate
from bapo.client import ApiError
from frontend.components.icon import icon
from frontend.components.notices import error_text, toast
from frontend.components.refusals import at_fields
from frontend.pages.projects.parts import cards, editor, project_dialog
from frontend.session import Api


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """All that the caller sees."""
    client = api.client()
    is_admin = (await client.me()).role == "admin"
    new = dmc.Button("New project", id="project-new", leftSection=icon("plus", 16)) if is_admin else None
    return html.Div(
        [
            dcc.Store(id="project-open"),
            dcc.Store(id="projects-changed", data=0),
            dmc.Group([dmc.Title("Projects", order=2), new], justify="space-between", mb="xs"),
            dmc.Text(
                "Every run belongs to a project. Who is no member of it does not see its runs.",
                size="sm",
                c="dimmed",
                mb="md",
            ),
            html.Div(cards((await client.projects()).items), id="projects"),
            project_dialog(),
            dmc.Drawer(html.Div(id="project-editor"), id="project-drawer", position="right", size="lg", title=""),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Making, changing, and members."""
    _lists(app, api)
    _making(app, api)
    _editing(app, api)
    _members(app, api)


def _lists(app: Dash, api: Api) -> None:
    @app.callback(Output("projects", "children"), Input("projects-changed", "data"), prevent_initial_call=True)
    async def refresh(_: int) -> Any:
        try:
            return cards((await api.client().projects()).items)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="red", variant="light")


def _making(app: Dash, api: Api) -> None:
    @app.callback(Output("project-dialog", "opened"), Input("project-new", "n_clicks"), prevent_initial_call=True)
    def opened(clicks: int | None) -> Any:
        return True if clicks else no_update

    @app.callback(
        Output("project-dialog", "opened", allow_duplicate=True),
        Output("project-name", "error"),
        Output("project-problem", "children"),
        Output("projects-changed", "data"),
        Input("project-submit", "n_clicks"),
        State("project-name", "value"),
        State("project-description", "value"),
        State("projects-changed", "data"),
        running=[(Output("project-submit", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def make(clicks: int | None, name: str, description: str, changed: int) -> Any:
        if not clicks:
            return (no_update,) * 4
        body = ProjectCreate.model_construct(name=(name or "").strip(), description=description or "")
        try:
            await api.client().create_project(body)
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("name",))
            return no_update, said[0], rest, no_update
        return False, "", "", changed + 1


def _editing(app: Dash, api: Api) -> None:
    @app.callback(
        Output("project-drawer", "opened"),
        Output("project-drawer", "title"),
        Output("project-editor", "children"),
        Output("project-open", "data"),
        Input({"type": "project-show", "id": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    async def show(_: Any) -> Any:
        trigger: Any = ctx.triggered_id
        if not any(each["value"] for each in ctx.triggered):
            return (no_update,) * 4
        client = api.client()
        try:
            project = await client.project(trigger["id"])
            return True, project.name, editor(project, (await client.members(project.id)).items), project.id
        except (ApiError, httpx.TransportError) as error:
            return True, "", dmc.Alert(error_text(error), color="red", variant="light"), no_update

    @app.callback(
        Output("edit-name", "error"),
        Output("edit-problem", "children"),
        Output("project-drawer", "title", allow_duplicate=True),
        Output("projects-changed", "data", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("edit-submit", "n_clicks"),
        State("edit-name", "value"),
        State("edit-description", "value"),
        State("edit-archived", "checked"),
        State("project-open", "data"),
        State("projects-changed", "data"),
        running=[(Output("edit-submit", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def edit(
        clicks: int | None, name: str, description: str, archived: bool, project_id: str, changed: int
    ) -> Any:
        if not clicks:
            return (no_update,) * 5
        body = ProjectUpdate.model_construct(name=(name or "").strip(), description=description, archived=archived)
        try:
            project = await api.client().update_project(project_id, body)
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("name",))
            return said[0], rest, no_update, no_update, no_update
        return "", "", project.name, changed + 1, toast(f"{project.name} is changed.", title="Saved", colour="green")


def _members(app: Dash, api: Api) -> None:
    @app.callback(
        Output("project-editor", "children", allow_duplicate=True),
        Output("member-problem", "children"),
        Output("member-name", "error"),
        Output("projects-changed", "data", allow_duplicate=True),
        Input("member-add", "n_clicks"),
        Input({"type": "member-role", "id": ALL, "name": ALL, "role": ALL}, "value"),
        Input({"type": "member-remove", "id": ALL}, "n_clicks"),
        State("member-name", "value"),
        State("member-new-role", "value"),
        State("project-open", "data"),
        State("projects-changed", "data"),
        prevent_initial_call=True,
    )
    async def change(_: Any, __: Any, ___: Any, name: str, role: Any, project_id: str, changed: int) -> Any:
        trigger: Any = ctx.triggered_id
        value = ctx.triggered[0]["value"] if ctx.triggered else None
        # Members who are drawn anew tell their roles too.
        if trigger is None or not value or (trigger != "member-add" and value == trigger.get("role")):
            return (no_update,) * 4
        client = api.client()
        try:
            if trigger == "member-add":
                body = MemberWrite.model_construct(name=(name or "").strip(), role=role)
                await client.set_member(project_id, body)
            elif trigger["type"] == "member-role":
                await client.set_member(project_id, MemberWrite(name=trigger["name"], role=value))
            else:
                await client.remove_member(project_id, trigger["id"])
            project = await client.project(project_id)
            return editor(project, (await client.members(project_id)).items), "", "", changed + 1
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("name",))
            return no_update, rest, said[0], no_update
