"""`bapo train`: train in this process, without a server."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bapo.cli.failures import plain_errors
from bapo.cli.progress import TrainingProgress
from bapo.cli.prompt_files import entries_of
from bapo.config import RunConfig, apply_changes, parse_assignments, resolve
from bapo.config.prompt_weights import texts_of
from bapo.config.recipes import load_recipe
from bapo.engines.verl.interpreter import trainer_python

if TYPE_CHECKING:
    from bapo.run.trainer import TrainingSummary

EXIT_STOPPED = 3


def train(
    recipe: Annotated[str, typer.Argument(help="Recipe (see `bapo recipes`) or a .toml file.")],
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Change a config field; repeatable. `bapo config` lists them."
        ),
    ] = None,
    prompt_list: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Leave out or weigh prompts: a CSV file with prompt_id and action or weight, as "
            "`bapo prompts export` prints it.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Run folder. Default: runs/RECIPE."),
    ] = None,
) -> None:
    """Train a run in this process. The same command on the same folder resumes from its last checkpoint.

    Ctrl-C stops after the current step, with a checkpoint. The last line of standard output is a JSON summary.
    """
    with plain_errors():
        starting_point = load_recipe(recipe)
        changes = parse_assignments(assignments or [])
        if prompt_list is not None:
            changes["task.prompt_weights"] = texts_of({each.prompt_id: each.weight for each in entries_of(prompt_list)})
        config = resolve(apply_changes(starting_point.explicit, changes)).config
        summary = train_here(config, out or Path("runs") / starting_point.name)
    print(summary.model_dump_json(), flush=True)
    if summary.status == "stopped":
        raise SystemExit(EXIT_STOPPED)


def train_here(config: RunConfig, run_folder: Path) -> TrainingSummary:
    """Train in this process with its progress on standard error, or as the same command where verl is installed."""
    python = trainer_python(config)
    if python != sys.executable:
        os.execv(python, [python, "-m", "bapo", *sys.argv[1:]])  # noqa: S606  (the same command, where verl is)
    stop = threading.Event()
    with TrainingProgress(config.training.steps) as progress:
        for warning in config.warnings:
            progress.say(f"warning: {warning}")
        progress.say(f"run folder: {run_folder}; loading the model")

        def stop_soon(number: int, _: object) -> None:
            # The second one ends at once.
            signal.signal(number, signal.SIG_DFL)
            stop.set()
            # From a thread: the signal may have come in the middle of another line, which refuses to be interrupted.
            threading.Thread(target=progress.say, args=["stopping after this step, with a checkpoint"]).start()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop_soon)
        # Only now: importing PyTorch takes seconds, and a mistyped field should not wait for it.
        from bapo.run import trainer  # noqa: PLC0415

        return trainer.train(run_folder, config, observer=progress, stop=stop)
