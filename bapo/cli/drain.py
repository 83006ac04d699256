"""`bapo drain` and `bapo forget-worker`: take workers out of service."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.api.workers import DrainRequest, WorkerInfo
from bapo.cli.connection import Told, telling
from bapo.cli.failures import RefusedError
from bapo.client import Client

WorkerArgument = Annotated[str, typer.Argument(metavar="WORKER", help="Worker name; see `bapo workers`.")]


def find_worker(client: Client, wanted: str) -> WorkerInfo:
    """By name or id. Raises RefusedError."""
    for worker in client.workers().items:
        if wanted in (worker.name, worker.id):
            return worker
    raise RefusedError(f"no worker is called {wanted!r}: `bapo workers` lists them")


@telling
def drain(
    client: Client,
    worker: WorkerArgument,
    hand_on: Annotated[
        bool, typer.Option("--hand-on", help="Also hand its runs to other workers, after a checkpoint.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Give the worker runs again.")] = False,
) -> Told:
    """Give a worker no new runs, so that its machine can be removed; for administrators.

    [bold]bapo drain gpu-1 --hand-on[/bold]
    """
    found = find_worker(client, worker)
    now = client.undrain_worker(found.id) if undo else client.drain_worker(found.id, DrainRequest(hand_on=hand_on))
    left = f", {len(now.run_ids)} runs left" if now.draining else ""
    return now, f"{now.name}: {'draining' if now.draining else 'takes runs again'}{left}"


@telling
def forget_worker(client: Client, worker: WorkerArgument) -> Told:
    """Remove a worker that is gone from the list; for administrators."""
    found = find_worker(client, worker)
    client.forget_worker(found.id)
    return {"id": found.id, "done": "forgotten"}, f"{found.name}: removed"
