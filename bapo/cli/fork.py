"""`bapo checkpoints`, `bapo fork` and `bapo clone`: runs that come from another run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from bapo.analysis.number_format import counted
from bapo.api.artifacts import CheckpointInfo, CheckpointPage
from bapo.api.runs import RunCreate, RunFork
from bapo.api.studies import StudyWrite
from bapo.cli.artifacts import size_text
from bapo.cli.connection import online
from bapo.cli.drafts import label_of
from bapo.cli.failures import Exit, RefusedError
from bapo.cli.fork_experiment import ArmOptions, create_of
from bapo.cli.listing import Listing, listed
from bapo.cli.output import percent, say
from bapo.cli.prompt_files import identities_of
from bapo.cli.run_lookup import RunArgument, find_run
from bapo.cli.submit import DraftOption, Labels, SetOption, Submission, print_plan
from bapo.client import Client
from bapo.config import parse_assignments

EXCLUDED = "task.exclude_prompts"
CHECKPOINTS = Listing[CheckpointInfo](
    {
        "step": lambda checkpoint: checkpoint.step,
        "written": lambda checkpoint: checkpoint.written_at,
        "size": lambda checkpoint: size_text(checkpoint.num_bytes),
        "evaluations": lambda checkpoint: ", ".join(
            f"{name} {percent(value)}" for name, value in sorted(checkpoint.evaluations.items())
        ),
    },
    right=("size",),
    empty="the run keeps no checkpoint",
)


@listed(CHECKPOINTS)
def checkpoints(client: Client, run: RunArgument) -> CheckpointPage:
    """List the checkpoints that a run can be forked or downloaded from."""
    return client.checkpoints(find_run(client, run).id)


@online
def fork(
    client: Client,
    run: RunArgument,
    step: Annotated[
        int | None, typer.Option("--step", min=1, help="Checkpoint to continue from. Default: the newest.")
    ] = None,
    assignments: SetOption = None,
    *,
    labels: Labels,
    draft: DraftOption = False,
    experiment: ArmOptions,
    submission: Submission,
) -> None:
    """Submit a run that continues from a checkpoint of another, with changes. Prints its id.

    With `--arm`, submit several, each with its own changes and one without: `bapo study show` compares them.

    [bold]bapo checkpoints kzx3[/bold]

    [bold]bapo fork kzx3 --step 100 --set method.c1=1/4[/bold]

    [bold]bapo fork kzx3 --step 100 --arm method.c1=1/4 --arm 'method.c1=1/4 method.v=3' --for 40[/bold]
    """
    parent = find_run(client, run)
    if step is None:
        kept = client.checkpoints(parent.id).items
        if not kept:
            raise RefusedError(f"run {parent.id} keeps no checkpoint: `bapo clone` starts from its config", Exit.FAILED)
        step = kept[0].step
    changes = parse_assignments(assignments or ())
    name = f"{parent.name} from step {step} {label_of(changes)}".strip()
    if experiment.is_given:
        _submit_experiment(
            client,
            experiment.plan(client, parent, step, changes, labels.name or name),
            submission,
            labels.given(),
            is_draft=draft,
            is_dry=experiment.dry_run,
        )
        return
    content = {**labels.of_child(parent, name), "step": step, "changes": changes, "start": not draft}
    made = client.fork(parent.id, RunFork.model_validate(content), idempotency_key=submission.key)
    submission.print_made(client, made)


def _submit_experiment(
    client: Client,
    plan: StudyWrite,
    submission: Submission,
    labels: Mapping[str, Any],
    *,
    is_draft: bool,
    is_dry: bool,
) -> None:
    if is_dry:
        print_plan(client.preview_study(plan), as_json=submission.as_json)
        return
    study = client.create_study(create_of(plan, labels, start=not is_draft), idempotency_key=submission.key)
    say(f"study {study.id}: {counted(study.num_runs, 'run')}; `bapo study show {study.id}` compares them")
    submission.print_made(client, *(client.run(run.run_id) for run in study.runs if run.run_id is not None))


@online
def clone(
    client: Client,
    run: RunArgument,
    assignments: SetOption = None,
    without_prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Leave these prompts out of training: what `bapo findings RUN --prompts KIND` prints."
        ),
    ] = None,
    *,
    labels: Labels,
    draft: DraftOption = False,
    submission: Submission,
) -> None:
    """Submit a run with another's config and changes to it. Prints its id.

    Tags, group and priority default to the parent's. Training starts from the beginning.

    [bold]bapo clone kzx3 --set training.seed=2[/bold]

    [bold]bapo clone kzx3 --without-prompts never-solved.csv[/bold]
    """
    parent = find_run(client, run)
    changes = parse_assignments(assignments or ())
    label = label_of(changes)
    if without_prompts is not None:
        listed = identities_of(without_prompts)
        label = f"{label} without {counted(len(listed), 'prompt')}".strip()
        before = parent.config["task"].get("exclude_prompts", ())
        changes = {**changes, EXCLUDED: list(dict.fromkeys([*before, *listed]))}
    name = f"{parent.name} {label or 'again'}"
    body = RunCreate.model_validate({**labels.of_child(parent, name), "changes": changes, "start": not draft})
    submission.print_made(client, client.clone(parent.id, body, idempotency_key=submission.key))
