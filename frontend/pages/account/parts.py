"""The password form and the list of sessions of an account."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import dash_mantine_components as dmc
from dash import html

from bapo.api.accounts import MIN_PASSWORD, SessionInfo
from frontend.components.moment import moment
from frontend.components.table import row, table

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
    end_all = dmc.Button(
        "End the other session" if num_others == 1 else f"End the {num_others} other sessions",
        id={"type": "session-end", "id": "others"},
        variant="default",
        size="xs",
        mt="sm",
        style={} if num_others else {"display": "none"},
    )
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
