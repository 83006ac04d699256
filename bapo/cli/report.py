"""`bapo report`: runs as the paper's figures and tables in one HTML file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer


def report(
    run_folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Folders that `bapo train` made.")],
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("report.html"),
    group: Annotated[
        str, typer.Option(help="What makes a group: config, method, run, or a config field such as method.c1.")
    ] = "config",
    title: Annotated[str | None, typer.Option(help="Heading of the report.")] = None,
) -> None:
    """Write the runs as the paper's figures and tables into one HTML file, which needs no server and no network."""
    command = [sys.executable, "-m", "frontend", "report", "--out", str(out), "--group", group]
    if title is not None:
        command += ["--title", title]
    # The figures belong to the dashboard, which the library does not import.
    environment = os.environ | {"PYTHONSAFEPATH": "1"}
    os.execve(sys.executable, [*command, "--", *map(str, run_folders)], environment)  # noqa: S606
