"""Users of the server, for administrators: roles, password links, who is disabled."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, Input, Output, State, ctx, html, set_props
from dash.exceptions import PreventUpdate

from bapo.api.people import MembershipWrite, PasswordLink, PersonCreate, PersonInfo, PersonUpdate
from bapo.client import AsyncClient
from frontend.components.actions import clientside, in_toast, open_when_pressed, show, when_pressed, when_submitted
from frontend.components.card import new_button, page_heading
from frontend.components.choices import ROLE_CHOICES, select
from frontend.components.controls import small_select
from frontend.components.dialogs import confirm_dialog, form_dialog, when_asked
from frontend.components.elements import Store
from frontend.components.notices import one_time_secret
from frontend.components.page import Page
from frontend.components.table import cell, row, table
from frontend.components.text import moment
from frontend.request.session import Api

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
        ROLE_CHOICES,
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
        select("person-role", "Role", "member", ROLE_CHOICES),
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


ROLES = (
    "A role limits what a user may do on this server: viewers look, members submit runs and may administer projects, "
    "administrators may do everything. Roles within a project are set on the page Projects. Where claims of single "
    "sign-on give roles, a role set here holds until the next sign-in."
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    client = api.client()
    projects = [each.name for each in (await client.projects()).items if each.archived_at is None]
    return html.Div(
        [
            Store(id="public-origin"),
            page_heading("People", ROLES, new_button("New user", "person-new")),
            html.Div(id="person-link"),
            html.Div(await _table(client), id="people", className="panel-card"),
            create_dialog(projects),
            confirm_dialog("person-disable"),
        ]
    )


async def _table(client: AsyncClient) -> Any:
    people, me, methods = await asyncio.gather(client.people(), client.me(), client.login_methods())
    return people_table(people.items, me.id, methods.single_sign_on or "single sign-on")


def _show_link(origin: str | None, name: str, link: PasswordLink) -> None:
    note: Any = [
        f"{name} can set a password with it, once, until ",
        moment(link.expires_at, relative=False),
        ". Send it over a channel that you trust; it is not shown again.",
    ]
    show("person-link", one_time_secret(f"Password link for {name}", f"{origin or ''}{link.path}", note))


PAGES = (Page("/people", layout, section="people-and-projects"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: creating, changing and disabling users, and their password links."""
    clientside(app, "people", "origin", Output("public-origin", "data"), Input("public-origin", "id"))
    open_when_pressed(app, "person-new", "person-dialog")
    _creating(app, api)
    _changing(app, api)


def _creating(app: Dash, api: Api) -> None:
    states = [State(f"person-{each}", "value") for each in ("name", "email", "role", "projects")]

    @when_submitted(
        app,
        "person-submit",
        fields={"name": "person-name", "email": "person-email"},
        problem="person-problem",
        states=[*states, State("public-origin", "data")],
    )
    async def create(name: str, email: str, role: Any, projects: list[str] | None, origin: str | None) -> None:
        there = "viewer" if role == "viewer" else "member"
        memberships = [MembershipWrite(project=project, role=there) for project in projects or ()]
        address = (email or "").strip() or None
        body = PersonCreate.model_construct(name=(name or "").strip(), email=address, role=role, projects=memberships)
        client = api.client()
        made = await client.create_person(body)
        set_props("person-dialog", {"opened": False})
        for each in ("name", "email"):
            set_props(f"person-{each}", {"value": ""})
        _show_link(origin, made.name, made.link)
        show("people", await _table(client))


def _changing(app: Dash, api: Api) -> None:
    not_changed = in_toast("Not changed")

    @when_pressed(app, {"type": "person-link", "id": ALL, "name": ALL}, states=[State("public-origin", "data")])
    async def make_link(pressed: Mapping[str, str], origin: str | None) -> None:
        _show_link(origin, pressed["name"], await api.client().new_password_link(pressed["id"]))

    @when_pressed(app, {"type": "person-enable", "id": ALL}, on_error=not_changed)
    async def enable(pressed: Mapping[str, str]) -> None:
        client = api.client()
        await client.update_person(pressed["id"], PersonUpdate(disabled=False))
        show("people", await _table(client))

    def refused(error: Exception) -> None:
        not_changed(error)
        # The select goes back to the role that holds.
        set_props(ctx.triggered_id, {"value": ctx.triggered_id["role"]})

    @when_pressed(app, Input({"type": "person-role", "id": ALL, "role": ALL}, "value"), on_error=refused)
    async def change_role(pressed: Mapping[str, str]) -> None:
        role: Any = ctx.triggered[0]["value"]
        # A table that is redrawn reports its roles too.
        if role == pressed["role"]:
            raise PreventUpdate
        client = api.client()
        await client.update_person(pressed["id"], PersonUpdate(role=role))
        show("people", await _table(client))

    @when_asked(
        app,
        "person-disable",
        title="Disable this user?",
        text="All their sessions and links end now, and their tokens are revoked for good. Their runs continue, and "
        "what they did stays in the audit trail. They can be enabled again.",
        button="Disable",
    )
    async def disable(user_id: str) -> None:
        client = api.client()
        await client.update_person(user_id, PersonUpdate(disabled=True))
        show("people", await _table(client))
