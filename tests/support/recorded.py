"""Runs that the local engine really trained: what pages and figures are tested on."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

import bapo
from bapo.client import Client
from bapo.observe.upload import describe_folder, send_folder
from tests.support.trained import train_one_after_another

NUM_STEPS = 24
SETTINGS = (
    "training.checkpoint_interval=24",
    f"training.steps={NUM_STEPS}",
    "rollout.batch_size=16",
    "training.batch_size=16",
    "task.num_test=16",
    "tracking.num_prompts=48",
    "tracking.interval=8",
    "evaluation.interval=12",
    "evaluation.num_samples=4",
)
RUNS: Mapping[str, tuple[str, ...]] = {
    "bapo-seed-1": ("training.seed=1",),
    "bapo-seed-2": ("training.seed=2",),
    "grpo-seed-1": ("training.seed=1", "method.type=grpo"),
    "grpo-seed-2": ("training.seed=2", "method.type=grpo"),
}
"""Name of each run and what sets it apart."""


@pytest.fixture(scope="session")
def recorded_folders(pytestconfig: pytest.Config) -> Mapping[str, Path]:
    """The run folders by name. Nobody writes to them.

    They are kept in pytest's cache, for its processes and its next runs, until something changes that a trainer
    is made of.
    """
    assert pytestconfig.cache is not None
    parent = pytestconfig.cache.mkdir("recorded")
    folder = parent / _digest()
    folders = {name: folder / name for name in RUNS}
    with (parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_complete = folder / "complete"
        if not is_complete.exists():
            for old in parent.iterdir():
                if old.is_dir():
                    shutil.rmtree(old)
            folder.mkdir()
            train_one_after_another({folders[name]: (*SETTINGS, *changes) for name, changes in RUNS.items()})
            is_complete.touch()
    return folders


NOT_OF_A_TRAINER = {"__pycache__", "analysis", "api", "cli", "client", "deploy", "figures", "report", "study", "verl"}
"""Rooms that change nothing of what the local engine records."""


def _digest() -> str:
    """Of all that a trainer is made of."""
    root = Path(bapo.__file__).parent
    digest = hashlib.sha256(repr((SETTINGS, RUNS, version("torch"))).encode())
    for file in sorted(root.rglob("*")):
        if file.is_file() and not NOT_OF_A_TRAINER & {*file.relative_to(root).parts}:
            digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def import_folder(client: Client, folder: Path, group: str | None = None) -> str:
    """Show a run folder in a server; the run's identifier."""
    info = client.create_import(describe_folder(folder, name=None, group=group))
    send_folder(client, info, folder)
    client.finish_import(info.run_id)
    return info.run_id
