"""The workers' tokens, for administrators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import Dash, html

from bapo.api.accounts import NewToken, WorkerTokenCreate
from bapo.client import AsyncClient
from frontend.components.card import card, page_heading
from frontend.components.tokens import TokenKind, register_tokens, token_panel
from frontend.session import Api


async def _create_token(client: AsyncClient, name: str, days: int | None) -> NewToken:
    return await client.create_worker_token(WorkerTokenCreate.model_construct(name=name, expires_in_days=days))


TOKENS = TokenKind(
    name="worker-token",
    column="Workers",
    text=lambda token: ", ".join(token.workers) or "none yet",
    example="rack 3",
    days="",
    use="Give it to `bapo worker`, best as the variable BAPO_WORKER_TOKEN.",
    question="Revoke this worker token?",
    consequence="Workers that use it are refused from now on; the server counts their runs as lost and other workers "
    "resume them. This cannot be undone.",
    fetch=lambda client: client.worker_tokens(),
    create=_create_token,
    revoke=lambda client, token_id: client.revoke_worker_token(token_id),
)


async def layout(api: Api, _: Mapping[str, str], __: Mapping[str, str]) -> Any:
    """Returns the page."""
    text = (
        "A machine joins with `bapo worker --server ADDRESS --token TOKEN`. A worker token opens the workers' routes "
        "and nothing else. Give each machine its own, so that it can be revoked alone."
    )
    content = await token_panel(api.client(), TOKENS)
    return html.Div([page_heading("Worker tokens", text), card(*content, look="people-section")])


def register(app: Dash, api: Api) -> None:
    """Registers the callbacks: creating and revoking."""
    register_tokens(app, api, TOKENS)
