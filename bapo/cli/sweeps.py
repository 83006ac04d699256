"""`bapo sweeps`: several runs made and read as one; `bapo submit --sweep` makes them."""

from __future__ import annotations

from typing import Annotated, Any, cast

import typer
from rich.text import Text

from bapo.api.sweeps import SweepAction, SweepActionRequest, SweepDetail
from bapo.cli.connection import online
from bapo.cli.drafts import label_of
from bapo.cli.failures import Exit
from bapo.cli.lazy import group
from bapo.cli.life import StopWhen
from bapo.cli.output import (
    NOTHING,
    JsonOption,
    ago,
    percent,
    print_json,
    print_table,
    say,
    status_text,
    table,
    tell,
    user_text,
)
from bapo.client import Client

app = group("Several runs that are read as one.")

SweepArgument = Annotated[str, typer.Argument(metavar="SWEEP", help="Id, as `bapo sweeps list` shows it.")]


@app.command("list")
@online
def list_sweeps(
    client: Client,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="At most so many.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """List the sweeps, the newest first."""
    page = client.sweeps(limit=limit)
    if as_json:
        print_json(page)
        return
    if not page.items:
        say("there is no sweep yet: `bapo submit RECIPE --sweep FIELD=V1,V2` makes one")
        return
    made = table(
        "id", "name", "varies", "runs", "states", "done", "owner", "created", right=("runs", "done", "created")
    )
    for sweep in page.items:
        done = percent(sweep.steps_done / sweep.steps_planned if sweep.steps_planned else None)
        made.add_row(
            sweep.id,
            user_text(sweep.name),
            user_text(", ".join(sweep.fields)),
            f"{sweep.num_runs}",
            ", ".join(f"{count} {status}" for status, count in sweep.statuses.items()),
            done,
            user_text(sweep.owner),
            ago(sweep.created_at),
        )
    print_table(made, cut=("name", "varies", "owner"))


@app.command("show")
@online
def show(
    client: Client,
    sweep: SweepArgument,
    ids: Annotated[bool, typer.Option("--ids", "-q", help="Print the runs' ids only.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a sweep: its runs, and its results by setting with intervals over seeds.

    [bold]bapo watch $(bapo sweeps show a7f3k2m9qe --ids)[/bold]
    """
    found = client.sweep(sweep)
    if as_json:
        print_json(found)
    elif ids:
        for run in found.runs:
            print(run.id)
    else:
        _print(found)


def _print(sweep: SweepDetail) -> None:
    settings = table(
        "setting", "runs", sweep.eval_name or "evaluation", "95 % interval", "best", right=("runs", "best")
    )
    for each in sweep.settings:
        known = each.latest_low is not None and each.latest_high is not None
        interval = f"{percent(each.latest_low)} to {percent(each.latest_high)}" if known else NOTHING
        settings.add_row(
            user_text(label_of(each.set)), f"{len(each.run_ids)}", percent(each.latest), interval, percent(each.best)
        )
    print_table(settings, f"{sweep.name}: results by setting")
    runs = table("id", "setting", "status", "step", "eval", "best", right=("step", "eval", "best"))
    for run in sweep.runs:
        runs.add_row(
            Text(run.id, style="bold"),
            user_text(label_of(run.set)),
            status_text(run.status),
            f"{run.step:,}/{run.num_steps:,}",
            percent(run.eval_latest),
            percent(run.eval_best),
        )
    print()
    print_table(runs, "Runs", cut=("setting",))


def _change(client: Client, sweep: str, action: SweepAction, when: StopWhen = StopWhen.STEP, *, as_json: bool) -> None:
    asked: dict[str, Any] = {"action": action} | ({"when": when.value} if action in ("stop", "pause") else {})
    answer = client.change_sweep(sweep, SweepActionRequest.model_validate(asked))
    line = f"{sweep}: {action} done to {answer.num_done} runs, {answer.num_left} left as they are"
    tell(answer, line, as_json=as_json)
    for run_id, reason in answer.refused.items():
        say(f"{run_id}: {reason}")
    if answer.refused:
        raise SystemExit(Exit.FAILED)


def _command(action: SweepAction, text: str) -> None:
    """Commands that take nothing but the sweep are alike."""

    @app.command(action, help=text)
    @online
    def command(client: Client, sweep: SweepArgument, as_json: JsonOption = False) -> None:
        _change(client, sweep, action, as_json=as_json)


for _action, _text in (
    ("start", "Queue the drafts of a sweep."),
    ("resume", "Let the paused runs of a sweep go on."),
    ("hold", "Keep the waiting runs of a sweep from starting."),
    ("release", "Let held runs of a sweep start."),
):
    _command(cast(SweepAction, _action), _text)

WhenOption = Annotated[StopWhen, typer.Option(help="As for one run: `bapo stop --help`.")]


@app.command("stop")
@online
def stop(client: Client, sweep: SweepArgument, when: WhenOption = StopWhen.STEP, as_json: JsonOption = False) -> None:
    """Stop all runs of a sweep for good."""
    _change(client, sweep, "stop", when, as_json=as_json)


@app.command("pause")
@online
def pause(client: Client, sweep: SweepArgument, when: WhenOption = StopWhen.STEP, as_json: JsonOption = False) -> None:
    """Pause all runs of a sweep that train or wait."""
    _change(client, sweep, "pause", when, as_json=as_json)
