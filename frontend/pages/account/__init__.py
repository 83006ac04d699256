"""One's own account: password, sessions, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
import httpx
from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update

from bapo.api.accounts import PasswordChange, TokenCreate
from bapo.client import ApiError
from frontend.components.confirm import ask_when_pressed, confirm_dialog, when_agreed
from frontend.components.notices import error_text, toast
from frontend.components.one_time_secret import one_time_secret
from frontend.components.refusals import at_fields
from frontend.components.tokens import token_table
from frontend.pages.account.parts import password_form, session_table, token_form
from frontend.session import Api


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Who one is, and what one logs in with."""
    client = api.client()
    me = await client.me()
    projects = ", ".join(f"{each.name} ({each.role})" for each in me.projects) or "none yet: ask an administrator"
    return html.Div(
        [
            dcc.Store(id="account-changed", data=0),
            dmc.Title("Account", order=2, mb="xs"),
            dmc.Text([html.B(me.name), f" · {me.role} on this server"], mb=4),
            dmc.Text(f"Projects: {projects}", size="sm", c="dimmed", mb="md", className="wrap-anywhere"),
            html.Div(
                [
                    html.Section(
                        [html.H3("Password", className="section-title"), password_form(me.has_password)],
                        className="panel-card",
                    ),
                    html.Section(
                        [
                            html.H3("Sessions", className="section-title"),
                            html.Div(session_table((await client.sessions()).items), id="sessions"),
                        ],
                        className="panel-card",
                    ),
                    html.Section(
                        [
                            html.H3("Tokens for scripts", className="section-title"),
                            html.Div(token_table((await client.tokens()).items, "token"), id="tokens"),
                            token_form(),
                            html.Div(id="token-made"),
                        ],
                        className="panel-card account-wide",
                    ),
                ],
                className="account-grid",
            ),
            confirm_dialog("token-revoke"),
        ]
    )


def register(app: Dash, api: Api) -> None:
    """Changing the password, ending sessions, making and revoking tokens."""
    _password(app, api)
    _sessions(app, api)
    _tokens(app, api)


def _password(app: Dash, api: Api) -> None:
    @app.callback(
        Output("password-old", "error"),
        Output("password-new", "error"),
        Output("password-again", "error"),
        Output("password-problem", "children"),
        Output("password-old", "value"),
        Output("password-new", "value"),
        Output("password-again", "value"),
        Output("account-changed", "data"),
        Output("notifications", "sendNotifications", allow_duplicate=True),
        Input("password-submit", "n_clicks"),
        State("password-old", "value"),
        State("password-new", "value"),
        State("password-again", "value"),
        State("password-tokens", "checked"),
        State("account-changed", "data"),
        running=[(Output("password-submit", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def change(clicks: int | None, old: str, new: str, again: str, end_tokens: bool, changed: int) -> Any:
        kept = (no_update,) * 5
        if not clicks:
            return (no_update,) * 9
        if new != again:
            return "", "", "the two are not the same: type the new password twice", "", *kept
        body = PasswordChange.model_construct(old=old or None, new=new or "", end_tokens=bool(end_tokens))
        try:
            await api.client().change_password(body)
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("old", "new"))
            return *said, "", rest, *kept
        told = toast("All other sessions have ended.", title="Password changed", colour="green")
        return "", "", "", "", "", "", "", changed + 1, told


def _sessions(app: Dash, api: Api) -> None:
    @app.callback(
        Output("sessions", "children"),
        Input({"type": "session-end", "id": ALL}, "n_clicks"),
        Input("account-changed", "data"),
        prevent_initial_call=True,
    )
    async def end(_: Any, __: int) -> Any:
        trigger: Any = ctx.triggered_id
        clicked = isinstance(trigger, dict) and any(each["value"] for each in ctx.triggered)
        if not clicked and trigger != "account-changed":
            return no_update
        client = api.client()
        try:
            if clicked and trigger["id"] == "others":
                await client.end_other_sessions()
            elif clicked:
                await client.end_session(trigger["id"])
            return session_table((await client.sessions()).items)
        except (ApiError, httpx.TransportError) as error:
            return dmc.Alert(error_text(error), color="red", variant="light")


def _tokens(app: Dash, api: Api) -> None:
    @app.callback(
        Output("tokens", "children"),
        Output("token-made", "children"),
        Output("token-name", "value"),
        Output("token-name", "error"),
        Input("token-submit", "n_clicks"),
        State("token-name", "value"),
        State("token-scope", "value"),
        State("token-days", "value"),
        running=[(Output("token-submit", "loading"), True, False)],
        prevent_initial_call=True,
    )
    async def make(clicks: int | None, name: str, scope: str, days: str) -> Any:
        if not clicks:
            return (no_update,) * 4
        scopes: Any = {"read": ["read"], "write": ["read", "write"], "admin": ["read", "write", "admin"]}[scope]
        body = TokenCreate.model_construct(
            name=(name or "").strip(), scopes=scopes, expires_in_days=int(days) if days else None
        )
        client = api.client()
        try:
            made = await client.create_token(body)
            rows = token_table((await client.tokens()).items, "token")
        except (ApiError, httpx.TransportError) as error:
            said, rest = at_fields(error, ("name",))
            return no_update, rest, no_update, said[0]
        note = "Send it as `Authorization: Bearer …`, or give it to `bapo login`. It is not shown again."
        return rows, one_time_secret(f"Token {made.name}", made.secret, note), "", ""

    ask_when_pressed(
        app,
        "token-revoke",
        title="Revoke this token?",
        text="Whatever uses it is refused from now on. It cannot be brought back.",
        button="Revoke it",
    )

    outputs = [Output(part, "children", allow_duplicate=True) for part in ("tokens", "token-made")]

    @when_agreed(app, "token-revoke", outputs)
    async def revoke(token_id: str) -> Any:
        client = api.client()
        await client.revoke_token(token_id)
        return token_table((await client.tokens()).items, "token"), ""
