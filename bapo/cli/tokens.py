"""`bapo tokens`: API tokens for scripts and for workers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from bapo.api.accounts import TokenCreate, TokenInfo, TokenPage, WorkerTokenCreate
from bapo.cli.connection import Answer, answering, online
from bapo.cli.lazy import group
from bapo.cli.listing import Listing, listed
from bapo.cli.output import JsonOption, clean, print_json, say
from bapo.client import Client

app = group("Manage API tokens of scripts and workers.")


class ScopeName(StrEnum):
    """Scopes of a token."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


WorkerOption = Annotated[bool, typer.Option("--worker", help="Tokens of workers; for administrators.")]


def _end(token: TokenInfo) -> str:
    if token.expires_at is None:
        return "never"
    return f"{token.expires_at:%Y-%m-%d}" + (" (expired)" if token.is_expired else "")


TOKENS = Listing[TokenInfo](
    {
        "id": lambda token: token.id,
        "name": lambda token: token.name + (" (this one)" if token.is_current else ""),
        "prefix": lambda token: token.prefix,
        "scopes": lambda token: ", ".join(token.scopes) or None,
        "workers": lambda token: ", ".join(token.workers) or None,
        "created": lambda token: token.created_at,
        "used": lambda token: token.last_used_at,
        "expires": _end,
    },
    cut=("name", "scopes", "workers"),
)


@app.command("list")
@listed(TOKENS)
def list_tokens(client: Client, worker: WorkerOption = False) -> TokenPage:
    """List your tokens, without their secrets."""
    return client.worker_tokens() if worker else client.tokens()


@app.command("create")
@online
def create(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")],
    scopes: Annotated[
        list[ScopeName] | None,
        typer.Option(
            "--scope", help="read: view; write: submit and change; admin: everything you may do. Default: read."
        ),
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=0, help="Days until it expires; 0: never. Default: 90; for workers: never.")
    ] = None,
    worker: WorkerOption = False,
    as_json: JsonOption = False,
) -> None:
    """Create a token and print its secret, which is shown only once.

    [bold]bapo tokens create "nightly sweep" --scope read --scope write --days 30[/bold]
    """
    given = {"name": name} | ({} if days is None else {"expires_in_days": days or None})
    if worker:
        if scopes:
            raise typer.BadParameter("a worker's token has no scopes", param_hint="--scope")
        made = client.create_worker_token(WorkerTokenCreate.model_validate(given))
    else:
        chosen = {} if scopes is None else {"scopes": [scope.value for scope in scopes]}
        made = client.create_token(TokenCreate.model_validate(given | chosen))
    if as_json:
        print_json(made)
        return
    until = "does not expire" if made.expires_at is None else f"expires on {made.expires_at:%Y-%m-%d}"
    say(f"{made.id} {clean(made.name)} ({', '.join(made.scopes)}): {until}; its secret, shown only once:")
    print(made.secret)


@app.command("revoke")
@answering
def revoke(
    client: Client,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Token id; see `bapo tokens list`.")],
    worker: WorkerOption = False,
) -> Answer:
    """Revoke a token: it stops working at once."""
    if worker:
        client.revoke_worker_token(token_id)
    else:
        client.revoke_token(token_id)
    return {"id": token_id, "done": "revoked"}, f"{token_id}: revoked"
