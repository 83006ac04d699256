"""`bapo tokens`: secrets for scripts and for workers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from bapo.api.accounts import TokenCreate, WorkerTokenCreate
from bapo.cli.connection import online
from bapo.cli.lazy import group
from bapo.cli.output import JsonOption, ago, clean, print_json, print_table, say, table, tell, user_text
from bapo.client import Client

app = group("Secrets for scripts, and for workers.")


class ScopeName(StrEnum):
    """What a token may do of what you may."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


WorkerOption = Annotated[bool, typer.Option("--worker", help="Those of workers; for administrators.")]


@app.command("list")
@online
def list_tokens(client: Client, worker: WorkerOption = False, as_json: JsonOption = False) -> None:
    """List your tokens; secrets are never shown again."""
    page = client.worker_tokens() if worker else client.tokens()
    if as_json:
        print_json(page)
        return
    last = "workers" if worker else "scopes"
    made = table("id", "name", "begins", last, "made", "used", "until", right=("made", "used"))
    for token in page.items:
        until = "always" if token.expires_at is None else f"{token.expires_at:%Y-%m-%d}"
        made.add_row(
            token.id,
            user_text(token.name + (" (this one)" if token.is_current else "")),
            token.prefix,
            user_text(", ".join(token.workers if worker else token.scopes)),
            ago(token.created_at),
            ago(token.last_used_at),
            f"{until} (expired)" if token.is_expired else until,
        )
    print_table(made, cut=("name", last))


@app.command("create")
@online
def create(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for.")],
    scopes: Annotated[
        list[ScopeName] | None,
        typer.Option("--scope", help="read: see; write: submit and change; admin: all that you may. Default: read."),
    ] = None,
    days: Annotated[
        int | None, typer.Option(min=0, help="Until it expires; 0: never. Default: 90, of a worker's: never.")
    ] = None,
    worker: WorkerOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a token. Prints its secret, this once.

    [bold]bapo tokens create "nightly sweep" --scope read --scope write --days 30[/bold]
    """
    given = {"name": name} | ({} if days is None else {"expires_in_days": days or None})
    if worker:
        if scopes:
            raise typer.BadParameter("a worker's token has none", param_hint="--scope")
        made = client.create_worker_token(WorkerTokenCreate.model_validate(given))
    else:
        chosen = {} if scopes is None else {"scopes": [scope.value for scope in scopes]}
        made = client.create_token(TokenCreate.model_validate(given | chosen))
    if as_json:
        print_json(made)
        return
    until = "does not expire" if made.expires_at is None else f"expires on {made.expires_at:%Y-%m-%d}"
    say(f"{made.id} {clean(made.name)} ({', '.join(made.scopes)}): {until}; its secret, shown only now:")
    print(made.secret)


@app.command("revoke")
@online
def revoke(
    client: Client,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as `bapo tokens list` shows it.")],
    worker: WorkerOption = False,
    as_json: JsonOption = False,
) -> None:
    """End a token: whoever has it is a stranger from now on."""
    if worker:
        client.revoke_worker_token(token_id)
    else:
        client.revoke_token(token_id)
    tell({"id": token_id, "done": "revoked"}, f"{token_id}: revoked", as_json=as_json)
