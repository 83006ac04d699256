"""Users of the server, for administrators: roles, links to set a password, who is disabled; the workers' tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.people import MembershipWrite, PasswordLink, PersonCreate, PersonUpdate
from bapo.client import ApiError
from frontend.clientside import clientside
from frontend.components.confirm import ask_when_pressed, confirm_dialog, when_agreed
from frontend.components.icon import icon
from frontend.components.moment import moment
from frontend.components.notices import error_text, toast
from frontend.components.one_time_secret import one_time_secret
from frontend.components.refusals import at_fields
from frontend.pages.people import worker_tokens
from frontend.pages.people.table import create_dialog, people_table
from frontend.session import Api

worker_tokens_layout = worker_tokens.layout


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Everybody, with what they may do."""
    client = api.client()
    people = (await client.people()).items
    projects = (await client.projects()).items
    me = await client.me()
    return html.Div(
        [
            dcc.Store(id="people-changed", data=0),
            dcc.Store(id="public-origin"),
            dmc.Group(
                [
                    dmc.Title("People", order=2),
                    dmc.Button("New user", id="person-new", leftSection=icon("plus", 16)),
                ],
                justify="space-between",
                mb="xs",
            ),
            dmc.Text(
                "The role here is the most that somebody may do on this server: a viewer looks, a member submits runs "
                "and may administer projects, an administrator may do everything. What a member may do where is set on "
                "the page of the projects.",
                size="sm",
                c="dimmed",
                mb="md",
            ),
            html.Div(id="person-link"),
            html.Div(people_table(people, me.id), id="people", className="panel-card"),
            create_dialog([project.name for project in projects if project.archived_at is None]),
            confirm_dialog("person-disable"),
        ]
    )


def _link(origin: str | None, name: str, link: PasswordLink) -> html.Div:
    note: Any = [
        f"With it {name} sets a password, once, until ",
        moment(link.expires_at, relative=False),
        ". Hand it over as you trust; it is not shown again.",
    ]
    return one_time_secret(f"Link for {name}", f"{origin or ''}{link.path}", note)


def register(app: Dash, api: Api) -> None:
    """Making, changing and disabling users, and their links."""
    worker_tokens.register(app, api)
    clientside(app, "people", "origin", Output("public-origin", "data"), Input("public-origin", "id"))
    _making(app, api)
    _changing(app, api)
    _disabling(app, api)


async def _table(api: Api) -> Any:
    client = api.client()
    return people_table((await client.people()).items, (await client.me()).id)


def _making(app: Dash, api: Api) -> None:
    @app.callback(Output("person-dialog", "opened"), Input("person-new", "n_clicks"), prevent_initial_call=True)
    def opened(clicks: int | None) -> Any:
        return True if clicks else no_update

    @app.callback(
        Output("person-dialog", "opened", allow_duplicate=True),
        Output("person-name", "error"),
        Output("person-name", "value"),
        Output("person-problem", "children"),
        Output("person-link", "children"),
        Output("people", "children"),
        Input("person-submit", "n_clicks"),
        State("person-name", "value"),
        State("person-role", "value"),
        State("person-projects", "value"),
        State("public-origin", "data"),
        running=[(Output("person-submit", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def make(clicks: int | None, name: str, role: Any, projects: list[str] | None, origin: str | None) -> Any:
        if not clicks:
            return (no_update,) * 6
        there = "viewer" if role == "viewer" else "member"
        memberships = [MembershipWrite(project=project, role=there) for project in projects or ()]
        body = PersonCreate.model_construct(name=(name or "").strip(), role=role, projects=memberships)
        try:
            made = await api.client().create_person(body)
            table = await _table(api)
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("name",))
            return no_update, said[0], no_update, rest, no_update, no_update
        return False, "", "", "", _link(origin, made.name, made.link), table


def _changing(app: Dash, api: Api) -> None:
    @app.callback(
        Output("people", "children", allow_duplicate=True),
        Output("person-link", "children", allow_duplicate=True),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input({"type": "person-role", "id": ALL, "role": ALL}, "value"),
        Input({"type": "person-link", "id": ALL, "name": ALL}, "n_clicks"),
        Input({"type": "person-enable", "id": ALL}, "n_clicks"),
        State("public-origin", "data"),
        prevent_initial_call=True,
    )
    async def change(_: Any, __: Any, ___: Any, origin: str | None) -> Any:
        trigger: Any = ctx.triggered_id
        value = ctx.triggered[0]["value"] if ctx.triggered else None
        # A table that is drawn anew tells its values too.
        if not isinstance(trigger, dict) or not value or value == trigger.get("role"):
            return no_update, no_update, no_update
        client = api.client()
        link: Any = no_update
        try:
            if trigger["type"] == "person-role":
                await client.update_person(trigger["id"], PersonUpdate(role=value))
            elif trigger["type"] == "person-enable":
                await client.update_person(trigger["id"], PersonUpdate(disabled=False))
            else:
                made = await client.new_password_link(trigger["id"])
                link = _link(origin, trigger["name"], made)
            return await _table(api), link, no_update
        except (ApiError, httpx.TransportError) as error:
            told = toast(error_text(error), title="Not changed")
        try:
            # The choice goes back to what holds.
            return await _table(api), no_update, told
        except (ApiError, httpx.TransportError):
            return no_update, no_update, told


def _disabling(app: Dash, api: Api) -> None:
    ask_when_pressed(
        app,
        "person-disable",
        title="Disable this user?",
        text="All their sessions and links end now, and their tokens are revoked for good. Their runs go on, and "
        "what they did stays in the audit trail. They can be enabled again.",
        button="Disable",
    )

    @when_agreed(app, "person-disable", [Output("people", "children", allow_duplicate=True)])
    async def disable(user_id: str) -> Any:
        await api.client().update_person(user_id, PersonUpdate(disabled=True))
        return [await _table(api)]
