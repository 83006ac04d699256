"""Tokens of a user or of the workers: the list without secrets, the form of a new one, and revoking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import dash_mantine_components as dmc
from dash import Dash, State, html, set_props

from bapo.api.accounts import NewToken, TokenInfo, TokenPage
from bapo.client import AsyncClient
from frontend.components.actions import show, when_submitted
from frontend.components.choices import choices, select
from frontend.components.controls import icon_button
from frontend.components.dialogs import confirm_dialog, when_asked
from frontend.components.notices import one_time_secret
from frontend.components.table import cell, row, table
from frontend.components.text import moment
from frontend.request.session import Api

EXPIRIES = (("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("365", "1 year"), ("", "never"))


class TokenKind(NamedTuple):
    """One kind of tokens: what a page says of it, and the calls behind it."""

    name: str
    """Begins the identifiers of its components."""
    column: str
    text: Callable[[TokenInfo], str]
    """Text of a token in the column."""
    example: str
    """Example of a name."""
    days: str
    """The expiry that the form begins with."""
    use: str
    """Instruction for a new secret."""
    question: str
    consequence: str
    """Question before revoking, and its consequence."""
    fetch: Callable[[AsyncClient], Awaitable[TokenPage]]
    create: Callable[..., Awaitable[NewToken]]
    """From the client, the name, the days, and the values of the kind's own fields."""
    revoke: Callable[[AsyncClient, str], Awaitable[None]]
    own: Sequence[str] = ()
    """Identifiers of the kind's own fields."""


async def token_panel(client: AsyncClient, kind: TokenKind, *own_fields: Any) -> list[Any]:
    """Return the tokens, and below them the form of a new one."""
    name = kind.name
    form = dmc.Group(
        [
            dmc.TextInput(id=f"{name}-name", label="New token", placeholder=kind.example, value="", w=220),
            *own_fields,
            select(f"{name}-days", "Expires after", kind.days, choices(EXPIRIES), w=130),
            dmc.Button("Create token", id=f"{name}-submit"),
        ],
        align="flex-end",
        gap="sm",
        mt="md",
    )
    listed = html.Div(token_table((await kind.fetch(client)).items, kind), id=f"{name}-list")
    return [listed, form, html.Div(id=f"{name}-made"), confirm_dialog(f"{name}-revoke")]


def token_table(tokens: Sequence[TokenInfo], kind: TokenKind) -> Any:
    """Return the tokens that are not revoked."""
    if not tokens:
        return dmc.Text("No tokens yet.", size="sm", c="dimmed")
    now = datetime.now(UTC)
    head = ("Name", "Begins with", kind.column, "Last used", "Expires", "")
    return table(head, [_row(each, kind, now) for each in tokens], "account-table account-tokens row-hover")


def _row(token: TokenInfo, kind: TokenKind, now: datetime) -> html.Tr:
    expires: Any = moment(token.expires_at, relative=False) if token.expires_at else "never"
    if token.is_expired:
        expires = dmc.Badge("expired", color="red", variant="light")
    identifier = {"type": f"{kind.name}-revoke", "id": token.id, "name": token.name}
    return row(
        cell(token.name, "account-text"),
        html.Code(f"{token.prefix}…") if token.prefix else "…",
        cell(kind.text(token), "account-text"),
        cell(moment(token.last_used_at, now=now) if token.last_used_at else "never", "nowrap"),
        cell(expires, "nowrap"),
        icon_button("trash", f"Revoke {token.name}", id=identifier),
    )


def register_tokens(app: Dash, api: Api, kind: TokenKind) -> None:
    """Register the callbacks: creating and revoking."""
    name = kind.name

    async def redraw(client: AsyncClient, made: Any) -> None:
        show(f"{name}-list", token_table((await kind.fetch(client)).items, kind))
        show(f"{name}-made", made)

    states = [State(each, "value") for each in (f"{name}-name", f"{name}-days", *kind.own)]

    @when_submitted(app, f"{name}-submit", fields={"name": f"{name}-name"}, problem=f"{name}-made", states=states)
    async def create(given: str, days: str, *own: Any) -> None:
        client = api.client()
        made = await kind.create(client, (given or "").strip(), int(days) if days else None, *own)
        set_props(f"{name}-name", {"value": ""})
        await redraw(client, one_time_secret(f"Token {made.name}", made.secret, f"{kind.use} It is not shown again."))

    @when_asked(app, f"{name}-revoke", title=kind.question, text=kind.consequence, button="Revoke")
    async def revoke(token_id: str) -> None:
        client = api.client()
        await kind.revoke(client, token_id)
        await redraw(client, "")
