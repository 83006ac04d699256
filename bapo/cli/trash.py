"""`bapo trash`: runs that were deleted, until they are deleted for good."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.api.runs import RunPage, RunSummary
from bapo.api.storage import DeletionRequest
from bapo.cli.connection import online
from bapo.cli.failures import RefusedError
from bapo.cli.life import bulk
from bapo.cli.listing import LimitOption, Listing, listed
from bapo.cli.marks import YesOption, delete_for_good
from bapo.cli.output import JsonOption, say, status_text
from bapo.client import Client

app = typer.Typer(no_args_is_help=True, help="Deleted runs, until they are deleted permanently.")

TRASH = Listing[RunSummary](
    {
        "id": lambda run: run.id,
        "name": lambda run: run.name,
        "status": lambda run: status_text(run.status),
        "deleted": lambda run: run.trashed_at,
        "by": lambda run: run.trashed_by,
        "project": lambda run: run.project,
    },
    cut=("name", "project"),
    empty="the trash is empty",
)
TrashedArgument = Annotated[list[str] | None, typer.Argument(metavar="[ID…]", help="Ids of runs in the trash.")]


@app.command("list")
@listed(TRASH)
def list_trash(client: Client, limit: LimitOption = 100) -> RunPage:
    """List the runs in the trash, the newest first."""
    return client.runs(trash="only", sort="-trashed_at", limit=limit)


@app.command()
@online
def restore(client: Client, runs: TrashedArgument = None, as_json: JsonOption = False) -> None:
    """Take runs out of the trash.

    [bold]bapo trash restore kzx3f0a9qe[/bold]
    """
    bulk(client, _trashed(client, runs), "restore", "restored", as_json=as_json)


@app.command()
@online
def empty(client: Client, runs: TrashedArgument = None, yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Delete runs in the trash permanently: these, or all that are yours to delete. This cannot be undone."""
    found = _trashed(client, runs) if runs else client.runs(trash="only", limit=500).items
    if not found:
        say("the trash is empty")
        return
    preview = client.preview_deletion(DeletionRequest(run_ids=[run.id for run in found]))
    refused = {item.run_id for item in preview.items if item.refusal is not None}
    delete_for_good(client, [run for run in found if runs or run.id not in refused], preview, yes=yes, as_json=as_json)


def _trashed(client: Client, wanted: list[str] | None) -> list[RunSummary]:
    """Return the runs in the trash with these ids, or beginnings of ids."""
    in_trash = [run for page in client.pages(client.runs, trash="only", limit=500) for run in page.items]
    found = []
    for prefix in wanted or ():
        matching = [run for run in in_trash if run.id.startswith(prefix)]
        if len(matching) != 1:
            what = "no run in the trash has" if not matching else f"{len(matching)} runs in the trash have"
            raise RefusedError(f"{what} an id that begins with {prefix!r}: see bapo trash list")
        found += matching
    if not found:
        raise RefusedError("give the id of at least one run: see bapo trash list")
    return found
