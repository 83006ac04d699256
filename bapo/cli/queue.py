"""`bapo queue`: what waits and why."""

from __future__ import annotations

import typer

from bapo.cli.connection import online
from bapo.cli.output import NOTHING, JsonOption, duration, print_json, print_table, say, table, user_text
from bapo.client import Client

app = typer.Typer(invoke_without_command=True, help="See what waits, and why; change the order.")


@online
def _show(client: Client, as_json: JsonOption = False) -> None:
    state = client.queue()
    if as_json:
        print_json(state)
        return
    if not state.waiting:
        say(f"nothing waits; {state.busy} of {state.slots} slots are taken")
        return
    right = ("#", "priority", "step", "waits", "starts in")
    made = table("#", "id", "name", "owner", "priority", "step", "starts in", "why", right=right)
    made.columns[-1].no_wrap = False
    for run in state.waiting:
        made.add_row(
            f"{run.position}",
            run.id,
            user_text(run.name),
            user_text(run.owner),
            f"{run.priority}",
            f"{run.step}/{run.num_steps}",
            duration(run.expected_seconds),
            user_text(f"sent to {run.promised_to}" if run.promised_to else run.reason or NOTHING),
        )
    print_table(made, cut=("name", "owner"))
    say(f"{state.num_waiting} waiting; {state.busy} of {state.slots} slots are taken")


app.callback()(_show)
