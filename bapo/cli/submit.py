"""`bapo submit`: submit a run or a grid of runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bapo.analysis.number_format import counted
from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunCreate, RunDetail
from bapo.api.studies import StudyCreate, StudyPreview, StudyWrite
from bapo.cli.complete import complete_fields, complete_recipes
from bapo.cli.connection import online
from bapo.cli.drafts import MAX_NAME, changes_of_file, default_name, grid_of
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
DraftOption = Annotated[bool, typer.Option("--draft", help="Save as a draft; `bapo start` queues it.")]


@dataclass(frozen=True)
class Labels:
    """Options for the name and the labels of a new run."""

    name: Annotated[
        str | None, typer.Option("--name", help="Name of the run. Default: the recipe and the changes.")
    ] = None
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Tag; repeatable.")] = None
    notes: Annotated[str | None, typer.Option("--notes", help="Notes in Markdown.")] = None
    group: Annotated[str | None, typer.Option("--group", help="Group that the run belongs to.")] = None
    priority: Annotated[
        int | None, typer.Option("--priority", min=0, max=100, help="0 to 100; higher starts first. Default: 50.")
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the labels that are set, except the name."""
        return _given(tags=self.tags, notes=self.notes, group=self.group, priority=self.priority)

    def of_child(self, parent: RunDetail, name: str) -> dict[str, Any]:
        """Return the labels of a clone or fork; the others are those of its parent."""
        inherited = {"tags": parent.tags, "group": parent.group, "priority": parent.priority}
        return {**inherited, **self.given(), "name": self.name or name[:MAX_NAME]}


@dataclass(frozen=True)
class Submission:
    """Options for submitting a run and waiting for its end."""

    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            envvar="BAPO_IDEMPOTENCY_KEY",
            help="Submitting again with the same key returns the first run; use one where a job may be retried.",
        ),
    ] = None
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run ends; the exit code gives the outcome.")] = (
        False
    )
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Wait until the run ends and show its progress.")] = False
    as_json: JsonOption = False

    def print_made(self, client: Client, *made: RunDetail) -> None:
        """Print what was submitted, and wait for its end if asked to."""
        for run in made:
            if not self.as_json:
                print(run.id, flush=True)
            if sys.stderr.isatty() or self.watch:
                say(f"{run.status}: {run.name}")
        runs = list(made)
        if self.wait or self.watch:
            runs = watch_runs(client, runs, quiet=not self.watch)
        if self.as_json:
            print_json(runs[0] if len(runs) == 1 else runs)
        if self.wait or self.watch:
            raise SystemExit(outcome_of(runs))


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
    *,
    labels: Labels,
    project: Annotated[
        str | None, typer.Option("--project", help="Project. Default: your only one, or the parent's.")
    ] = None,
    draft: DraftOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check the config: print its changes and warnings.")
    ] = False,
    submission: Submission,
) -> None:
    """Submit a run and print its id. Nothing else goes to standard output.

    [bold]bapo submit countdown-demo --set method.c1=0.25 --watch[/bold]

    [bold]bapo submit countdown-demo --sweep method.c1=1/8,1/4 --sweep training.seed=1,2,3 --tag c1[/bold]

    [bold]RUN=$(bapo submit my-run.toml --key "$CI_JOB_ID")[/bold]
    """
    options, name = labels.given() | _given(project=project), labels.name
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
        _check(client, options, grid, as_json=submission.as_json)
    elif grid:
        _submit_grid(client, {**options, "grid": grid, "start": not draft}, submission)
    else:
        body = RunCreate.model_validate({**options, "start": not draft})
        submission.print_made(client, client.create_run(body, idempotency_key=submission.key))


def _submit_grid(client: Client, options: dict[str, Any], submission: Submission) -> None:
    if options.pop("group", None) is not None:
        raise RefusedError("--group cannot be combined with --sweep: the runs of a grid are a group")
    study = client.create_study(StudyCreate.model_validate(options), idempotency_key=submission.key)
    say(f"study {study.id}: {counted(study.num_runs, 'run')}")
    submission.print_made(client, *(client.run(run.run_id) for run in study.runs if run.run_id is not None))


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _check(client: Client, options: dict[str, Any], grid: dict[str, list[Any]], *, as_json: bool) -> None:
    if grid:
        plan = {field: options[field] for field in StudyWrite.model_fields if field in options}
        print_plan(client.preview_study(StudyWrite.model_validate({**plan, "grid": grid})), as_json=as_json)
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


def print_plan(plan: StudyPreview, *, as_json: bool) -> None:
    """Print the runs that a plan would make. Raises ConfigError or RefusedError where it cannot be made."""
    if plan.problems:
        raise ConfigError([ConfigProblem(each.field, each.value, each.remedy) for each in plan.problems])
    if as_json:
        print_json(plan)
    else:
        made = table("run", "problem")
        for run in plan.runs:
            made.add_row(user_text(run.name), user_text("; ".join(f"{p.field}: {p.remedy}" for p in run.problems)))
        print_table(made, counted(plan.num_runs, "run"), cut=("problem",))
        for warning in plan.warnings:
            say(f"warning: {warning.field} = {warning.value!r}: {warning.remedy}")
    if plan.num_illegal:
        raise RefusedError(f"{plan.num_illegal} of {plan.num_runs} runs are invalid: nothing would be submitted")
