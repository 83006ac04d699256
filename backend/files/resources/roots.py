"""Restricts resources to the permitted folders, links followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from backend.kit.errors import Problem
from bapo.api.resources import ResourceKind
from bapo.config.model_files import outside_file
from bapo.config.paths import PermittedFolders

DATA_SUFFIXES = frozenset({".parquet", ".jsonl"})
MOST_FILES = 1_000
DEEPEST = 6
"""Folders beneath a root that are looked through."""


def permitted(path: str, folders: PermittedFolders, kind: ResourceKind) -> Path:
    """Return the file or folder that the path names. Raises Problem 422 where it may not be registered."""
    real = folders.place(path)
    if real is None:
        raise _refused(path, folders.remedy)
    if not fits(real, kind):
        raise _refused(path, _EXPECTED[kind])
    if kind == "model" and (remedy := outside_file(real)) is not None:
        raise _refused(path, remedy)
    return real


def fits(path: Path, kind: ResourceKind) -> bool:
    """Return whether this can be a resource of the kind, by its name and its neighbours."""
    match kind:
        case "dataset":
            return path.suffix.lower() in DATA_SUFFIXES and path.is_file()
        case "model":
            return (path / "config.json").is_file()
        case "verifier":
            return path.suffix == ".py" and path.is_file()


def candidates(permitted_folders: PermittedFolders, kind: ResourceKind) -> Iterator[Path]:
    """Yield files of this kind in the permitted folders by path, at most `MOST_FILES`, without hidden folders."""
    found = 0
    for root in permitted_folders.roots:
        for folder, folders, files in os.walk(root):
            here = Path(folder)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if len(here.relative_to(root).parts) >= DEEPEST:
                folders.clear()
            names = sorted(files) if kind != "model" else [""]
            for path in (here / name for name in names):
                if fits(path, kind) and permitted_folders.place(str(path)) is not None:
                    yield path
                    found += 1
                    if found == MOST_FILES:
                        return


_EXPECTED: dict[ResourceKind, str] = {
    "dataset": "a data set is a file that ends in .parquet or .jsonl: there is none at this path",
    "model": "a model is a folder in Hugging Face format with its config.json: there is none at this path",
    "verifier": "a verifier is a Python file that ends in .py: there is none at this path",
}


def _refused(path: str, remedy: str) -> Problem:
    return Problem(422, "invalid_request", remedy, field="path", value=path)
