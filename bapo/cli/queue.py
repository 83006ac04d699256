"""`bapo queue`: what waits and why, and in which order."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.api.queue import LimitChange, QueueMove, QueueState, WaitingRun
from bapo.api.runs import RunUpdate
from bapo.cli.connection import ServerOption, TokenFileOption, TokenOption, connected, online
from bapo.cli.failures import plain_errors
from bapo.cli.lazy import group
from bapo.cli.life import each_run
from bapo.cli.naming import RunArgument, RunsArgument, find_run
from bapo.cli.output import NOTHING, JsonOption, clean, duration, print_json, print_table, say, table, user_text
from bapo.client import Client

app = group("See what waits, and why; change the order.", alone=True)


@app.callback()
def show(
    context: typer.Context,
    as_json: JsonOption = False,
    server: ServerOption = None,
    token: TokenOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """See what waits, and why; change the order.

    [bold]bapo queue[/bold]

    [bold]bapo queue move kzx3 --before m2v8[/bold]
    """
    if context.invoked_subcommand is not None:
        return
    with plain_errors(), connected(server, token, token_file) as client:
        state = client.queue()
    if as_json:
        print_json(state)
    else:
        _print(state)


def _print(state: QueueState) -> None:
    if not state.waiting:
        say(f"nothing waits; {state.busy} of {state.slots} slots are taken")
        return
    right = ("#", "priority", "step", "starts in")
    made = table("#", "id", "name", "owner", "priority", "step", "starts in", "why", right=right)
    made.columns[-1].no_wrap = False
    for run in state.waiting:
        made.add_row(
            NOTHING if run.position is None else f"{run.position}",
            run.id,
            user_text(run.name),
            user_text(run.owner),
            f"{run.priority}",
            f"{run.step}/{run.num_steps}",
            duration(run.expected_seconds),
            user_text(_why(run)),
        )
    print_table(made, cut=("name", "owner"))
    say(f"{state.num_waiting} waiting; {state.busy} of {state.slots} slots are taken")


def _why(run: WaitingRun) -> str:
    if run.held_by is not None:
        return f"held by {run.held_by}"
    return f"sent to {run.promised_to}" if run.promised_to else run.reason or run.retry or NOTHING


@app.command("hold")
@online
def hold(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Keep waiting runs from starting, until they are released."""
    each_run(client, runs, client.hold, as_json=as_json, done="held")


@app.command("release")
@online
def release(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Let held runs start."""
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
    before: Annotated[str | None, typer.Option("--before", metavar="RUN", help="To the place before this one.")] = None,
    after: Annotated[str | None, typer.Option("--after", metavar="RUN", help="To the place after this one.")] = None,
    top: Annotated[bool, typer.Option("--top", help="To the beginning.")] = False,
    bottom: Annotated[bool, typer.Option("--bottom", help="To the end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Move a waiting run: among your own runs, for administrators anywhere."""
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
    """List how many runs each person may have on workers at a time."""
    found = client.limits()
    if as_json:
        print_json(found)
        return
    made = table("user", "limit", "running", "waiting", right=("limit", "running", "waiting"))
    for each in found.items:
        limit = each.max_running if each.max_running is not None else found.default
        made.add_row(
            user_text(each.user), "none" if limit is None else f"{limit}", f"{each.running}", f"{each.waiting}"
        )
    print_table(made, cut=("user",))


@app.command("limit")
@online
def limit(
    client: Client,
    user: Annotated[str, typer.Argument(metavar="USER", help="Name of a user.")],
    runs: Annotated[int | None, typer.Argument(min=0, metavar="[RUNS]", help="Left out: the server's limit.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Limit how many runs somebody may have on workers at a time; for administrators."""
    found = client.set_limit(user, LimitChange(max_running=runs))
    if as_json:
        print_json(found)
    else:
        print(f"{clean(user)}: {'the limit of the server' if runs is None else f'at most {runs} at a time'}")
