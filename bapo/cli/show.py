"""`bapo show`: one run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from bapo.api.runs import AuditEntry, ControlInfo, History, RunDetail
from bapo.cli.connection import online
from bapo.cli.listing import Listing
from bapo.cli.output import (
    JsonOption,
    ago,
    clean,
    console,
    duration,
    number,
    percent,
    print_json,
    print_table,
    status_text,
    table,
    user_text,
)
from bapo.cli.run_lookup import RunArgument, find_run
from bapo.client import Client
from bapo.config.method import method_name
from bapo.config.resolve import flatten


@online
def show(
    client: Client,
    run: RunArgument,
    config: Annotated[bool, typer.Option("--config", help="Print the complete config as FIELD = VALUE.")] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Print what users did and how the trainer answered.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show one run: state, progress, results, config changes and notes.

    [bold]bapo show kzx3[/bold]

    [bold]bapo show "BAPO, wider c1" --history[/bold]
    """
    found = find_run(client, run)
    if history:
        events = client.history(found.id)
        if as_json:
            print_json(events)
        else:
            _print_history(events)
    elif config and as_json:
        print_json(found.config)
    elif config:
        for field, value in flatten(found.config).items():
            print(f"{field} = {json.dumps(value)}")
    elif as_json:
        print_json(found)
    else:
        _print_run(found)


def _print_run(run: RunDetail) -> None:
    grid = table("", "")
    grid.show_header = False
    grid.columns[1].no_wrap = False
    grid.columns[1].overflow = "fold"
    for label, value in _facts(run):
        grid.add_row(Text(label, style="dim"), value)
    console().print(Text(clean(run.name), style="bold"))
    print_table(grid)
    if run.diff:
        origin = "the parent run" if run.parent_id else run.recipe or "the defaults"
        console().print()
        CHANGES.print(list(run.diff.items()), title=f"Config changes from {origin}")
    if run.notes:
        console().print()
        console().print(Text(clean(run.notes)))


def _facts(run: RunDetail) -> list[tuple[str, Text]]:
    share = run.step / run.num_steps if run.num_steps else 0.0
    progress = f"{run.step:,} of {run.num_steps:,} steps ({share:.0%})" if run.num_steps else f"step {run.step:,}"
    if run.eta_seconds is not None and run.status == "running":
        progress += f", {duration(run.eta_seconds)} left"
    if run.stop_seconds is not None:
        progress += f", stops within about {duration(run.stop_seconds)}"
    facts = [("id", Text(run.id)), ("status", status_text(run.status)), ("progress", Text(progress))]
    if run.status_reason:
        facts.append(("reason", Text(clean(run.status_reason))))
    if run.eval_name is not None:
        best = "" if run.eval_best is None else f", best {percent(run.eval_best)} at step {run.eval_best_step:,}"
        text = f"{percent(run.eval_base)} → {percent(run.eval_latest)}{best}"
        facts.append((run.eval_name, Text(text)))
    origin = run.recipe or NOTHING_SET
    facts += [
        ("reward", Text(number(run.reward_mean, ".3f"))),
        ("method", user_text(f"{method_name(run.method)}, {origin}")),
        ("rollouts", Text(f"{run.num_rollouts:,}")),
        ("attempt", user_text(f"{run.attempt}" + (f", on {run.worker}" if run.worker else ""))),
        (
            "compute",
            Text(f"{run.compute_hours:.2f} h" + ("" if run.cost is None else f", {run.cost:,.2f} {run.currency}")),
        ),
        ("priority", Text(f"{run.priority}")),
        ("owner", user_text(run.owner)),
        ("created", Text(f"{run.created_at:%Y-%m-%d %H:%M} UTC, {ago(run.created_at)}")),
    ]
    for label, value in (
        ("parent", run.parent_id),
        ("project", run.project),
        ("group", run.group),
        ("study", run.study_id),
        ("tags", ", ".join(run.tags)),
    ):
        if value:
            facts.append((label, user_text(value)))
    facts.append(("actions", Text(", ".join(run.allowed_actions) or "none")))
    return facts


def value_text(value: Any) -> str:
    """Format a value of a config as people write it."""
    return json.dumps(value, ensure_ascii=False)


NOTHING_SET = "no recipe"


CHANGES = Listing[tuple[str, Sequence[Any]]](
    {
        "field": lambda change: change[0],
        "before": lambda change: value_text(change[1][0]),
        "now": lambda change: value_text(change[1][1]),
    }
)
ACTIONS = Listing[AuditEntry](
    {
        "time": lambda entry: f"{entry.at:%Y-%m-%d %H:%M:%S}",
        "user": lambda entry: entry.author,
        "action": lambda entry: entry.action,
        "detail": lambda entry: ", ".join(f"{key} {value_text(value)}" for key, value in entry.detail.items()),
    }
)
REQUESTS = Listing[ControlInfo](
    {
        "id": lambda control: control.id,
        "time": lambda control: f"{control.created_at:%Y-%m-%d %H:%M:%S}",
        "user": lambda control: control.author,
        "request": lambda control: " ".join(
            [control.kind, ", ".join(f"{field}={value_text(value)}" for field, value in control.set.items())]
        ).strip(),
        "state": lambda control: control.state,
        "at step": lambda control: control.applied_step if control.applied_step is not None else control.at_step,
        "reason": lambda control: control.reason or "",
    }
)


def _print_history(history: History) -> None:
    ACTIONS.print(history.audit)
    if history.controls:
        console().print()
        REQUESTS.print(history.controls, title="Requests to the trainer")
