"""Projects and their members; their administrators change both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html, set_props
from dash.exceptions import PreventUpdate

from bapo.analysis.number_format import counted
from bapo.api.people import MemberInfo, MemberWrite, ProjectCreate, ProjectInfo, ProjectUpdate
from bapo.client import AsyncClient
from frontend.components.actions import at_fields, open_when_pressed, show, tell, when_pressed, when_submitted
from frontend.components.card import new_button, page_heading
from frontend.components.choices import ROLE_CHOICES, select
from frontend.components.controls import icon_button, small_select
from frontend.components.dialogs import drawer, form_dialog
from frontend.components.elements import Link, Store
from frontend.components.notices import notice
from frontend.components.page import Page
from frontend.request.session import Api


def cards(projects: Sequence[ProjectInfo]) -> Any:
    """Return a card for each project, the archived ones last."""
    if not projects:
        return notice("No projects yet", "Ask an administrator to add you to one.")
    ordered = sorted(projects, key=lambda project: project.archived_at is not None)
    return html.Div([_card(project) for project in ordered], className="project-grid")


def _card(project: ProjectInfo) -> html.Article:
    archived = dmc.Badge("archived", color="gray", variant="light") if project.archived_at is not None else None
    runs = counted(project.num_runs, "run")
    people = counted(project.num_members, "member")
    return html.Article(
        [
            dmc.Group(
                [html.Span(project.name, className="project-name"), archived], justify="space-between", wrap="nowrap"
            ),
            html.Div(project.description, className="project-description") if project.description else None,
            dmc.Text(f"{runs} · {people} · your role: {project.role}", size="sm", c="dimmed"),
            dmc.Group(
                [
                    Link("Runs", href=f"/runs?project={quote(project.name, safe='')}", className="queue-name"),
                    dmc.Button(
                        "Members and settings" if project.may_manage else "Members",
                        id={"type": "project-show", "id": project.id},
                        size="compact-sm",
                        variant="default",
                    ),
                ],
                justify="space-between",
            ),
        ],
        className="panel-card project-card",
    )


def project_dialog() -> dmc.Modal:
    """Return the dialog that creates a project: name and description."""
    fields = (
        dmc.TextInput(id="project-name", label="Name", value="", withAsterisk=True),
        dmc.Textarea(id="project-description", label="Description", autosize=True, minRows=2, maxRows=8),
    )
    return form_dialog("project", "New project", fields, "Create project")


def editor(project: ProjectInfo, members: Sequence[MemberInfo]) -> dmc.Stack:
    """Return the settings, for those who may change them, and the members."""
    settings = [
        dmc.TextInput(id="edit-name", label="Name", value=project.name, withAsterisk=True),
        dmc.Textarea(
            id="edit-description",
            label="Description",
            value=project.description,
            autosize=True,
            minRows=2,
            maxRows=10,
        ),
        dmc.Checkbox(
            id="edit-archived",
            label="Archived: keeps its runs but takes no new ones",
            checked=project.archived_at is not None,
        ),
        html.Div(id="edit-problem"),
        dmc.Group([dmc.Button("Save", id="edit-submit")]),
        dmc.Divider(),
    ]
    return dmc.Stack(
        [
            *(settings if project.may_manage else []),
            html.H2("Members", className="section-title"),
            html.Div([_member(each, may_manage=project.may_manage) for each in members], id="members"),
            dmc.Text("Administrators of the server have full access too.", size="sm", c="dimmed"),
            *([_adding()] if project.may_manage else []),
            html.Div(id="member-problem"),
        ],
        gap="sm",
    )


def _member(member: MemberInfo, *, may_manage: bool) -> html.Div:
    name = member.name + (" (disabled)" if member.is_disabled else "")
    if not may_manage:
        return html.Div([html.Span(name), html.Span(member.role, className="queue-detail")], className="member-line")
    return html.Div(
        [
            html.Span(name),
            small_select(
                {"type": "member-role", "id": member.user_id, "name": member.name, "role": member.role},
                f"Role of {member.name}",
                member.role,
                ROLE_CHOICES,
                w=130,
            ),
            icon_button("cross", f"Remove {member.name}", id={"type": "member-remove", "id": member.user_id}),
        ],
        className="member-line",
    )


def _adding() -> dmc.Group:
    return dmc.Group(
        [
            dmc.TextInput(id="member-name", label="Add a member", placeholder="user name", value="", w=180),
            select("member-new-role", "As", "member", ROLE_CHOICES, w=130),
            dmc.Button("Add", id="member-add"),
        ],
        align="flex-end",
        gap="sm",
    )


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


PAGES = (Page("/projects", layout, section="people-and-projects"),)


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
