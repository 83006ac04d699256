"""`bapo start`, `stop`, `pause`, `resume` and `retry`: change the state of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Annotated, Literal

import typer

from bapo.api.runs import BulkAction, BulkRequest, RunDetail, RunSummary
from bapo.cli.connection import online
from bapo.cli.failures import Exit
from bapo.cli.output import JsonOption, clean, print_json, say
from bapo.cli.run_lookup import RunsArgument, find_runs
from bapo.client import ApiError, Client


class StopWhen(StrEnum):
    """Times at which a stop takes effect."""

    NOW = "now"
    STEP = "step"
    CHECKPOINT = "checkpoint"


class PauseWhen(StrEnum):
    """Times at which a pause takes effect."""

    STEP = "step"
    CHECKPOINT = "checkpoint"


@online
def start(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Queue drafts for the workers."""
    each_run(client, runs, client.start, as_json=as_json)


@online
def stop(
    client: Client,
    runs: RunsArgument,
    when: Annotated[
        StopWhen,
        typer.Option(
            help="step: after the current step, with a checkpoint. checkpoint: after the next regular checkpoint. "
            "now: at once, losing the steps since the last checkpoint."
        ),
    ] = StopWhen.STEP,
    as_json: JsonOption = False,
) -> None:
    """Stop runs for good.

    [bold]bapo stop kzx3 m2v8 --when checkpoint[/bold]
    """
    lost: dict[str, int] = {}

    def act(run_id: str) -> RunDetail:
        answer = client.stop(run_id, when.value)
        lost[run_id] = answer.steps_lost
        return answer

    each_run(client, runs, act, as_json=as_json)
    for run_id, steps in lost.items():
        if steps:
            say(f"{run_id}: {steps:,} completed steps after the last checkpoint are lost")


@online
def pause(
    client: Client,
    runs: RunsArgument,
    when: Annotated[
        PauseWhen, typer.Option(help="step: after the current step. checkpoint: after the next regular checkpoint.")
    ] = PauseWhen.STEP,
    as_json: JsonOption = False,
) -> None:
    """Pause runs: write a checkpoint and free their machines. `bapo resume` continues them."""
    moment: Literal["step", "checkpoint"] = "step" if when is PauseWhen.STEP else "checkpoint"
    each_run(client, runs, lambda run_id: client.pause(run_id, moment), as_json=as_json)


@online
def resume(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Resume paused runs from their last checkpoint."""
    each_run(client, runs, client.resume, as_json=as_json)


@online
def retry(client: Client, runs: RunsArgument, as_json: JsonOption = False) -> None:
    """Queue failed runs again; they resume from their last checkpoint."""
    each_run(client, runs, client.retry, as_json=as_json)


def each_run(
    client: Client,
    wanted: Sequence[str],
    act: Callable[[str], RunDetail],
    *,
    as_json: bool,
    done: str | None = None,
) -> None:
    """Act on each run in turn. A refusal does not stop the others, and shows in the exit code."""
    changed, refused = [], 0
    for run in find_runs(client, wanted):
        try:
            now = act(run.id)
        except ApiError as error:
            refused += 1
            say(f"{run.id} {clean(run.name)}: {error.remedy}")
            continue
        changed.append(now)
        if not as_json:
            print(f"{now.id} {clean(now.name)}: {done or now.status}")
    if as_json:
        print_json(changed)
    if refused:
        raise SystemExit(Exit.FAILED)


def bulk(
    client: Client,
    runs: Sequence[RunSummary],
    action: BulkAction,
    done: str,
    *,
    tag: str | None = None,
    as_json: bool,
) -> None:
    """Act on all runs in one request."""
    names = {run.id: run.name for run in runs}
    asked = {"run_ids": list(names), "action": action} | ({} if tag is None else {"tag": tag})
    answer = client.bulk(BulkRequest.model_validate(asked))
    for result in answer.results:
        text = f"{result.run_id} {clean(names[result.run_id])}: {done if result.done else result.reason}"
        if not result.done:
            say(text)
        elif not as_json:
            print(text)
    if as_json:
        print_json(answer)
    if answer.num_done < len(answer.results):
        raise SystemExit(Exit.FAILED)
