"""`bapo steer`: change parameters of a run while it trains."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from bapo.api.runs import ControlInfo, ParameterChange
from bapo.cli.complete import complete_fields
from bapo.cli.connection import online
from bapo.cli.failures import Exit, RefusedError
from bapo.cli.output import JsonOption, clean, print_json, say
from bapo.cli.run_lookup import RunArgument, find_run
from bapo.client import Client
from bapo.config import parse_assignments


@online
def steer(
    client: Client,
    run: RunArgument,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="New value, such as method.c1=0.25; repeatable.",
            autocompletion=complete_fields,
        ),
    ] = None,
    at_step: Annotated[
        int | None, typer.Option("--at-step", min=1, help="First step with the new values. Default: the next.")
    ] = None,
    withdraw: Annotated[
        str | None,
        typer.Option(
            "--withdraw", metavar="CHANGE", help="Withdraw a pending change; `bapo show --history` has its id."
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the trainer applies or rejects it; exit code 1 if rejected.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Change parameters of a run while it trains, at a step boundary.

    [bold]bapo steer kzx3 --set method.c1=1/4 --set method.m=5 --at-step 120[/bold]
    """
    if not assignments and withdraw is None:
        raise typer.BadParameter("give a new value, such as --set method.c1=0.25", param_hint="--set")
    found = find_run(client, run)
    if withdraw is not None:
        control = client.withdraw_parameters(found.id, withdraw)
    else:
        values = parse_assignments(assignments or ())
        control = client.change_parameters(found.id, ParameterChange(set=values, at_step=at_step))
    if wait:
        control = _answered(client, found.id, control)
    if as_json:
        print_json(control)
    else:
        asked = ", ".join(f"{field} = {json.dumps(value)}" for field, value in control.set.items())
        when = {
            "pending": f"from step {control.at_step} on" if control.at_step else "from the next step on",
            "applied": f"since step {control.applied_step}",
            "refused": f"refused by the trainer: {control.reason}",
            "withdrawn": "withdrawn",
        }[control.state]
        print(f"{found.id} {clean(found.name)}: {asked}, {when}")
    if control.state == "refused":
        raise SystemExit(Exit.FAILED)


def _answered(client: Client, run_id: str, control: ControlInfo) -> ControlInfo:
    say("waiting for the trainer")
    for _ in client.follow(run_id):
        found = next(each for each in client.history(run_id).controls if each.id == control.id)
        if found.state != "pending":
            return found
    raise RefusedError("the run ended before that step", Exit.FAILED)
