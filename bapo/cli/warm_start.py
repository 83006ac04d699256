"""`bapo warm-start`: supervised training of a model on right responses, before RL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic_core import to_jsonable_python
from rich.progress import Progress

from bapo.cli.failures import plain_errors
from bapo.cli.output import notes
from bapo.cli.planned import planned_run
from bapo.config import ConfigError, ConfigProblem, RunConfig, apply_changes, resolve
from bapo.config.warm_start import USUAL_STEPS
from bapo.tasks import build_task


def warm_start_model(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model and its tokenizer.")],
    model: Annotated[
        str | None,
        typer.Argument(
            help="Folder of a Hugging Face model, or the name of a shipped one. Left out: the small Countdown model is "
            "made from scratch, as the shipped one was."
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Argument(
            help="Data file (.jsonl, .parquet), a recipe, or a run's folder such as a probe's, for its task."
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Change a config field of the planned run; repeatable."),
    ] = None,
    source: Annotated[
        Literal["solutions", "base"] | None,
        typer.Option(
            "--from",
            help="Learn from worked solutions of the training problems, or from the model's own responses that the "
            "verifier accepts. Default: solutions, where the task has some.",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help=f"Training steps. Default: those of the planned run, else {USUAL_STEPS}.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Responses per step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(min=1e-9, max=1, help="Peak learning rate.")] = None,
    problems: Annotated[
        int | None, typer.Option(min=1, help="Problems that the model answers, with --from base.")
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0.01, max=2, help="Temperature of its answers, with --from base.")
    ] = None,
    evaluated: Annotated[
        int | None, typer.Option(min=1, help="Problems to evaluate before and after, over all held-out sets.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the order of responses, or of the Countdown model.")
    ] = None,
) -> None:
    """Train a model on right responses, so that RL has something to reinforce: minutes, before hours.

    A model that never answers right, or never in the form that the verifier reads, gives RL nothing to learn from:
    `bapo probe` finds that out. A run with `warm_start.steps` does the same before its first step. The last line of
    standard output is JSON: losses, accuracies before and after, seconds.

    [bold]bapo warm-start models/smollm2 gsm-mini --out models/smollm2-warm[/bold]

    [bold]bapo warm-start models/smollm2 train.jsonl --from base --out models/smollm2-warm[/bold]
    """
    given = {
        "source": source,
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "num_answered": problems,
        "temperature": temperature,
        "num_evaluated": evaluated,
        "seed": seed,
    }
    with plain_errors():
        changes = {field: value for field, value in given.items() if value is not None}
        config = None if model is None else _config(model, data, assignments or [], changes)
        # Imports PyTorch.
        from bapo.engines.local.countdown_base import RECIPE, countdown_base  # noqa: PLC0415
        from bapo.engines.local.supervised import TrainingProgress  # noqa: PLC0415
        from bapo.engines.local.warm_start import warm_start  # noqa: PLC0415

        with Progress(console=notes(), disable=not notes().is_terminal) as progress:
            task = progress.add_task("warm start", total=None)

            def show(now: TrainingProgress) -> None:
                progress.update(task, total=now.num_steps, completed=now.step, description=f"loss {now.loss:.3f}")

            if config is None:
                report = countdown_base(out, replace(RECIPE, seed=seed or 0), on_progress=show)
            else:
                report = warm_start(config, build_task(config.task), out, on_progress=show, say=notes().print)
    print(json.dumps(to_jsonable_python(report)))


def _config(model: str, data: str | None, assignments: list[str], changes: Mapping[str, Any]) -> RunConfig:
    """Return the planned run with a warm start: its own or the usual one, with these changes."""
    if data is None:
        remedy = "name the problems to learn from: a data file, a recipe, or a probe's folder"
        raise ConfigError([ConfigProblem("DATA", None, remedy)])
    planned = planned_run(model, data, assignments)
    usual = {} if planned.config.warm_start.steps else {"steps": USUAL_STEPS}
    fields = {f"warm_start.{field}": value for field, value in {**usual, **changes}.items()}
    return resolve(apply_changes(planned.explicit, fields)).config
