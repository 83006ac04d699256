"""`bapo submit`: a run, or a grid of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bapo.api import ConfigDraft, RunCreate, RunDetail
from bapo.cli.complete import complete_fields, complete_recipes
from bapo.cli.connection import online
from bapo.cli.drafts import MAX_NAME, Point, changes_of_file, combinations, default_name
from bapo.cli.output import JsonOption, print_json, print_table, say, table, user_text
from bapo.cli.watch import outcome_of, watch_runs
from bapo.client import Client
from bapo.config import parse_assignments

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a config field; repeatable. `bapo config` explains them all.",
        autocompletion=complete_fields,
    ),
]
NameOption = Annotated[str | None, typer.Option("--name", help="Default: the recipe, and what is changed.")]
TagsOption = Annotated[list[str] | None, typer.Option("--tag", help="A word or two to find it by; repeatable.")]
NotesOption = Annotated[str | None, typer.Option("--notes", help="Markdown.")]
GroupOption = Annotated[str | None, typer.Option("--group", help="Runs with the same group belong together.")]
PriorityOption = Annotated[
    int | None, typer.Option("--priority", min=0, max=100, help="Higher starts first. Default: 50.")
]
DraftOption = Annotated[bool, typer.Option("--draft", help="Keep it as a draft; `bapo start` queues it.")]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="BAPO_IDEMPOTENCY_KEY",
        help="The same key again answers the run that the first command made: give one where a job may be retried.",
    ),
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait for the end; the exit code tells the outcome.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Wait for the end, and show the progress.")]


@online
def submit(
    client: Client,
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|FILE",
            help="Name of a recipe (`bapo recipes` lists them), or a .toml or .json file with the config.",
            autocompletion=complete_recipes,
        ),
    ],
    assignments: SetOption = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="FIELD=V1,V2",
            help="One run for each value; repeated: for each combination. Commas inside values: a JSON list.",
            autocompletion=complete_fields,
        ),
    ] = None,
    name: NameOption = None,
    tags: TagsOption = None,
    notes: NotesOption = None,
    group: GroupOption = None,
    priority: PriorityOption = None,
    draft: DraftOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check it: print what it changes and what to beware of.")
    ] = False,
    key: KeyOption = None,
    wait: WaitOption = False,
    watch: WatchOption = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a run. Prints its id on standard output, and nothing else there.

    [bold]bapo submit countdown-demo --set method.c1=0.25 --watch[/bold]

    [bold]bapo submit countdown-demo --sweep method.c1=1/8,1/4 --sweep training.seed=1,2,3 --tag c1[/bold]

    [bold]RUN=$(bapo submit my-run.toml --key "$CI_JOB_ID")[/bold]
    """
    options = _given(tags=tags, notes=notes, group=group, priority=priority)
    if Path(source).suffix in (".toml", ".json"):
        in_file = changes_of_file(Path(source))
        recipe, changes = in_file.recipe, dict(in_file.changes)
        name = name or in_file.name
        options = {**in_file.options, **options}
    else:
        recipe, changes = source, {}
    changes |= parse_assignments(assignments or ())
    bodies = [
        RunCreate.model_validate(
            {
                **options,
                **_given(recipe=recipe),
                "name": name_of(name, source, changes, point),
                "changes": {**changes, **point.values},
                "start": not draft,
            }
        )
        for point in combinations(sweep or ())
    ]
    if dry_run:
        for body in bodies:
            _check(client, body, as_json=as_json)
        return
    # The whole grid is checked before its first run is submitted.
    for body in bodies if len(bodies) > 1 else ():
        client.validate(_draft(body))
    keys = [None if key is None else key if len(bodies) == 1 else f"{key}:{index}" for index in range(len(bodies))]
    made = [client.create_run(body, idempotency_key=each) for body, each in zip(bodies, keys, strict=True)]
    tell(client, made, wait=wait, watch=watch, as_json=as_json)


def tell(client: Client, made: list[RunDetail], *, wait: bool, watch: bool, as_json: bool) -> None:
    """Print what was submitted, and stay until its end where that is asked for."""
    for run in made:
        if not as_json:
            print(run.id, flush=True)
        if sys.stderr.isatty() or watch:
            say(f"{run.status}: {run.name}")
    if wait or watch:
        made = watch_runs(client, made, quiet=not watch)
    if as_json:
        print_json(made[0] if len(made) == 1 else made)
    if wait or watch:
        raise SystemExit(outcome_of(made))


def name_of(name: str | None, source: str, changes: Mapping[str, Any], point: Point) -> str:
    """What was given, with what sets this point of a grid apart; else the recipe, and all that is changed."""
    if name is None:
        return default_name(source, {**changes, **point.values})
    return f"{name} {point.label}".strip()[:MAX_NAME]


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _draft(body: RunCreate) -> ConfigDraft:
    return ConfigDraft(recipe=body.recipe, parent_id=body.parent_id, changes=body.changes)


def _check(client: Client, body: RunCreate, *, as_json: bool) -> None:
    report = client.validate(_draft(body))
    if as_json:
        print_json(report)
        return
    made = table("field", "recipe", "this run")
    for field, (before, after) in report.diff.items():
        made.add_row(field, user_text(str(before)), user_text(str(after)))
    print_table(made, body.name)
    for warning in report.warnings:
        say(f"warning: {warning.field} = {warning.value!r}: {warning.remedy}")
