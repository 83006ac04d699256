"""Finds runs by id, the beginning of an id, or the exact name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from bapo.api.runs import RunDetail, RunSummary
from bapo.cli.complete import complete_runs
from bapo.cli.failures import RefusedError
from bapo.cli.output import ago, clean
from bapo.client import ApiError, Client

MAX_LISTED = 10
MAX_SEARCHED = 5_000
"""Maximum number of runs searched for a name."""

HOW = "Id, beginning of an id, or exact name."
RunArgument = Annotated[str, typer.Argument(metavar="RUN", help=HOW, autocompletion=complete_runs)]
RunsArgument = Annotated[list[str], typer.Argument(metavar="RUN…", help=HOW, autocompletion=complete_runs)]


def find_run(client: Client, wanted: str) -> RunDetail:
    """Return the run with this id or name. Raises RefusedError if there is none or several."""
    try:
        return client.run(wanted)
    except ApiError as error:
        if error.status != 404:
            raise
    found = list(_candidates(client, wanted))
    named = [run for run in found if run.name == wanted] or found
    if not named:
        raise RefusedError(f"no run has the id or the name {wanted!r}: see `bapo runs`")
    if len(named) > 1:
        listed = [f"  {run.id}  {run.status:<9}  {ago(run.created_at):>12}  {clean(run.name)}" for run in named]
        more = [f"  and {len(listed) - MAX_LISTED} more"] if len(listed) > MAX_LISTED else []
        raise RefusedError("\n".join([f"several runs are called {wanted!r}: give an id", *listed[:MAX_LISTED], *more]))
    return client.run(named[0].id)


def find_runs(client: Client, wanted: Sequence[str]) -> list[RunDetail]:
    """Return all runs with these ids or names, each once."""
    return list({run.id: run for run in (find_run(client, each) for each in wanted)}.values())


def _candidates(client: Client, wanted: str) -> Iterator[RunSummary]:
    seen = 0
    for page in client.pages(client.runs, search=wanted[:200], archived="shown", limit=500):
        for run in page.items:
            if run.name == wanted or run.id.startswith(wanted):
                yield run
        seen += len(page.items)
        if seen >= MAX_SEARCHED:
            return
