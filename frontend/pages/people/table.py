"""The table of users, and the dialog that creates one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.people import PersonInfo
from frontend.components.controls import small_select
from frontend.components.dialog import form_dialog
from frontend.components.moment import moment
from frontend.components.roles import role_options
from frontend.components.table import cell, row, table

HEAD = ("Name", "Role", "Projects", "Last seen", "Logs in by", "")


def people_table(people: Sequence[PersonInfo], own_id: str, single_sign_on: str) -> Any:
    """Return all users; the caller cannot disable themselves by mistake. `single_sign_on`: its name on this server."""
    now = datetime.now(UTC)
    rows = [_row(each, own_id, now, single_sign_on) for each in people]
    return table(HEAD, rows, "people-table row-hover")


def _logins(person: PersonInfo, single_sign_on: str, now: datetime) -> Any:
    ways = ["password"] if person.has_password else []
    if person.identities:
        last = person.identities[0]
        title = f"{last.subject} at {last.issuer}"
        lately = html.Div(["signed in ", moment(last.last_login_at, now=now)], className="queue-detail")
        return [html.Span(", ".join([*ways, single_sign_on]), title=title), lately]
    return ways[0] if ways else "links and tokens only"


def _row(person: PersonInfo, own_id: str, now: datetime, single_sign_on: str) -> html.Tr:
    disabled = person.disabled_at is not None
    projects = "all" if person.role == "admin" else ", ".join(f"{each.name} ({each.role})" for each in person.projects)
    role = small_select(
        {"type": "person-role", "id": person.id, "role": person.role},
        f"Role of {person.name}",
        person.role,
        role_options(),
        disabled=disabled,
        w=130,
        persistence=False,
    )
    return row(
        cell(
            [
                person.name,
                html.Span(" (you)", className="queue-detail") if person.id == own_id else None,
                html.Div(person.email, className="queue-detail") if person.email else None,
            ],
            "account-text",
        ),
        role,
        cell(projects or "none", "account-text"),
        cell(moment(person.last_seen_at, now=now) if person.last_seen_at else "never", "nowrap"),
        cell(_logins(person, single_sign_on, now), "account-text"),
        _actions(person, own_id),
        look="people-off" if disabled else "",
    )


def _actions(person: PersonInfo, own_id: str) -> dmc.Group:
    def button(label: str, kind: str, **properties: Any) -> dmc.Button:
        name = {} if kind == "person-enable" else {"name": person.name}
        return dmc.Button(label, id={"type": kind, "id": person.id, **name}, size="compact-xs", **properties)

    if person.disabled_at is not None:
        buttons = [button("Enable", "person-enable", variant="default")]
    else:
        buttons = [button("Password link", "person-link", variant="default")]
        if person.id != own_id:
            buttons.append(button("Disable", "person-disable", variant="light", color="red"))
    return dmc.Group(buttons, gap="xs", wrap="nowrap", justify="flex-end")


def create_dialog(projects: Sequence[str]) -> dmc.Modal:
    """Return the dialog that creates a user: name, role and projects."""
    fields = (
        dmc.TextInput(
            id="person-name",
            label="Name",
            description="Used to log in and shown in the audit trail",
            value="",
            withAsterisk=True,
        ),
        dmc.TextInput(
            id="person-email",
            label="E-mail address",
            description="Optional: a first single sign-on with it can open this account, where the server allows that",
            value="",
        ),
        dmc.Select(id="person-role", label="Role", value="member", data=role_options(), allowDeselect=False),
        dmc.MultiSelect(
            id="person-projects",
            label="Member of",
            description="As a viewer or member; other roles are set on the page Projects",
            data=list(projects),
            value=list(projects[:1]) if len(projects) == 1 else [],
            searchable=True,
        ),
    )
    return form_dialog("person", "New user", fields, "Create user")
