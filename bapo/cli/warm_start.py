"""`bapo warm-start`: train the small base model from scratch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_jsonable_python
from rich.progress import Progress

from bapo.cli.failures import plain_errors
from bapo.cli.output import notes
from bapo.config import ConfigError, ConfigProblem


def warm_start_model(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model and its tokenizer.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the weights.")] = 0,
) -> None:
    """Train the small Countdown base model from scratch, as the shipped one was made (a few CPU-minutes)."""
    with plain_errors():
        if out.exists() and any(out.iterdir()):
            raise ConfigError([ConfigProblem("--out", str(out), "the folder is not empty: name a new one")])
        # Imports PyTorch.
        from bapo.engines.local.warm_start import WarmStartProgress, warm_start  # noqa: PLC0415

        with Progress(console=notes(), disable=not notes().is_terminal) as progress:
            task = progress.add_task("warm start", total=None)

            def show(now: WarmStartProgress) -> None:
                progress.update(task, total=now.num_steps, completed=now.step, description=f"loss {now.loss:.3f}")

            report = warm_start(out, seed=seed, on_progress=show)
    print(json.dumps(to_jsonable_python(report)))
