"""`bapo workers`, `bapo drain` and `bapo forget-worker`: the machines, and taking them out of service."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from bapo.analysis.number_format import counted
from bapo.api.queue import WorkerSlots
from bapo.api.workers import DrainRequest, WorkerInfo
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import RefusedError
from bapo.cli.listing import Listing
from bapo.cli.output import JsonOption, ago, console, percent, print_json
from bapo.client import Client


@online
def workers(client: Client, as_json: JsonOption = False) -> None:
    """List the workers with their slots, GPUs, load and runs."""
    if as_json:
        print_json(client.workers())
        return
    state = client.queue()
    WORKERS.print(state.workers)
    if state.workers:
        console().print(
            f"{state.busy} of {state.slots} slots taken, {counted(state.num_waiting, 'run')} waiting", style="dim"
        )


def _state(worker: WorkerSlots) -> Text:
    if not worker.online:
        return Text(f"seen {ago(worker.last_seen_at)}", style="red")
    if worker.drain_before is not None:
        return Text(f"until {worker.drain_before:%Y-%m-%d %H:%M} UTC", style="yellow")
    return Text("draining", style="yellow") if worker.draining else Text("online", style="green")


def _gpus(worker: WorkerSlots) -> str:
    """Format a worker's GPUs, such as `2 of 8 taken: NVIDIA H200`."""
    if not worker.gpus:
        return "none"
    taken = sum(gpu.is_held for gpu in worker.gpus)
    kinds = ", ".join(dict.fromkeys(gpu.name for gpu in worker.gpus))
    return f"{taken} of {len(worker.gpus)} taken: {kinds}"


def _load(worker: WorkerSlots) -> str | None:
    cpu = worker.system.get("cpu")
    return None if cpu is None else percent(cpu / 100)


WORKERS = Listing[WorkerSlots](
    {
        "worker": lambda worker: worker.name,
        "host": lambda worker: worker.host,
        "state": _state,
        "slots": lambda worker: f"{len(worker.runs)}/{worker.slots}",
        "gpus": _gpus,
        "load": _load,
        "runs by": lambda worker: "HTTPS" if worker.delivery == "https" else worker.delivery,
        "runs": lambda worker: ", ".join(f"{run.id} {run.step}/{run.num_steps}" for run in worker.runs) or None,
    },
    cut=("worker", "host", "gpus", "runs"),
    right=("slots",),
    empty="no worker has registered: start one with `bapo worker --server ADDRESS --token-file FILE`",
)


WorkerArgument = Annotated[str, typer.Argument(metavar="WORKER", help="Worker name; see `bapo workers`.")]


def find_worker(client: Client, wanted: str) -> WorkerInfo:
    """Return the worker with this name or id. Raises RefusedError."""
    for worker in client.workers().items:
        if wanted in (worker.name, worker.id):
            return worker
    raise RefusedError(f"no worker is called {wanted!r}: `bapo workers` lists them")


@answering
def drain(
    client: Client,
    worker: WorkerArgument,
    hand_on: Annotated[
        bool, typer.Option("--hand-on", help="Also hand its runs to other workers, after a checkpoint.")
    ] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Give the worker runs again.")] = False,
) -> Answer:
    """Give a worker no new runs, so that its machine can be removed; for administrators.

    [bold]bapo drain gpu-1 --hand-on[/bold]
    """
    found = find_worker(client, worker)
    now = client.undrain_worker(found.id) if undo else client.drain_worker(found.id, DrainRequest(hand_on=hand_on))
    left = f", {counted(len(now.run_ids), 'run')} left" if now.draining else ""
    return now, f"{now.name}: {'draining' if now.draining else 'takes runs again'}{left}"


@answering
def forget_worker(client: Client, worker: WorkerArgument) -> Answer:
    """Remove a worker that is gone from the list; for administrators."""
    found = find_worker(client, worker)
    client.forget_worker(found.id)
    return {"id": found.id, "done": "forgotten"}, f"{found.name}: removed"
