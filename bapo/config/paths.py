"""The config fields that name files or folders, and the folders in which a server permits them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel

from bapo.config.model_catalogue import CATALOGUE
from bapo.config.model_files import outside_file
from bapo.config.plugins import is_file_reference
from bapo.config.resolve import flatten
from bapo.config.run import REGISTRIES, RunConfig
from bapo.config.section import NamesPath, PathKind

SHIPPED_MODELS = Path(str(resources.files("bapo"))) / "engines" / "models"
"""Folder of the models that come with the library, by name."""


class PermittedFolders(NamedTuple):
    """Folders whose files a config may name, links followed."""

    roots: Sequence[Path] = ()
    closed: Sequence[Path] = ()
    """Folders in which nothing may be named, even beneath a root: runs and downloads belong to projects."""

    def place(self, path: str) -> Path | None:
        """Return the file or folder of an absolute path, links followed; None if it is not permitted.

        Not even its existence is looked at before that is known. A folder with links that lead out may not be named
        either.
        """
        if not Path(path).is_absolute() or "\0" in path:
            return None
        real = Path(os.path.realpath(path))
        if not self._holds(real):
            return None
        try:
            links = [each for each in real.iterdir() if each.is_symlink()] if real.is_dir() else []
        except OSError:
            return None
        return real if all(self._holds(Path(os.path.realpath(link))) for link in links) else None

    def _holds(self, real: Path) -> bool:
        return _is_beneath(real, self.roots) and not _is_beneath(real, self.closed)

    @property
    def remedy(self) -> str:
        """The one answer to a path that may not be named, whatever is there."""
        if not self.roots:
            return "this deployment permits no folder for data and models: an administrator can set BAPO_RESOURCE_ROOTS"
        return f"give an absolute path in one of the permitted folders: {', '.join(map(str, self.roots))}"

    def refusal(self, kind: PathKind, value: str) -> str | None:
        """Return the remedy for a forbidden path; None for a permitted path, and for a name that is not a path."""
        if kind == "model" and (value in CATALOGUE or value in shipped_models()):
            return None
        if kind == "verifier" and not is_file_reference(value):
            return None
        place = self.place(value.rpartition(":")[0] if kind == "verifier" else value)
        if place is not None:
            return outside_file(place) if kind == "model" else None
        named = f", or a model by its name ({', '.join((*shipped_models(), *CATALOGUE))})" if kind == "model" else ""
        return self.remedy + named


NO_FOLDERS = PermittedFolders()


def shipped_models() -> Sequence[str]:
    """Return the names of the models that come with BAPO."""
    return sorted(entry.parent.name for entry in SHIPPED_MODELS.glob("*/config.json"))


def path_fields() -> Mapping[str, PathKind]:
    """Return every field of a config that names a path, or several, such as `task.train_file`."""
    found = dict(_marked(RunConfig, ""))
    for name, registry in REGISTRIES.items():
        for config_class in registry.classes.values():
            found |= dict(_marked(config_class, f"{name}."))
    return found


def named_paths(config: RunConfig) -> Mapping[str, tuple[PathKind, str]]:
    """Return the resources that a config names: field, or for a list `field.0`, … → the kind and the value."""
    given = flatten(config.model_dump(mode="json"))
    found: dict[str, tuple[PathKind, str]] = {}
    for field, kind in path_fields().items():
        value = given.get(field)
        if isinstance(value, list):
            found |= {f"{field}.{place}": (kind, each) for place, each in enumerate(value)}
        elif value is not None:
            found[field] = kind, value
    return found


def _marked(section: type[BaseModel], prefix: str) -> Iterator[tuple[str, PathKind]]:
    for name, info in section.model_fields.items():
        for part in _parts(info.rebuild_annotation()):
            if isinstance(part, NamesPath):
                yield f"{prefix}{name}", part.kind
            elif isinstance(part, type) and issubclass(part, BaseModel):
                yield from _marked(part, f"{prefix}{name}.")


def _parts(annotation: Any) -> Iterator[Any]:
    """Return the types in an annotation, and their metadata."""
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    for inner in get_args(annotation):
        yield from _parts(inner)


def _is_beneath(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
