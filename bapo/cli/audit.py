"""`bapo audit`: who did what on the server; for administrators."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bapo.cli.connection import online
from bapo.cli.output import JsonOption, print_json, print_table, table, user_text
from bapo.client import Client


@online
def audit(
    client: Client,
    author: Annotated[str | None, typer.Option(help="Only what this user did.")] = None,
    action: Annotated[str | None, typer.Option(help="Only actions of this name.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="At most so many.")] = 50,
    as_json: JsonOption = False,
) -> None:
    """List who did what on the server, the newest first; for administrators."""
    page = client.audit_trail(author=author, action=action, limit=limit)
    if as_json:
        print_json(page)
        return
    made = table("when", "who", "what", "run", "")
    for entry in page.items:
        detail = ", ".join(f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in entry.detail.items())
        made.add_row(
            f"{entry.at:%Y-%m-%d %H:%M:%S}",
            user_text(entry.author),
            entry.action,
            entry.run_id or "",
            user_text(detail),
        )
    print_table(made, cut=("who", ""))
