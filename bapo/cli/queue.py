"""`bapo queue`: waiting runs, the reason, and their order."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.analysis.number_format import counted
from bapo.api.queue import LimitChange, QueueMove, UserLimit, WaitingRun
from bapo.api.runs import RunUpdate
from bapo.cli.connection import Answer, Server, answering, online
from bapo.cli.failures import plain_errors
from bapo.cli.lazy import group
from bapo.cli.life import each_run
from bapo.cli.listing import Listing
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import JsonOption, clean, duration, print_json, say
from bapo.cli.run_lookup import RunArgument, RunsArgument, find_run
from bapo.client import Client

app = group("Show waiting runs and why they wait; change their order.", alone=True)


@app.callback()
@with_option_sets
def show(
    context: typer.Context,
    as_json: JsonOption = False,
    *,
    server: Server,
) -> None:
    """Show waiting runs and why they wait; change their order.

    [bold]bapo queue[/bold]

    [bold]bapo queue move kzx3 --before m2v8[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    with plain_errors(), server.connected() as client:
        state = client.queue()
    if as_json:
        print_json(state)
        return
    if state.waiting:
        WAITING.print(state.waiting)
    say(f"{counted(state.num_waiting, 'run')} waiting; {state.busy} of {state.slots} slots taken")


def _reason(run: WaitingRun) -> str | None:
    if run.held_by is not None:
        return f"held by {run.held_by}"
    return f"sent to {run.promised_to}" if run.promised_to else run.reason or run.retry


WAITING = Listing[WaitingRun](
    {
        "#": lambda run: run.position,
        "id": lambda run: run.id,
        "name": lambda run: run.name,
        "owner": lambda run: run.owner,
        "priority": lambda run: run.priority,
        "step": lambda run: f"{run.step}/{run.num_steps}",
        "starts in": lambda run: duration(run.expected_seconds),
        "reason": _reason,
    },
    cut=("name", "owner"),
    wrap=("reason",),
    right=("#", "step", "starts in"),
)


@app.command("hold")
@online
def hold(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Hold waiting runs until they are released."""
    each_run(client, runs, client.hold, as_json=as_json, done="held")


@app.command("release")
@online
def release(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Release held runs."""
    each_run(client, runs, client.release, as_json=as_json, done="released")


@app.command("priority")
@online
def priority(
    client: Client,
    value: Annotated[int, typer.Argument(min=0, max=100, metavar="PRIORITY", help="0 to 100; higher starts first.")],
    runs: RunsArgument,
    as_json: JsonOption = False,
) -> None:
    """Change the priority of waiting runs.

    [bold]bapo queue priority 80 kzx3[/bold]
    """
    change = RunUpdate(priority=value)
    each_run(client, runs, lambda run_id: client.update_run(run_id, change), as_json=as_json, done=f"priority {value}")


@app.command("move")
@online
def move(
    client: Client,
    run: RunArgument,
    before: Annotated[str | None, typer.Option("--before", metavar="RUN", help="Before this run.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="RUN", help="After this run.")] = None,
    top: Annotated[bool, typer.Option("--top", help="To the front.")] = False,
    bottom: Annotated[bool, typer.Option("--bottom", help="To the end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Move a waiting run among your own runs; as administrator, anywhere."""
    if [before, after, top or None, bottom or None].count(None) != 3:
        raise typer.BadParameter("give one of --before, --after, --top and --bottom", param_hint="--before")
    found = find_run(client, run)
    if before is not None:
        body = QueueMove(before=find_run(client, before).id)
    elif after is not None:
        body = QueueMove(after=find_run(client, after).id)
    else:
        body = QueueMove(to="top" if top else "bottom")
    state = client.move(found.id, body)
    if as_json:
        print_json(state)
        return
    place = next((each.position for each in state.waiting if each.id == found.id), None)
    print(f"{found.id} {clean(found.name)}: now number {place}")


@app.command("limits")
@online
def limits(client: Client, as_json: JsonOption = False) -> None:
    """List how many runs each user may train at a time."""
    found = client.limits()
    if as_json:
        print_json(found)
        return

    def limit_of(each: UserLimit) -> str:
        limit = each.max_running if each.max_running is not None else found.default
        return "none" if limit is None else f"{limit}"

    Listing[UserLimit](
        {
            "user": lambda each: each.user,
            "limit": limit_of,
            "running": lambda each: each.running,
            "waiting": lambda each: each.waiting,
        },
        cut=("user",),
        right=("limit",),
    ).print(found.items)


@app.command("limit")
@answering
def limit(
    client: Client,
    user: Annotated[str, typer.Argument(metavar="USER", help="User name.")],
    runs: Annotated[
        int | None, typer.Argument(min=0, metavar="[RUNS]", help="Maximum; leave out for the server's default.")
    ] = None,
) -> Answer:
    """Limit how many runs a user may train at a time; for administrators."""
    found = client.set_limit(user, LimitChange(max_running=runs))
    return found, f"{user}: " + ("default limit" if runs is None else f"at most {runs} at a time")
