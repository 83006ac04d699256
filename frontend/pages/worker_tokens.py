"""The workers' tokens, for administrators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, html

from bapo.api.accounts import NewToken, WorkerTokenCreate
from bapo.client import AsyncClient
from frontend.components.actions import clientside
from frontend.components.card import card, page_heading
from frontend.components.elements import attributes
from frontend.components.notices import to_copy
from frontend.components.page import Page
from frontend.components.tokens import TokenKind, register_tokens, token_panel
from frontend.request.session import Api

JOIN = "worker-join"
"""Identifier of the command by which a machine joins."""


async def _create_token(client: AsyncClient, name: str, days: int | None) -> NewToken:
    return await client.create_worker_token(WorkerTokenCreate.model_construct(name=name, expires_in_days=days))


TOKENS = TokenKind(
    name="worker-token",
    column="Workers",
    text=lambda token: ", ".join(token.workers) or "none yet",
    example="rack 3",
    days="",
    use="Save it on that machine in a file that only you can read, such as worker-token.",
    question="Revoke this worker token?",
    consequence="Workers that use it are refused from now on; the server counts their runs as lost and other workers "
    "resume them. This cannot be undone.",
    fetch=lambda client: client.worker_tokens(),
    create=_create_token,
    revoke=lambda client, token_id: client.revoke_worker_token(token_id),
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Return the page."""
    text = (
        "A worker token opens the workers' routes and nothing else. Give each machine its own, so that it can be "
        "revoked alone."
    )
    content = await token_panel(api.client(), TOKENS)
    return html.Div([page_heading("Worker tokens", text), card(*content, look="people-section"), _joining()])


def _joining() -> html.Section:
    """Return the command by which a machine joins; `assets/people.js` puts this page's address in."""
    command = dmc.Code(id=JOIN, className="secret-text", block=True, **attributes(aria_label="Command for the machine"))
    need = (
        "With the token in the file worker-token it needs nothing else: no port is opened there or here, and its runs "
        "come over the same address. ",
        html.Code("bapo doctor"),
        " with the same options checks the way. ",
        html.Span(id=f"{JOIN}-note"),
    )
    return card(
        to_copy(command),
        dmc.Text(list(need), size="sm", c="dimmed", mt="xs"),
        title="On the machine that joins",
        look="people-section",
    )


PAGES = (Page("/worker-tokens", layout, section="workers"),)


def register(app: Dash, api: Api) -> None:
    """Register the callbacks: creating and revoking, and the address in the command."""
    register_tokens(app, api, TOKENS)
    outputs = [Output(JOIN, "children"), Output(f"{JOIN}-note", "children")]
    clientside(app, "people", "joining", *outputs, Input(JOIN, "id"))
