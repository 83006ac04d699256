"""Deletes a run's folder, or a part of it: never through a link, and never while a trainer works in it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from bapo.api.maintenance_jobs import FolderPart
from bapo.run.checkpoint import CHECKPOINTS_FOLDER
from bapo.run.journal import SAMPLES_FILE, attempt_folders
from bapo.run.line_reader import LOG_FILE
from worker.trainer_process import trainers_of

DOOMED = ".deleting-"
"""Prefix of a folder that is being deleted: renamed first, it is gone at once."""
_RUN_ID = re.compile(r"[a-z0-9]{10}")


class DeletingError(Exception):
    """The reason why nothing was deleted."""


def delete_part(run_folder: Path, part: FolderPart) -> None:
    """Delete a run's folder, or a part of it; it may be gone already.

    Raises DeletingError where the folder is not that of a run or a trainer works in it, OSError where the disk refuses.
    """
    if not _RUN_ID.fullmatch(run_folder.name) or not run_folder.is_absolute():
        raise DeletingError(f"{run_folder} is not a run folder")
    if run_folder.is_symlink():
        raise DeletingError(f"{run_folder} is a link: delete its target by hand")
    trainers = trainers_of(run_folder)
    if trainers:
        raise DeletingError(f"trainer {trainers[0].pid} still uses it")
    _PARTS[part](run_folder)


def _delete_folder(run_folder: Path) -> None:
    doomed = run_folder.with_name(DOOMED + run_folder.name)
    # The remains of an attempt that was killed.
    _remove(doomed)
    if run_folder.exists():
        run_folder.rename(doomed)
        _remove(doomed)


def _delete_checkpoints(run_folder: Path) -> None:
    _remove(run_folder / CHECKPOINTS_FOLDER)


def _delete_files(name: str) -> Callable[[Path], None]:
    def delete(run_folder: Path) -> None:
        if run_folder.is_dir():
            for attempt in attempt_folders(run_folder):
                if not attempt.is_symlink():
                    (attempt / name).unlink(missing_ok=True)

    return delete


def _remove(folder: Path) -> None:
    """Delete a folder with its contents, or a link without its target."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        # Does not follow links either.
        shutil.rmtree(folder)


_PARTS: Mapping[FolderPart, Callable[[Path], None]] = MappingProxyType(
    {
        "folder": _delete_folder,
        "checkpoints": _delete_checkpoints,
        "samples": _delete_files(SAMPLES_FILE),
        "log": _delete_files(LOG_FILE),
    }
)
