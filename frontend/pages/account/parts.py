"""Forms and tables of the account."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import dash_mantine_components as dmc
from dash import html

from bapo.api.accounts import MIN_PASSWORD, SessionInfo
from frontend.components.moment import moment
from frontend.components.tokens import EXPIRIES

_BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari")
_NAMES = {"Edg": "Edge", "OPR": "Opera"}
_SYSTEMS = ("Windows", "Android", "iPhone", "iPad", "Mac OS X", "Linux")


def password_form(has_password: bool) -> dmc.Stack:
    """The old password where there is one, the new one twice."""
    old_style = {} if has_password else {"display": "none"}
    note = "" if has_password else "You have no password yet: with one you can log in by name."
    return dmc.Stack(
        [
            dmc.Text(note, size="sm", c="dimmed", style={} if note else {"display": "none"}),
            dmc.PasswordInput(
                id="password-old", label="Old password", value="", style=old_style, autoComplete="current-password"
            ),
            dmc.PasswordInput(
                id="password-new",
                label="New password",
                description=f"{MIN_PASSWORD} characters at least",
                value="",
                autoComplete="new-password",
            ),
            dmc.PasswordInput(id="password-again", label="New password again", value="", autoComplete="new-password"),
            dmc.Checkbox(id="password-tokens", label="Revoke my tokens too", checked=False),
            html.Div(id="password-problem"),
            dmc.Group([dmc.Button("Change the password", id="password-submit")]),
        ],
        gap="sm",
    )


def browser_of(user_agent: str) -> str:
    """ "Firefox on Linux", where the browser says so, else what it says."""
    browser = next((name for name in _BROWSERS if re.search(rf"{name}/", user_agent)), None)
    system = next((name for name in _SYSTEMS if name in user_agent), None)
    if browser is None or system is None:
        return user_agent or "unknown"
    return f"{_NAMES.get(browser, browser)} on {system.replace(' OS X', '')}"


def session_table(sessions: Sequence[SessionInfo]) -> html.Div:
    """Where one is logged in."""
    now = datetime.now(UTC)
    rows = [
        dmc.TableTr(
            [
                dmc.TableTd(
                    [
                        html.Div(browser_of(each.user_agent), title=each.user_agent, className="account-text"),
                        html.Div(["logged in ", moment(each.created_at, now=now)], className="queue-detail"),
                    ]
                ),
                dmc.TableTd(
                    dmc.Badge("this one", variant="light", color="green")
                    if each.is_current
                    else ["used ", moment(each.last_seen_at, now=now)],
                    className="nowrap",
                ),
                dmc.TableTd(
                    None
                    if each.is_current
                    else dmc.Button(
                        "End", id={"type": "session-end", "id": each.id}, size="compact-xs", variant="default"
                    )
                ),
            ]
        )
        for each in sessions
    ]
    others = sum(not each.is_current for each in sessions)
    end_all = dmc.Button(
        f"End the {others} other{'s' if others > 1 else ''}",
        id={"type": "session-end", "id": "others"},
        variant="default",
        size="xs",
        mt="sm",
        style={} if others else {"display": "none"},
    )
    return html.Div([dmc.Table(dmc.TableTbody(rows), verticalSpacing="xs", className="account-table"), end_all])


def token_form() -> dmc.Group:
    """Name, what it may do, and how long."""
    return dmc.Group(
        [
            dmc.TextInput(id="token-name", label="New token", placeholder="nightly sweep", value="", w=220),
            dmc.Select(
                id="token-scope",
                label="It may",
                value="write",
                data=[
                    {"value": "read", "label": "see (read)"},
                    {"value": "write", "label": "submit and change (write)"},
                    {"value": "admin", "label": "everything I may (admin)"},
                ],
                allowDeselect=False,
                w=260,
            ),
            dmc.Select(
                id="token-days",
                label="Expires after",
                value="90",
                data=[{"value": value, "label": label} for value, label in EXPIRIES],
                allowDeselect=False,
                w=130,
            ),
            dmc.Button("Make it", id="token-submit"),
        ],
        align="flex-end",
        gap="sm",
        mt="md",
    )
