"""`bapo workers`: the machines."""

from __future__ import annotations

from rich.text import Text

from bapo.api.queue import HeldRun, WorkerSlots
from bapo.cli.connection import online
from bapo.cli.output import NOTHING, JsonOption, ago, console, percent, print_json, print_table, say, table, user_text
from bapo.client import Client


@online
def workers(client: Client, as_json: JsonOption = False) -> None:
    """List the workers: slots, GPUs, load, and what they train."""
    if as_json:
        print_json(client.workers())
        return
    state = client.queue()
    if not state.workers:
        say("no worker has registered: start one with `bapo worker --server ADDRESS --token-file FILE`")
        return
    made = table("worker", "host", "state", "slots", "gpus", "load", "trains", right=("slots",))
    for worker in state.workers:
        made.add_row(
            user_text(worker.name),
            user_text(worker.host),
            _state(worker),
            f"{len(worker.runs)}/{worker.slots}",
            user_text(_gpus(worker)),
            _load(worker),
            user_text(", ".join(map(_held, worker.runs)) or NOTHING),
        )
    print_table(made, cut=("worker", "host", "gpus", "trains"))
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


def _load(worker: WorkerSlots) -> str:
    cpu = worker.system.get("cpu")
    return NOTHING if cpu is None else percent(cpu / 100)


def _held(run: HeldRun) -> str:
    return f"{run.id} {run.step}/{run.num_steps}"
