"""`bapo submit`: submit a run or a grid of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunCreate, RunDetail
from bapo.api.studies import StudyCreate, StudyPreview, StudyWrite
from bapo.cli.complete import complete_fields, complete_recipes
from bapo.cli.connection import online
from bapo.cli.drafts import changes_of_file, default_name, grid_of
from bapo.cli.failures import RefusedError
from bapo.cli.output import JsonOption, print_json, print_table, say, table, user_text
from bapo.cli.show import value_text
from bapo.cli.watch import outcome_of, watch_runs
from bapo.client import Client
from bapo.config import ConfigError, ConfigProblem, parse_assignments

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="FIELD=VALUE",
        help="Change a config field; repeatable. `bapo config` lists them.",
        autocompletion=complete_fields,
    ),
]
NameOption = Annotated[str | None, typer.Option("--name", help="Name of the run. Default: the recipe and the changes.")]
TagsOption = Annotated[list[str] | None, typer.Option("--tag", help="Tag; repeatable.")]
NotesOption = Annotated[str | None, typer.Option("--notes", help="Notes in Markdown.")]
GroupOption = Annotated[str | None, typer.Option("--group", help="Group that the run belongs to.")]
PriorityOption = Annotated[
    int | None, typer.Option("--priority", min=0, max=100, help="0 to 100; higher starts first. Default: 50.")
]
ProjectOption = Annotated[
    str | None, typer.Option("--project", help="Project. Default: your only one, or the parent's.")
]
DraftOption = Annotated[bool, typer.Option("--draft", help="Save as a draft; `bapo start` queues it.")]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="BAPO_IDEMPOTENCY_KEY",
        help="Submitting again with the same key returns the first run; use one where a job may be retried.",
    ),
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until the run ends; the exit code gives the outcome.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Wait until the run ends and show its progress.")]


@online
def submit(
    client: Client,
    source: Annotated[
        str,
        typer.Argument(
            metavar="RECIPE|FILE",
            help="Recipe (see `bapo recipes`), or a .toml or .json file with the config.",
            autocompletion=complete_recipes,
        ),
    ],
    assignments: SetOption = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="FIELD=V1,V2",
            help="One run per value; repeat for every combination. Write a JSON list for values with commas.",
            autocompletion=complete_fields,
        ),
    ] = None,
    name: NameOption = None,
    tags: TagsOption = None,
    notes: NotesOption = None,
    group: GroupOption = None,
    priority: PriorityOption = None,
    project: ProjectOption = None,
    draft: DraftOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the config: print its changes and warnings.")
    ] = False,
    key: KeyOption = None,
    wait: WaitOption = False,
    watch: WatchOption = False,
    as_json: JsonOption = False,
) -> None:
    """Submit a run and print its id. Nothing else goes to standard output.

    [bold]bapo submit countdown-demo --set method.c1=0.25 --watch[/bold]

    [bold]bapo submit countdown-demo --sweep method.c1=1/8,1/4 --sweep training.seed=1,2,3 --tag c1[/bold]

    [bold]RUN=$(bapo submit my-run.toml --key "$CI_JOB_ID")[/bold]
    """
    options = _given(tags=tags, notes=notes, group=group, priority=priority, project=project)
    if Path(source).suffix in (".toml", ".json"):
        in_file = changes_of_file(Path(source))
        recipe, changes = in_file.recipe, dict(in_file.changes)
        name = name or in_file.name
        options = {**in_file.options, **options}
    else:
        recipe, changes = source, {}
    changes |= parse_assignments(assignments or ())
    options |= _given(recipe=recipe) | {"changes": changes, "name": name or default_name(source, changes)}
    grid = grid_of(sweep or ())
    if dry_run:
        _check(client, options, grid, as_json=as_json)
    elif grid:
        plan = {**options, "grid": grid, "start": not draft}
        _submit_grid(client, plan, key, wait=wait, watch=watch, as_json=as_json)
    else:
        body = RunCreate.model_validate({**options, "start": not draft})
        tell(client, [client.create_run(body, idempotency_key=key)], wait=wait, watch=watch, as_json=as_json)


def _submit_grid(
    client: Client, options: dict[str, Any], key: str | None, *, wait: bool, watch: bool, as_json: bool
) -> None:
    if options.pop("group", None) is not None:
        raise RefusedError("--group cannot be combined with --sweep: the runs of a grid are a group")
    study = client.create_study(StudyCreate.model_validate(options), idempotency_key=key)
    say(f"study {study.id}: {study.num_runs} runs")
    made = [client.run(run.run_id) for run in study.runs if run.run_id is not None]
    tell(client, made, wait=wait, watch=watch, as_json=as_json)


def tell(client: Client, made: list[RunDetail], *, wait: bool, watch: bool, as_json: bool) -> None:
    """Print what was submitted, and wait for its end if asked to."""
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


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _check(client: Client, options: dict[str, Any], grid: dict[str, list[Any]], *, as_json: bool) -> None:
    if grid:
        plan = {field: options[field] for field in StudyWrite.model_fields if field in options}
        _print_plan(client.preview_study(StudyWrite.model_validate({**plan, "grid": grid})), as_json=as_json)
        return
    draft = {field: options[field] for field in ConfigDraft.model_fields if field in options}
    report = client.validate(ConfigDraft.model_validate(draft))
    if as_json:
        print_json(report)
        return
    made = table("field", "recipe", "this run")
    for field, (before, after) in report.diff.items():
        made.add_row(field, user_text(value_text(before)), user_text(value_text(after)))
    print_table(made, options["name"])
    for warning in report.warnings:
        say(f"warning: {warning.field} = {warning.value!r}: {warning.remedy}")


def _print_plan(plan: StudyPreview, *, as_json: bool) -> None:
    if plan.problems:
        raise ConfigError([ConfigProblem(each.field, each.value, each.remedy) for each in plan.problems])
    if as_json:
        print_json(plan)
    else:
        made = table("run", "problem")
        for run in plan.runs:
            made.add_row(user_text(run.name), user_text("; ".join(f"{p.field}: {p.remedy}" for p in run.problems)))
        print_table(made, f"{plan.num_runs} runs", cut=("problem",))
    if plan.num_illegal:
        raise RefusedError(f"{plan.num_illegal} of {plan.num_runs} runs are invalid: nothing would be submitted")
