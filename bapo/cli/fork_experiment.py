"""`bapo fork --arm`: several settings from one checkpoint; how their results are printed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from bapo.analysis.fork.results import repetition_text
from bapo.analysis.number_format import percent, points_text, share_interval
from bapo.api.runs import RunDetail
from bapo.api.studies import ForkExperiment, StudyCreate, StudyWrite
from bapo.cli.complete import complete_fields
from bapo.cli.failures import RefusedError
from bapo.cli.listing import Listing
from bapo.cli.output import say
from bapo.cli.run_lookup import find_run
from bapo.client import Client
from bapo.config import parse_assignments


@dataclass(frozen=True)
class ArmOptions:
    """Options that make an experiment of a fork."""

    arms: Annotated[
        list[str] | None,
        typer.Option(
            "--arm",
            metavar="'FIELD=VALUE …'",
            help="A setting to try; repeatable. Makes an experiment of several forks instead of one.",
            autocompletion=complete_fields,
        ),
    ] = None
    further_steps: Annotated[
        int | None, typer.Option("--for", min=1, help="Steps that every arm of an experiment trains.")
    ] = None
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="RUN:STEP", help="Repeat the experiment from this checkpoint; repeatable."),
    ] = None
    without_unchanged: Annotated[
        bool, typer.Option("--without-unchanged", help="The first --arm is the baseline, not the unchanged settings.")
    ] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check an experiment: its runs and problems.")] = False

    @property
    def is_given(self) -> bool:
        """True if the options ask for an experiment. Raises RefusedError for an option of experiments without an
        arm."""
        if not self.arms and (self.further_steps or self.also or self.without_unchanged or self.dry_run):
            raise RefusedError(
                "--for, --also, --without-unchanged and --dry-run belong to an experiment: give --arm too"
            )
        return bool(self.arms)

    def plan(self, client: Client, parent: RunDetail, step: int, changes: dict[str, Any], name: str) -> StudyWrite:
        """Return the request for the plan."""
        if self.further_steps is None:
            raise RefusedError("an experiment needs --for STEPS: how long every arm trains after the checkpoint")
        checkpoints = [(parent.id, step), *(_checkpoint(client, each) for each in self.also or ())]
        return StudyWrite.model_validate(
            {
                "name": name[:150],
                "checkpoints": [{"run_id": run_id, "step": at} for run_id, at in checkpoints],
                "further_steps": self.further_steps,
                "points": [parse_assignments(_words(each)) for each in self.arms or ()],
                "changes": changes,
                "with_unchanged": not self.without_unchanged,
            }
        )


def _words(arm: str) -> list[str]:
    try:
        return shlex.split(arm)
    except ValueError as error:
        raise RefusedError(f"--arm {arm}: {error}") from None


def _checkpoint(client: Client, text: str) -> tuple[str, int]:
    run, _, step = text.rpartition(":")
    if not run or not step.isdigit():
        raise RefusedError(f"--also {text}: write RUN:STEP, such as kzx3:75")
    return find_run(client, run).id, int(step)


def create_of(plan: StudyWrite, labels: Mapping[str, Any], *, start: bool) -> StudyCreate:
    """Return the request that creates the runs of a plan; a study is its own group."""
    if labels.get("group") is not None:
        raise RefusedError("--group cannot be combined with --arm: the runs of an experiment are a group")
    given = {field: labels[field] for field in ("tags", "notes", "priority") if labels.get(field) is not None}
    return StudyCreate.model_validate({**plan.model_dump(exclude_unset=True), **given, "start": start})


def print_experiment(found: ForkExperiment, title: str) -> None:
    """Print the outcome, the arms, and what the intervals cover."""
    say(found.text)
    arms = Listing[Any](
        {
            "arm": lambda arm: f"{arm.number}",
            "setting": lambda arm: arm.label + {"baseline": " (baseline)", "noise": " (noise)"}.get(arm.role, ""),
            "steps": lambda arm: f"{arm.num_steps}/{found.further_steps}",
            found.dataset or "held-out": lambda arm: (
                None if arm.accuracy is None else percent(arm.accuracy.value) + share_interval(arm.accuracy)
            ),
            "against the baseline": lambda arm: arm.against_baseline and points_text(arm.against_baseline),
            "on fresh prompts": lambda arm: arm.fresh and arm.fresh.difference and points_text(arm.fresh.difference),
        },
        cut=("setting",),
        right=("steps",),
    )
    arms.print(found.arms, title=title)
    say(found.covers)
    if (text := repetition_text(found)) is not None:
        say(text)
