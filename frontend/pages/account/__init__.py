"""The caller's own account: password, sessions, tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dash_mantine_components as dmc
from dash import ALL, Dash, State, html, set_props

from bapo.api.accounts import NewToken, PasswordChange, Scope, TokenCreate
from bapo.client import AsyncClient
from frontend.components.actions import FormError, in_place, show, tell, when_pressed, when_submitted
from frontend.components.card import card, page_heading
from frontend.components.choices import choices
from frontend.components.tokens import TokenKind, register_tokens, token_panel
from frontend.pages.account.parts import password_form, session_table
from frontend.session import Api

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
    scope = dmc.Select(
        id="token-scope",
        label="Scope",
        value="write",
        data=choices((value, label) for value, (label, _) in SCOPES.items()),
        allowDeselect=False,
        w=260,
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
