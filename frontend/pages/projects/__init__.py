"""Projects and their members; their administrators change both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, html, set_props
from dash.exceptions import PreventUpdate

from bapo.api.people import MemberWrite, ProjectCreate, ProjectUpdate
from bapo.client import AsyncClient
from frontend.components.actions import at_fields, open_when_pressed, show, tell, when_pressed, when_submitted
from frontend.components.card import new_button, page_heading
from frontend.components.dialog import drawer
from frontend.components.store import Store
from frontend.pages.projects.parts import cards, editor, project_dialog
from frontend.session import Api


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    client = api.client()
    is_admin = (await client.me()).role == "admin"
    new = new_button("New project", "project-new") if is_admin else None
    return html.Div(
        [
            Store(id="project-open"),
            page_heading("Projects", "Every run belongs to a project, and only its members see it.", new),
            html.Div(cards((await client.projects()).items), id="projects"),
            project_dialog(),
            drawer("project", html.Div(id="project-editor")),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: creating, changing, and members."""
    open_when_pressed(app, "project-new", "project-dialog")
    _creating(app, api)
    _editing(app, api)
    _members(app, api)


async def _redraw(client: AsyncClient) -> None:
    show("projects", cards((await client.projects()).items))


def _creating(app: Dash, api: Api) -> None:
    states = [State("project-name", "value"), State("project-description", "value")]

    @when_submitted(app, "project-submit", fields={"name": "project-name"}, problem="project-problem", states=states)
    async def create(name: str, description: str) -> None:
        client = api.client()
        await client.create_project(
            ProjectCreate.model_construct(name=(name or "").strip(), description=description or "")
        )
        set_props("project-dialog", {"opened": False})
        await _redraw(client)


def _editing(app: Dash, api: Api) -> None:
    @when_pressed(
        app,
        {"type": "project-show", "id": ALL},
        outputs=[
            Output("project-drawer", "opened"),
            Output("project-drawer", "title"),
            Output("project-editor", "children"),
            Output("project-open", "data"),
        ],
    )
    async def open_project(pressed: Mapping[str, str]) -> Any:
        client = api.client()
        project = await client.project(pressed["id"])
        return True, project.name, editor(project, (await client.members(project.id)).items), project.id

    @when_submitted(
        app,
        "edit-submit",
        fields={"name": "edit-name"},
        problem="edit-problem",
        states=[
            State("edit-name", "value"),
            State("edit-description", "value"),
            State("edit-archived", "checked"),
            State("project-open", "data"),
        ],
    )
    async def edit(name: str, description: str, archived: bool, project_id: str) -> None:
        client = api.client()
        body = ProjectUpdate.model_construct(name=(name or "").strip(), description=description, archived=archived)
        project = await client.update_project(project_id, body)
        set_props("project-drawer", {"title": project.name})
        tell(f"{project.name} is changed.", "Saved")
        await _redraw(client)


def _members(app: Dash, api: Api) -> None:
    @when_pressed(
        app,
        "member-add",
        Input({"type": "member-role", "id": ALL, "name": ALL, "role": ALL}, "value"),
        {"type": "member-remove", "id": ALL},
        outputs=[Output("project-editor", "children", allow_duplicate=True)],
        states=[State("member-name", "value"), State("member-new-role", "value"), State("project-open", "data")],
        on_error=at_fields({"name": "member-name"}, "member-problem"),
    )
    async def change(pressed: Any, name: str, role: Any, project_id: str) -> Any:
        client = api.client()
        if pressed == "member-add":
            await client.set_member(project_id, MemberWrite.model_construct(name=(name or "").strip(), role=role))
        elif pressed["type"] == "member-remove":
            await client.remove_member(project_id, pressed["id"])
        else:
            chosen: Any = ctx.triggered[0]["value"]
            # Members who are redrawn report their roles too.
            if chosen == pressed["role"]:
                raise PreventUpdate
            await client.set_member(project_id, MemberWrite(name=pressed["name"], role=chosen))
        await _redraw(client)
        return editor(await client.project(project_id), (await client.members(project_id)).items)
