"""`bapo walk`: a recorded step, line by line along its method's rule."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bapo.analysis.walk.answer import StepWalk, WalkGroup, WalkOutcome
from bapo.api.readings import WalkRequest
from bapo.cli.complete import complete_runs
from bapo.cli.connection import Server
from bapo.cli.failures import RefusedError, plain_errors
from bapo.cli.option_sets import with_option_sets
from bapo.cli.output import JsonOption, console, print_json, user_text
from bapo.cli.run_lookup import find_run

_STYLES = {"trained": "blue", "stored": "cyan", "seen": "", "left_out": "dim"}
_LISTED = 3
"""Default number of printed groups per outcome."""


@with_option_sets
def walk_command(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run folder, or a run on the server.", autocompletion=complete_runs)
    ],
    step: Annotated[int | None, typer.Argument(min=1, metavar="STEP", help="Step. Default: the newest.")] = None,
    c1: Annotated[str | None, typer.Option(metavar="VALUE", help="Another c1 for this step, such as 1/4.")] = None,
    c2: Annotated[str | None, typer.Option(metavar="VALUE", help="Another c2 for this step.")] = None,
    c3: Annotated[str | None, typer.Option(metavar="VALUE", help="Another c3 for this step.")] = None,
    groups: Annotated[
        int, typer.Option(min=0, max=1000, help="Maximum number of groups to list per outcome.")
    ] = _LISTED,
    as_json: JsonOption = False,
    *,
    server: Server,
) -> None:
    """Walk through a recorded step, line by line: what each line did with which groups, and why.

    With other thresholds: what they would have done to the groups of this very step.

    [bold]bapo walk kzx3 40[/bold]

    [bold]bapo walk runs/countdown-demo 40 --c1 1/4[/bold]
    """
    with plain_errors():
        if Path(run).is_dir():
            # NumPy takes a while to load, and a server's answer does not need it.
            from bapo.analysis.walk.recorded import read_walk  # noqa: PLC0415
            from bapo.analysis.walk.thresholds import Wanted  # noqa: PLC0415
            from bapo.analysis.walk.walk import Listing  # noqa: PLC0415

            walk = read_walk(Path(run), step, Wanted(c1, c2, c3), Listing(groups))
        else:
            try:
                with server.connected() as client:
                    request = WalkRequest(step=step, c1=c1, c2=c2, c3=c3, limit=groups)
                    walk = client.walk(find_run(client, run).id, request)
            except RefusedError as error:
                raise RefusedError(f"{run} is not a folder here, and on the server: {error}", error.code) from None
    if as_json:
        print_json(walk)
    else:
        _show(walk)


def _show(walk: StepWalk) -> None:
    out = console()
    rule = "Algorithm 1 (arXiv:2602.20722)" if walk.follows_algorithm_1 else f"the rule of {walk.method}"
    out.print(f"Step {walk.step:,} of {walk.last_step:,}, along {rule}")
    if walk.thresholds is not None:
        values = walk.thresholds
        named = ((name, getattr(values, name)) for name in ("c1", "c2", "c3"))
        shown = ", ".join(f"{name} = {value:.4g}" for name, value in named if value is not None)
        out.print(f"{shown}; r_tot = {values.r_tot:.3f}", style="dim")
    for line in walk.lines:
        out.print(user_text(f"\n{line.number:>5}  {line.title}", "bold"))
        out.print(f"       {line.why}", style="dim")
        if line.said:
            out.print(f"       {line.said}")
        for outcome in line.outcomes:
            out.print(
                user_text(f"       {_count(outcome):>12}  {outcome.label}: {outcome.why}", _STYLES[outcome.treatment])
            )
            for group in outcome.groups:
                out.print(user_text(f"{'':23}{_group(group, walk)}", "dim"))
    for sentence in (*walk.not_recorded, *walk.cautions):
        out.print(f"\n{sentence}", style="yellow")


def _count(outcome: WalkOutcome) -> str:
    if outcome.count == outcome.recorded:
        return f"{outcome.count:,}"
    return f"{outcome.recorded:,} → {outcome.count:,}"


def _group(group: WalkGroup, walk: StepWalk) -> str:
    parts = [f"{group.num_correct}/{walk.group_size}"]
    if group.earlier_correct is not None:
        parts.append(f"(was {group.earlier_correct}/{walk.group_size} at step {group.earlier_step:,})")
    elif group.earlier_step is not None:
        parts.append(f"(of step {group.earlier_step:,})")
    text = walk.texts.get(group.prompt_id)
    parts.append(group.prompt_id if text is None else f"{group.prompt_id}  {' '.join(text.split())[:80]}")
    if group.was is not None:
        parts.append(f"[recorded: {group.was}]")
    return " ".join(parts)
