"""`bapo up`: start all services on this machine."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bapo.cli.failures import Exit

SLOTS_WITHOUT_GPU = 2
"""The two demo runs side by side; a trainer on the CPU uses one core."""


def up(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the dashboard and the API.")] = 8000,
    data: Annotated[Path, typer.Option(help="Folder for the database, runs and logs.")] = Path("bapo-data"),
    demo: Annotated[bool, typer.Option("--demo/--no-demo", help="Submit the two demo runs on the first start.")] = True,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the dashboard.")] = True,
    slots: Annotated[
        int | None, typer.Option(min=1, help="Runs trained at a time. Default: one per CPU core, at most 2.")
    ] = None,
    listen: Annotated[
        str, typer.Option(help="Address to listen on; another one lets other machines in.")
    ] = "127.0.0.1",
    public_url: Annotated[
        str | None,
        typer.Option(
            help="Public address, such as https://bapo.example.org or, under a path, https://example.org/bapo."
        ),
    ] = None,
) -> None:
    """Start PostgreSQL, Redis, backend, dashboard and a worker. Ctrl-C stops them all."""
    from bapo.deploy.settings import public_address  # noqa: PLC0415
    from bapo.deploy.up.folder import StartError  # noqa: PLC0415
    from bapo.deploy.up.stack import Stack, UpOptions  # noqa: PLC0415

    try:
        address = None if public_url is None else public_address(public_url)
    except ValueError as error:
        print(f"bapo: --public-url = {public_url!r}: {error}", file=sys.stderr)
        raise SystemExit(Exit.BAD_INPUT) from None
    options = UpOptions(
        data=data,
        port=port,
        demo=demo,
        browser=browser,
        listen=listen,
        public_url=address,
        slots=slots or min(SLOTS_WITHOUT_GPU, os.cpu_count() or 1),
    )
    try:
        Stack(options, say).run()
    except StartError as error:
        print(f"bapo: {error}", file=sys.stderr)
        raise SystemExit(Exit.FAILED) from None
    except OSError as error:
        print(f"bapo: {options.data} cannot be used: {error}", file=sys.stderr)
        raise SystemExit(Exit.FAILED) from None


def say(line: str) -> None:
    """Print a line on the terminal, or to where its output goes: a full disk there ends nothing."""
    with suppress(OSError):
        print(f"bapo: {line}", flush=True)
