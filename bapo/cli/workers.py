"""`bapo workers`: the machines."""

from __future__ import annotations

from rich.text import Text

from bapo.api.queue import WorkerSlots
from bapo.cli.connection import online
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
        console().print(f"{state.busy} of {state.slots} slots taken, {state.num_waiting} runs waiting", style="dim")


def _state(worker: WorkerSlots) -> Text:
    if not worker.online:
        return Text(f"seen {ago(worker.last_seen_at)}", style="red")
    return Text("draining", style="yellow") if worker.draining else Text("online", style="green")


def _gpus(worker: WorkerSlots) -> str:
    """Such as `2 of 8 taken: NVIDIA H200`."""
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
        "runs": lambda worker: ", ".join(f"{run.id} {run.step}/{run.num_steps}" for run in worker.runs) or None,
    },
    cut=("worker", "host", "gpus", "runs"),
    right=("slots",),
    empty="no worker has registered: start one with `bapo worker --server ADDRESS --token-file FILE`",
)
