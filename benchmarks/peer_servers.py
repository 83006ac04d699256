"""Tools that ours is compared with: a virtual environment for each, and its server over a folder filled for it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

PINS: Mapping[str, Sequence[str]] = {
    "trackio": ("trackio==0.43.0",),
    "tensorboard": ("tensorboard==2.21.0",),
    "aim": ("aim==3.29.1",),
    "mlflow": ("mlflow==3.17.2",),
}
ENVIRONMENTS = Path(__file__).resolve().parent.parent / ".venv-ingest"


class CannotInstallError(Exception):
    """A tool cannot be installed here; says why."""


def environment_of(tool: str, environments: Path) -> Path:
    """Return the Python of the tool's virtual environment, which is created if it is missing.

    Raises CannotInstallError.
    """
    folder = environments / tool
    python = folder / "bin" / "python"
    marker = folder / "installed"
    wanted = "\n".join(PINS[tool])
    if not (marker.exists() and marker.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PINS[tool]]
        result = subprocess.run(install, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise CannotInstallError((result.stderr.strip().splitlines() or ["pip failed"])[-1])
        marker.write_text(wanted)
    return python


FILL_SCRIPT = Path(__file__).with_name("peer_fill.py")
FILL_SECONDS, START_SECONDS, END_SECONDS = 900.0, 120.0, 20.0
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "HF_HUB_OFFLINE": "1", "BROWSER": "true"}
"""No server opens a browser or reports home."""


class PeerError(Exception):
    """A tool did not do what it was asked; says what."""


@dataclass(frozen=True)
class Shown:
    """A server's address, and the runs that it shows."""

    url: str
    filled: Mapping[str, Any]
    """Identifiers for addresses, from filling the server."""


def fill(tool: str, python: Path, folder: Path, *what: str) -> dict[str, Any]:
    """Write runs into a folder, unless it has been done; what addresses need.

    Raises PeerError.
    """
    marker = folder / "filled.json"
    if not marker.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        command = [str(python), "-I", str(FILL_SCRIPT), tool, str(folder), *what]
        log = folder.with_suffix(".fill")
        try:
            with log.open("w") as errors:
                result = subprocess.run(
                    command,
                    cwd=folder,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    timeout=FILL_SECONDS,
                    check=False,
                )
        except subprocess.TimeoutExpired as error:
            raise PeerError(f"took longer than {FILL_SECONDS:.0f} s to fill") from error
        if result.returncode != 0:
            raise PeerError(f"was not filled: {(log.read_text().strip().splitlines() or ['?'])[-1]}")
        marker.write_text(result.stdout.strip().splitlines()[-1])
    found: dict[str, Any] = json.loads(marker.read_text())
    return found


@contextmanager
def serving(tool: str, python: Path, folder: Path) -> Iterator[Shown]:
    """Run the tool's server over a filled folder, on a free port, until the caller is done.

    Raises PeerError.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | QUIET | {"TRACKIO_DIR": str(folder), "GRADIO_SERVER_PORT": str(port)}
    with folder.with_suffix(".log").open("w") as log:
        process = subprocess.Popen(
            [str(python.parent / tool), *arguments(tool, folder, port)],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield Shown(url, json.loads((folder / "filled.json").read_text()))
    finally:
        # MLflow's server starts further processes, some of which outlive it.
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def arguments(tool: str, folder: Path, port: int) -> Sequence[str]:
    """Return the arguments of the tool's own command; all others keep the tool's defaults.

    TensorBoard reads its folder once: by default it would read thousands of files again every five seconds, and take
    CPU time from the tool that is measured.
    """
    where = ("--host", "127.0.0.1", "--port", str(port))
    return {
        "tensorboard": ("--logdir", str(folder), "--reload_interval", "0", *where),
        "mlflow": ("server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", *where),
        "aim": ("up", "--repo", str(folder), "--yes", *where),
        "trackio": ("show", "--project", "pages", "--host", "127.0.0.1"),
    }[tool]


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        try:
            if httpx.get(url, follow_redirects=True, timeout=10).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise PeerError("its server did not start")
