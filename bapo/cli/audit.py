"""`bapo audit`: the audit trail of the server; for administrators."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bapo.api.people import AuditPage, AuditRecord
from bapo.cli.listing import LimitOption, Listing, listed
from bapo.client import Client


def _detail(entry: AuditRecord) -> str:
    return ", ".join(f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in entry.detail.items())


AUDIT = Listing[AuditRecord](
    {
        "time": lambda entry: f"{entry.at:%Y-%m-%d %H:%M:%S}",
        "user": lambda entry: entry.author,
        "action": lambda entry: entry.action,
        "run": lambda entry: entry.run_id,
        "detail": _detail,
    },
    cut=("user", "detail"),
)


@listed(AUDIT)
def audit(
    client: Client,
    author: Annotated[str | None, typer.Option(help="Only actions of this user.")] = None,
    action: Annotated[str | None, typer.Option(help="Only actions of this name.")] = None,
    limit: LimitOption = 50,
) -> AuditPage:
    """List what users did, newest first; for administrators."""
    return client.audit_trail(author=author, action=action, limit=limit)
