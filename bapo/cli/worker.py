"""`bapo worker`: train a server's runs on this machine."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from bapo.deploy.processes import service_command


def worker(
    server: Annotated[str, typer.Option(help="Address of the server, such as https://bapo.example.org.")],
    token: Annotated[str | None, typer.Option(envvar="BAPO_WORKER_TOKEN", help="Worker token.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with the worker token.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Runs trained at a time. Default: one per GPU.")] = None,
    gpus: Annotated[
        str | None,
        typer.Option(help="Indices of the GPUs to use, such as 0,1. Default: all visible ones."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of this worker. Default: the host name.")] = None,
    runs_dir: Annotated[
        Path | None, typer.Option(help="Folder of the runs on this machine. Default: the server's.")
    ] = None,
    broker: Annotated[
        str | None,
        typer.Option(
            envvar="BAPO_BROKER_URL",
            help="Address of Redis, for a worker on the server's network. Default: poll the server over HTTPS.",
        ),
    ] = None,
    allow_http: Annotated[
        bool,
        typer.Option("--allow-http", help="Permit an http:// address of another machine, which is not encrypted."),
    ] = False,
    folder: Annotated[Path, typer.Option(help="Folder for the worker's state.")] = Path("bapo-worker"),
    drain_before: Annotated[
        str | None,
        typer.Option(
            help="When this machine ends: a time such as 2026-11-23T18:00:00+01:00, seconds since 1970, or a duration "
            "from now such as 11h30m. Until then it gives all runs back, and takes none that would not fit."
        ),
    ] = None,
) -> None:
    """Train a server's runs on this machine; it needs the server's address and a worker token, nothing else.

    Ctrl-C returns running runs to the queue, after a checkpoint.
    """
    if token is None and token_file is None:
        raise typer.BadParameter("give --token, --token-file or the variable BAPO_WORKER_TOKEN", param_hint="--token")
    command = service_command("worker", "run", "--server", server)
    command += [] if slots is None else ["--slots", str(slots)]
    command += [] if gpus is None else ["--gpus", gpus]
    command += ["--name", name or socket.gethostname(), "--folder", str(folder)]
    if runs_dir is not None:
        command += ["--runs-dir", str(runs_dir)]
    if allow_http:
        command += ["--allow-http"]
    if drain_before is not None:
        command += ["--drain-before", drain_before]
    if token_file is not None:
        command += ["--token-file", str(token_file)]
    # By the environment: other users of the machine can read a process's arguments.
    environment = os.environ | {"PYTHONSAFEPATH": "1"} | ({"BAPO_WORKER_TOKEN": token} if token else {})
    environment |= {"BAPO_BROKER_URL": broker} if broker else {}
    os.execve(sys.executable, command, environment)  # noqa: S606
