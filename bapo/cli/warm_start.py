"""`bapo warm-start`: make the small base model anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bapo.cli.failures import plain_errors


def warm_start(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model and its tokenizer.")],
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data and the weights.")] = 0,
) -> None:
    """Train the small Countdown base model from scratch, as the shipped one was made (a few CPU-minutes)."""
    with plain_errors():
        from bapo.local import warm_start as recipe  # noqa: PLC0415  (imports PyTorch)

        recipe.warm_start(out, seed=seed)
