"""Checkpoints on disk: written whole or not at all, with checksums, the last K and the best one kept.

`RUN/checkpoints/step-000025/` holds what the trainer and the engine wrote, and `manifest.json` with the size and
SHA-256 of each file. A folder without a manifest that it agrees with is damaged, and is never loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bapo.run.write_failures import remedy

SCHEMA = 1
CHECKPOINTS_FOLDER = "checkpoints"
MANIFEST_FILE = "manifest.json"
_PREFIX = "step-"
_TEMPORARY = ".tmp-"


class CheckpointError(OSError):
    """A checkpoint could not be written; says why and what to do."""


def checkpoint_name(step: int) -> str:
    """Return the name of the folder of a checkpoint, such as `step-000025`."""
    return f"{_PREFIX}{step:06d}"


def checkpoint_step(name: str) -> int | None:
    """Return the steps completed at the checkpoint in a folder of this name; None where the name is another's."""
    digits = name.removeprefix(_PREFIX)
    return int(digits) if digits != name and digits.isascii() and digits.isdigit() else None


def write_checkpoint(
    run_folder: Path, step: int, fill: Callable[[Path], None], *, keep: int, best: int | None = None
) -> Path:
    """Write the checkpoint of `step` completed steps; return its folder `step-000025`.

    `fill` writes the files into the empty folder it is given, and raises OSError where it cannot. Only once they are
    on disk under their final name, the oldest checkpoints beyond `keep` go, but for that of the step `best`, and with
    them those of later steps: the run went back behind them. Raises CheckpointError where the disk is full or
    refuses; the earlier checkpoints are then untouched.
    """
    folder = run_folder / CHECKPOINTS_FOLDER
    final = folder / checkpoint_name(step)
    temporary = folder / f"{_TEMPORARY}{final.name}"
    try:
        # Never the run folder: one that was deleted under its run stays so.
        folder.mkdir(exist_ok=True)
        _remove_leftovers(folder)
        temporary.mkdir()
        fill(temporary)
        _write_manifest(temporary, step)
        _put_in_place(temporary, final)
    except OSError as error:
        raise CheckpointError(
            f"cannot write the checkpoint of step {step} into {folder}: {error}; earlier checkpoints are kept: "
            f"{remedy(error)}, then start the run again"
        ) from error
    finally:
        # There only where something above failed.
        shutil.rmtree(temporary, ignore_errors=True)
    existing = _checkpoints(folder)
    position = existing.index(final)
    oldest = [each for each in existing[: max(0, position + 1 - keep)] if checkpoint_step(each.name) != best]
    for old in [*oldest, *existing[position + 1 :]]:
        _remove(old)
    return final


def copy_checkpoint(source: Path, run_folder: Path) -> Path:
    """Put a sound checkpoint of another run into this run's folder; return it.

    Checkpoints never change, so that files are linked where the file system can. Raises CheckpointError where the
    source is gone or damaged, or this run's folder takes no more.
    """
    fault = _fault(source) if source.is_dir() else "it is no longer there"
    if fault is not None:
        raise CheckpointError(f"the checkpoint {source} cannot be continued: {fault}")
    folder = run_folder / CHECKPOINTS_FOLDER
    final, temporary = folder / source.name, folder / f"{_TEMPORARY}{source.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        shutil.copytree(source, temporary, copy_function=_link_or_copy)
        _put_in_place(temporary, final)
    except OSError as error:
        raise CheckpointError(f"cannot copy the checkpoint {source} into {folder}: {error}: {remedy(error)}") from error
    return final


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        # Another file system, or one without links.
        shutil.copy2(source, target)
    return target


def newest_sound(run_folder: Path, *, last_step: int | None = None) -> tuple[Path | None, list[tuple[str, str]]]:
    """Return the newest usable checkpoint, and name and fault of each newer one that is not.

    A usable checkpoint agrees with its manifest and, where `last_step` is given, lies at or before that step: a run
    that resumed beyond the end of its journal would lack the records of the steps in between for ever.
    """
    damaged: list[tuple[str, str]] = []
    for folder in reversed(_checkpoints(run_folder / CHECKPOINTS_FOLDER)):
        step = checkpoint_step(folder.name)
        if last_step is not None and step is not None and step > last_step:
            fault: str | None = f"the journal ends before it, at step {last_step}"
        else:
            fault = _fault(folder)
        if fault is None:
            return folder, damaged
        damaged.append((folder.name, fault))
    return None, damaged


def _checkpoints(folder: Path) -> list[Path]:
    """Return the folders by step, sound or not."""
    found = (path for path in folder.glob(f"{_PREFIX}*") if path.name.removeprefix(_PREFIX).isdigit())
    return sorted(found, key=lambda path: int(path.name.removeprefix(_PREFIX)))


def _write_manifest(folder: Path, step: int) -> None:
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                os.fsync(file.fileno())
            files[path.relative_to(folder).as_posix()] = {"sha256": digest, "bytes": path.stat().st_size}
    with (folder / MANIFEST_FILE).open("w", encoding="utf-8") as file:
        json.dump({"schema": SCHEMA, "step": step, "files": files}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    _sync_folder(folder)


def _put_in_place(temporary: Path, final: Path) -> None:
    if final.exists():
        # A damaged checkpoint of the same step; the run came to this step again.
        _remove(final)
    temporary.rename(final)
    _sync_folder(final.parent)


def _remove(folder: Path) -> None:
    # Renamed first, so that being killed here leaves no half checkpoint under a real name.
    doomed = folder.with_name(f"{_TEMPORARY}old-{folder.name}")
    folder.rename(doomed)
    shutil.rmtree(doomed)


def _remove_leftovers(folder: Path) -> None:
    for path in folder.glob(f"{_TEMPORARY}*"):
        shutil.rmtree(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _fault(folder: Path) -> str | None:
    """Return the fault of a checkpoint, or None."""
    try:
        manifest = json.loads((folder / MANIFEST_FILE).read_bytes())
    except FileNotFoundError:
        return f"{MANIFEST_FILE} is missing"
    except (json.JSONDecodeError, UnicodeDecodeError):
        return f"{MANIFEST_FILE} is not readable"
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        return f"{MANIFEST_FILE} is not a manifest"
    if manifest.get("schema") != SCHEMA:
        return f"schema {manifest.get('schema')} is not known to this version, which knows {SCHEMA}"
    faults = (_file_fault(folder / name, name, entry) for name, entry in manifest["files"].items())
    return next((fault for fault in faults if fault), None)


def _file_fault(path: Path, name: str, entry: dict[str, Any]) -> str | None:
    if not path.is_file():
        return f"{name} is missing"
    if path.stat().st_size != entry["bytes"]:
        return f"{name} has {path.stat().st_size} bytes instead of {entry['bytes']}"
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
            return f"{name} has another checksum"
    return None
