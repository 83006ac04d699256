"""Tokens without their secrets, of a user or of the workers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import dash_mantine_components as dmc
from dash import html

from bapo.api.accounts import TokenInfo
from frontend.components.attributes import attributes
from frontend.components.icon import icon
from frontend.components.moment import moment

EXPIRIES = (("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "never"))


def token_table(tokens: Sequence[TokenInfo], kind: str) -> html.Div:
    """Tokens without their secrets."""
    if not tokens:
        return html.Div(dmc.Text("There is none.", size="sm", c="dimmed"))
    head = ("Name", "Begins with", "May" if kind == "token" else "Workers", "Last used", "Expires", "")
    now = datetime.now(UTC)
    table = dmc.Table(
        [
            dmc.TableThead(dmc.TableTr([dmc.TableTh(title) for title in head])),
            dmc.TableTbody([_token_row(each, kind, now) for each in tokens]),
        ],
        verticalSpacing="xs",
        highlightOnHover=True,
        className="account-table account-tokens",
    )
    return html.Div(dmc.ScrollArea(table, type="auto"))


def _token_row(token: TokenInfo, kind: str, now: datetime) -> dmc.TableTr:
    expires: Any = moment(token.expires_at, relative=False) if token.expires_at else "never"
    if token.is_expired:
        expires = dmc.Badge("expired", color="red", variant="light")
    what = token.scopes[-1] if kind == "token" else ", ".join(token.workers) or "nobody yet"
    return dmc.TableTr(
        [
            dmc.TableTd(token.name, className="account-text"),
            dmc.TableTd(html.Code(f"{token.prefix}…") if token.prefix else "…"),
            dmc.TableTd(what, className="account-text"),
            dmc.TableTd(moment(token.last_used_at, now=now) if token.last_used_at else "never", className="nowrap"),
            dmc.TableTd(expires, className="nowrap"),
            dmc.TableTd(
                dmc.ActionIcon(
                    icon("trash", 16),
                    id={"type": f"{kind}-revoke", "id": token.id, "name": token.name},
                    variant="subtle",
                    color="red",
                    size="sm",
                    **attributes(aria_label=f"Revoke {token.name}"),
                )
            ),
        ]
    )
