"""`bapo worker`: a machine joins a server."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Annotated

import typer

from bapo.deploy.commands import service_command


def worker(
    server: Annotated[str, typer.Option(help="Address of the server, such as https://bapo.example.org.")],
    token: Annotated[str | None, typer.Option(envvar="BAPO_WORKER_TOKEN", help="Worker token.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File that holds the worker token.")] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, help="Runs trained at the same time. Default: one for each GPU.")
    ] = None,
    gpus: Annotated[
        str | None,
        typer.Option(help="Indices of the GPUs that runs may get, such as 0,1. Default: those that are seen."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Tells a server's workers apart. Default: the host name.")] = None,
    runs_dir: Annotated[
        Path | None, typer.Option(help="Where runs' folders lie on this machine. Default: where the server says.")
    ] = None,
    broker: Annotated[
        str | None,
        typer.Option(envvar="BAPO_BROKER_URL", help="The broker as this machine reaches it. Default: the server says."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Where the worker keeps what it holds.")] = Path("bapo-worker"),
) -> None:
    """Take runs from a server and train them on this machine, until Ctrl-C gives the running ones back."""
    if token is None and token_file is None:
        raise typer.BadParameter("give --token, --token-file or the variable BAPO_WORKER_TOKEN", param_hint="--token")
    command = service_command("worker", "run", "--server", server)
    command += [] if slots is None else ["--slots", str(slots)]
    command += [] if gpus is None else ["--gpus", gpus]
    command += ["--name", name or socket.gethostname(), "--folder", str(folder)]
    if runs_dir is not None:
        command += ["--runs-dir", str(runs_dir)]
    if token_file is not None:
        command += ["--token-file", str(token_file)]
    # By the environment: other users of the machine can read a process's arguments.
    environment = os.environ | {"PYTHONSAFEPATH": "1"} | ({"BAPO_WORKER_TOKEN": token} if token else {})
    environment |= {"BAPO_BROKER_URL": broker} if broker else {}
    os.execve(sys.executable, command, environment)  # noqa: S606
