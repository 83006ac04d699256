"""Processes that an instance left behind because it was killed: recorded as they start, ended by the next start.

A process is known by its id and its start time, so that a reused id never hits a stranger.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterable
from pathlib import Path

import psutil

from bapo.deploy.up.child import Child, kill_group
from bapo.run.processes import process_of
from bapo.run.run_folder import write_atomically


def record_processes(path: Path, children: Iterable[Child]) -> None:
    """Record the running processes."""
    entries = [{"name": child.spec.name, "pid": child.pid, "created": child.created} for child in children]
    write_atomically(path, json.dumps(entries, indent=1).encode())


def end_leftovers(path: Path) -> list[str]:
    """End the processes of a killed instance and return their names.

    The worker is killed, not asked: asked, it would stop its trainers, which otherwise train on and are found again
    by the next worker.
    """
    if not path.exists():
        return []
    found: list[tuple[str, psutil.Process]] = []
    for entry in json.loads(path.read_bytes()):
        process = process_of(entry["pid"], entry["created"])
        if process is not None:
            found.append((entry["name"], process))
    # Last started first: the databases go last, PostgreSQL by its fast shutdown.
    for name, process in reversed(found):
        if name == "worker":
            kill_group(process.pid)
        else:
            process.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
        try:
            process.wait(10)
        except psutil.TimeoutExpired:
            kill_group(process.pid)
            process.wait(5)
    path.unlink()
    return [name for name, _ in found]
