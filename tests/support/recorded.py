"""Runs that the local engine really trained: what pages and figures are tested on.

They are files of the repository. `python -m tests.support.recorded` trains them again, which is due when something
has changed that they depend on; until then tests train them into pytest's cache.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import pytest

from bapo.client import Client
from bapo.observe.upload import describe_folder
from tests.support.archives import unpack
from tests.support.imports import send_folder
from tests.support.recorded_inputs import are_current
from tests.support.recorded_training import INPUTS, train_recorded

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


SHIPPED = Path(__file__).parents[1] / "data" / "recorded"
ARCHIVE = "runs.tar.xz"
OUT_OF_DATE = "The recorded runs of tests/data are out of date: `python -m tests.support.recorded` trains them again."


@pytest.fixture(scope="session")
def recorded_folders(pytestconfig: pytest.Config) -> Mapping[str, Path]:
    """Return the run folders by name, for reading only.

    The runs that the repository ships are unpacked into pytest's cache, for its processes and its next runs. Where
    they are out of date, runs are trained there and kept until something changes again that they depend on.
    """
    assert pytestconfig.cache is not None
    folder = current_runs(pytestconfig.cache.mkdir("recorded"), lambda text: _say(pytestconfig, text))
    return {name: folder / name for name in RUNS}


def current_runs(parent: Path, say: Callable[[str], None]) -> Path:
    """Return the folder in `parent` that has the runs, after they were unpacked or trained where they were not."""
    is_shipped = _is_current(SHIPPED)
    folder = parent / (f"shipped-{_digest_of(SHIPPED / ARCHIVE)}" if is_shipped else "trained")
    with (parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_shipped:
            say(OUT_OF_DATE)
        if not _is_current(folder):
            for old in parent.iterdir():
                if old.is_dir():
                    shutil.rmtree(old)
            with tempfile.TemporaryDirectory(dir=parent) as new:
                made = Path(new) / "made"
                if is_shipped:
                    _unpack(made)
                else:
                    train_all(made)
                made.rename(folder)
    return folder


def train_all(folder: Path) -> None:
    """Train all runs and write with them what they depend on."""
    train_recorded(folder, {name: (*SETTINGS, *changes) for name, changes in RUNS.items()})
    of_bapo = json.loads((folder / INPUTS).read_text(encoding="utf-8"))
    inputs = {"bapo": of_bapo, "settings": settings_digest(), "torch": torch_version()}
    (folder / INPUTS).write_text(json.dumps(inputs, indent=1) + "\n", encoding="utf-8")


def _is_current(folder: Path) -> bool:
    """Return whether a folder has runs that are as a training would record them now."""
    if not (folder / INPUTS).exists():
        return False
    inputs = json.loads((folder / INPUTS).read_text(encoding="utf-8"))
    return (inputs["settings"], inputs["torch"]) == (settings_digest(), torch_version()) and are_current(inputs["bapo"])


def settings_digest() -> str:
    """Return the digest of what the runs are trained with."""
    return hashlib.sha256(repr((SETTINGS, RUNS)).encode()).hexdigest()[:16]


def torch_version() -> str:
    """Return the version of PyTorch, without the accelerator that it was built for: the runs train on the CPU."""
    return version("torch").partition("+")[0]


def _digest_of(file: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _say(config: pytest.Config, text: str) -> None:
    """Print a line that pytest does not keep to itself."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print(f"\n{text}", file=sys.stderr, flush=True)


def _unpack(folder: Path) -> None:
    """Unpack the runs that the repository ships."""
    unpack(SHIPPED / ARCHIVE, folder)
    shutil.copy(SHIPPED / INPUTS, folder)


def ship() -> None:
    """Train the runs and make them the ones that the repository ships."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        train_all(folder)
        SHIPPED.mkdir(exist_ok=True)
        with tarfile.open(SHIPPED / ARCHIVE, "w:xz", preset=9) as archive:
            for file in _files_of(folder):
                entry = tarfile.TarInfo(file.relative_to(folder).as_posix())
                entry.size = file.stat().st_size
                with file.open("rb") as content:
                    archive.addfile(entry, content)
        shutil.copy(folder / INPUTS, SHIPPED)


def _files_of(folder: Path) -> Iterator[Path]:
    """Iterate over the files of the runs, in a fixed order."""
    for name in RUNS:
        yield from sorted(file for file in (folder / name).rglob("*") if file.is_file())


def import_folder(client: Client, folder: Path, group: str | None = None) -> str:
    """Import a run folder into a server; return the run's identifier."""
    info = client.create_import(describe_folder(folder, name=None, group=group))
    send_folder(client, info, folder)
    client.finish_import(info.run_id)
    return info.run_id


if __name__ == "__main__":
    ship()
