"""Cards of projects, and the drawer that changes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import dash_mantine_components as dmc
from dash import html

from bapo.analysis.number_format import counted
from bapo.api.people import MemberInfo, ProjectInfo
from frontend.components.address import Link
from frontend.components.controls import icon_button, small_select
from frontend.components.dialog import form_dialog
from frontend.components.notices import notice
from frontend.components.roles import role_options


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
                role_options(),
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
            dmc.Select(
                id="member-new-role",
                label="As",
                value="member",
                data=role_options(),
                allowDeselect=False,
                w=130,
            ),
            dmc.Button("Add", id="member-add"),
        ],
        align="flex-end",
        gap="sm",
    )
