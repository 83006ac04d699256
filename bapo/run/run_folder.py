"""The folder of a run: its config, attempts, control file and checkpoints."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

from bapo.config import ConfigError, ConfigProblem, RunConfig, parse_config
from bapo.config.resolve import difference
from bapo.files.locks import HeldError, held
from bapo.records import StepRecord
from bapo.run.journal import RECORDS_FILE, attempt_folders, open_run_file, read_records

CONFIG_FILE = "config.json"
SUMMARY_FILE = "summary.json"
LOCK_FILE = ".trainer-lock"
MARK_FILE = ".bapo-runs"
"""File in the folder of all runs: a number that distinguishes it from other folders of the same path."""
UPLOADS_FOLDER = ".uploads"
"""Folder of uploaded data and models in the folder of all runs, which servers and workers share or copy."""
RESTORING_FILE = ".restoring"
"""File in the folder of all runs while a backup is restored into it, and after an interrupted restore."""


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a reader sees the old content or the new, never a part."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def mark_of(runs_dir: Path) -> int | None:
    """Return the number in a folder of runs; None where it holds none that can be read."""
    try:
        return int((runs_dir / MARK_FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def unfinished_restore(runs_dir: Path) -> str | None:
    """Return why a server must not start with this folder of runs: a restore into it has not come to its end."""
    if not (runs_dir / RESTORING_FILE).exists():
        return None
    return (
        f"the restore of a backup into {runs_dir} was cut short: run `bapo restore` again, which starts over, or empty "
        f"the folder (and its {RESTORING_FILE})"
    )


def read_config(run_folder: Path) -> RunConfig:
    """Return the config that the run was submitted with. Raises ConfigError where there is none or it is not legal."""
    path = run_folder / CONFIG_FILE
    try:
        with open_run_file(path) as file:
            recorded = json.load(file)
    except FileNotFoundError:
        raise ConfigError([ConfigProblem("run folder", str(run_folder), f"it holds no {CONFIG_FILE}")]) from None
    except RecursionError:
        raise ConfigError([ConfigProblem("run folder", str(path), "it is nested too deeply for a config")]) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ConfigError([ConfigProblem("run folder", str(path), f"not readable as JSON: {error}")]) from None
    return parse_config(recorded)


def claim_config(run_folder: Path, config: RunConfig) -> None:
    """Write the config of a run that has not trained yet; of one that has, check that it is the same.

    Raises ConfigError naming each field that differs.
    """
    if not config.method.is_trainable:
        remedy = f"the run in {run_folder} was observed, and its trainer is not ours: train in another folder"
        raise ConfigError([ConfigProblem("method.type", config.method.type, remedy)])
    path = run_folder / CONFIG_FILE
    # A run that failed before its first step, by a wrong model path say, may be corrected in place.
    if not path.exists() or not _has_trained(run_folder):
        run_folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, config.model_dump_json(indent=2).encode())
        return
    changes = difference(config, read_config(run_folder))
    if changes:
        raise ConfigError(
            [
                ConfigProblem(field, ours, f"the run in {run_folder} has {theirs!r}: use that, or another folder")
                for field, (theirs, ours) in changes.items()
            ]
        )


def _has_trained(run_folder: Path) -> bool:
    journals = (read_records(folder / RECORDS_FILE) for folder in attempt_folders(run_folder))
    return any(isinstance(record, StepRecord) for record in chain.from_iterable(journals))


def next_attempt(run_folder: Path) -> int:
    """Return the number of the attempt that would start now, from 1."""
    folders = attempt_folders(run_folder)
    return int(folders[-1].name.removeprefix("attempt-")) + 1 if folders else 1


@contextmanager
def exclusive(run_folder: Path) -> Iterator[None]:
    """Hold the run folder against a second trainer.

    The lock goes with the process, however it ends, and not with those that it forks.

    Raises ConfigError where another trainer holds it.
    """
    run_folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as lock:
        try:
            lock.enter_context(held(run_folder / LOCK_FILE))
        except HeldError as error:
            remedy = f"another trainer is using it ({error}): wait or stop it"
            raise ConfigError([ConfigProblem("run folder", str(run_folder), remedy)]) from None
        yield
