"""The caller's own account: password, sessions, tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, State, html, set_props

from bapo.api.accounts import MIN_PASSWORD, NewToken, PasswordChange, Scope, SessionInfo, TokenCreate
from bapo.client import AsyncClient
from frontend.components.actions import FormError, in_place, show, tell, when_pressed, when_submitted
from frontend.components.card import card, page_heading
from frontend.components.choices import choices, select
from frontend.components.controls import small_button
from frontend.components.page import Page
from frontend.components.table import row, table
from frontend.components.text import moment
from frontend.components.tokens import TokenKind, register_tokens, token_panel
from frontend.request.session import Api

_BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
_NAMES = {"Edg": "Edge", "OPR": "Opera"}
_SYSTEMS = ("Windows", "Android", "iPhone", "iPad", "Mac OS X", "Linux")


def password_form(has_password: bool) -> dmc.Stack:
    """Return the form: the old password, if there is one, and the new one twice."""
    old_style = {} if has_password else {"display": "none"}
    note = "" if has_password else "You have no password yet. With one you can log in by name."
    return dmc.Stack(
        [
            dmc.Text(note, size="sm", c="dimmed", style={} if note else {"display": "none"}),
            dmc.PasswordInput(
                id="password-old", label="Old password", value="", style=old_style, autoComplete="current-password"
            ),
            dmc.PasswordInput(
                id="password-new",
                label="New password",
                description=f"At least {MIN_PASSWORD} characters",
                value="",
                autoComplete="new-password",
            ),
            dmc.PasswordInput(id="password-again", label="New password again", value="", autoComplete="new-password"),
            dmc.Checkbox(id="password-tokens", label="Also revoke my tokens", checked=False),
            html.Div(id="password-problem"),
            dmc.Group([dmc.Button("Change password", id="password-submit")]),
        ],
        gap="sm",
    )


def browser_of(user_agent: str) -> str:
    """Return "Firefox on Linux", or the browser's own words if they name neither."""
    browser = next((name for name in _BROWSERS if re.search(rf"{name}/", user_agent)), None)
    system = next((name for name in _SYSTEMS if name in user_agent), None)
    if browser is None or system is None:
        return user_agent or "unknown"
    return f"{_NAMES.get(browser, browser)} on {system.replace(' OS X', '')}"


def session_table(sessions: Sequence[SessionInfo]) -> html.Div:
    """Return the browsers in which the caller is logged in, each with a button that ends its session."""
    now = datetime.now(UTC)
    num_others = sum(not each.is_current for each in sessions)
    label = "End the other session" if num_others == 1 else f"End the {num_others} other sessions"
    style = {} if num_others else {"display": "none"}
    end_all = small_button(label, {"type": "session-end", "id": "others"}, size="xs", mt="sm", style=style)
    return html.Div([table((), [_session(each, now) for each in sessions], "account-table"), end_all])


def _session(each: SessionInfo, now: datetime) -> html.Tr:
    browser = [
        html.Div(browser_of(each.user_agent), title=each.user_agent, className="account-text"),
        html.Div(["logged in ", moment(each.created_at, now=now)], className="queue-detail"),
    ]
    if each.is_current:
        return row(browser, html.Span("this session", className="good"), None)
    end = dmc.Button("End", id={"type": "session-end", "id": each.id}, size="compact-xs", variant="default")
    return row(browser, ["last used ", moment(each.last_seen_at, now=now)], end)


SCOPES: Mapping[str, tuple[str, Sequence[Scope]]] = {
    "read": ("read (only look)", ["read"]),
    "write": ("write (submit runs)", ["read", "write"]),
    "admin": ("admin (all my rights)", ["read", "write", "admin"]),
}
"""Permissions of a token: its label, and the scopes."""


async def _create_token(client: AsyncClient, name: str, days: int | None, scope: str) -> NewToken:
    body = TokenCreate.model_construct(name=name, scopes=SCOPES[scope][1], expires_in_days=days)
    return await client.create_token(body)


TOKENS = TokenKind(
    name="token",
    column="Scope",
    text=lambda token: token.scopes[-1],
    example="nightly sweep",
    days="90",
    use="Send it as `Authorization: Bearer …`, or give it to `bapo login`.",
    question="Revoke this token?",
    consequence="Whatever uses it is refused from now on. This cannot be undone.",
    fetch=lambda client: client.tokens(),
    create=_create_token,
    revoke=lambda client, token_id: client.revoke_token(token_id),
    own=("token-scope",),
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    client = api.client()
    me = await client.me()
    projects = ", ".join(f"{each.name} ({each.role})" for each in me.projects) or "none yet: ask an administrator"
    scope = select(
        "token-scope", "Scope", "write", choices((value, label) for value, (label, _) in SCOPES.items()), w=260
    )
    methods = await client.login_methods()
    signs_in_with = (
        f" · signs in with {methods.single_sign_on}" if me.has_single_sign_on and methods.single_sign_on else ""
    )
    # Its callbacks need the form even where a password is of no use.
    password_style = {} if methods.password else {"display": "none"}
    cards = [
        card(password_form(me.has_password), title="Password", style=password_style),
        card(html.Div(session_table((await client.sessions()).items), id="sessions"), title="Sessions"),
        card(*await token_panel(client, TOKENS, scope), title="API tokens", look="account-wide"),
    ]
    return html.Div(
        [
            page_heading("Account"),
            dmc.Text([html.B(me.name), f" · {me.role} on this server{signs_in_with}"], mb=4),
            dmc.Text(f"Projects: {projects}", size="sm", c="dimmed", mb="md", className="wrap-anywhere"),
            html.Div(cards, className="account-grid"),
        ]
    )


async def _redraw_sessions(client: AsyncClient) -> None:
    show("sessions", session_table((await client.sessions()).items))


PAGES = (Page("/account", layout, section="account"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: changing the password, ending sessions, creating and revoking tokens."""
    register_tokens(app, api, TOKENS)
    passwords = {each: f"password-{each}" for each in ("old", "new", "again")}

    @when_submitted(
        app,
        "password-submit",
        fields=passwords,
        problem="password-problem",
        states=[*(State(each, "value") for each in passwords.values()), State("password-tokens", "checked")],
    )
    async def change(old: str, new: str, again: str, end_tokens: bool) -> None:
        if new != again:
            raise FormError(again="the passwords differ: type the new one twice")
        body = PasswordChange.model_construct(old=old or None, new=new or "", end_tokens=bool(end_tokens))
        client = api.client()
        await client.change_password(body)
        for each in passwords.values():
            set_props(each, {"value": ""})
        tell("All other sessions have ended.", "Password changed")
        await _redraw_sessions(client)

    @when_pressed(app, {"type": "session-end", "id": ALL}, on_error=in_place("sessions", "red"))
    async def end(pressed: Mapping[str, str]) -> None:
        client = api.client()
        await (client.end_other_sessions() if pressed["id"] == "others" else client.end_session(pressed["id"]))
        await _redraw_sessions(client)
