"""Users of the server, for administrators: roles, password links, who is disabled; and the workers' tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, html, set_props
from dash.exceptions import PreventUpdate

from bapo.api.people import MembershipWrite, PasswordLink, PersonCreate, PersonUpdate
from bapo.client import AsyncClient
from frontend.clientside import clientside
from frontend.components.actions import in_toast, open_when_pressed, show, when_pressed, when_submitted
from frontend.components.card import new_button, page_heading
from frontend.components.confirm import confirm_dialog, when_asked
from frontend.components.moment import moment
from frontend.components.one_time_secret import one_time_secret
from frontend.components.store import Store
from frontend.pages.people import worker_tokens
from frontend.pages.people.table import create_dialog, people_table
from frontend.session import Api

worker_tokens_layout = worker_tokens.layout

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


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: creating, changing and disabling users, and their password links."""
    worker_tokens.register(app, api)
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
