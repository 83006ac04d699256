"""`bapo up`: everything on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bapo.cli.failures import Exit

SLOTS_WITHOUT_GPU = 2
"""The two demo runs side by side; a trainer on the CPU uses one core."""


def up(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the page and the API.")] = 8000,
    data: Annotated[Path, typer.Option(help="Folder for everything that is kept.")] = Path("bapo-data"),
    demo: Annotated[bool, typer.Option("--demo/--no-demo", help="Submit the two demo runs on the first start.")] = True,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    slots: Annotated[
        int | None, typer.Option(min=1, help="Runs trained at the same time. Default: one per CPU core, at most 2.")
    ] = None,
) -> None:
    """Start PostgreSQL, Redis, the server, the pages and a worker, and stay until Ctrl-C, which stops them all."""
    from bapo.up.folder import StartError  # noqa: PLC0415
    from bapo.up.stack import Stack, UpOptions  # noqa: PLC0415

    options = UpOptions(
        data=data,
        port=port,
        demo=demo,
        browser=browser,
        slots=slots or min(SLOTS_WITHOUT_GPU, os.cpu_count() or 1),
    )
    try:
        Stack(options, say).run()
    except StartError as error:
        print(f"bapo: {error}", file=sys.stderr)
        raise SystemExit(Exit.FAILED) from None


def say(line: str) -> None:
    """One line for the person at the terminal."""
    print(f"bapo: {line}", flush=True)
