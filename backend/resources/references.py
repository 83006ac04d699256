"""Resolves `@name` in a config to a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from backend.resources import repository
from bapo.api.resources import ResourceKind
from bapo.config import ConfigError, ConfigProblem, RunConfig, apply_changes
from bapo.config.resolve import ExplicitConfig, flatten
from bapo.config.verifiers import is_file_reference

FIELDS: Mapping[str, ResourceKind] = {
    "model.path": "model",
    "task.train_file": "dataset",
    "task.test_file": "dataset",
    "task.test_files": "dataset",
    "task.verifier": "verifier",
}
"""Config fields that may refer to a resource."""

_KIND_NAMES: Mapping[ResourceKind, str] = {"model": "model", "dataset": "data set", "verifier": "verifier"}


def resolved(session: Session, explicit: ExplicitConfig, project_id: str | None) -> ExplicitConfig:
    """The config with paths in place of names.

    Raises ConfigError for names that are not registered in the project, and for a verifier's file that is not: it
    would be run by the workers, so that an administrator decides which are.
    """
    given = flatten(explicit)
    changes: dict[str, Any] = {}
    problems: list[ConfigProblem] = []
    for field, kind in FIELDS.items():
        value = given.get(field)
        paths = [_path(session, field, kind, each, project_id) for each in _listed(value)]
        problems += [path for path in paths if isinstance(path, ConfigProblem)]
        if paths != _listed(value):
            changes[field] = paths if isinstance(value, list | tuple) else paths[0]
    if problems:
        raise ConfigError(problems)
    return apply_changes(explicit, changes) if changes else explicit


def _path(
    session: Session, field: str, kind: ResourceKind, value: object, project_id: str | None
) -> object | ConfigProblem:
    """Path for a value of a config."""
    if not isinstance(value, str):
        return value
    known = f"use one of {_known(session, project_id, kind)}"
    if not value.startswith("@"):
        if kind != "verifier" or not is_file_reference(value):
            return value
        if repository.is_registered(session, project_id, kind, value):
            return value
        remedy = f"workers run only files that an administrator registered in the project: {known}"
        return ConfigProblem(field, value, remedy)
    resource = repository.named(session, project_id, kind, value.removeprefix("@"))
    if resource is None:
        return ConfigProblem(field, value, f"no {_KIND_NAMES[kind]} is registered under this name: {known}")
    return resource.path + (f":{resource.function}" if resource.function else "")


def _known(session: Session, project_id: str | None, kind: ResourceKind) -> str:
    return ", ".join(f"@{name}" for name in repository.names(session, project_id, kind)) or "none is registered yet"


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def uses(config: RunConfig) -> dict[str, str]:
    """The files and folders that a config names, by field; those of a list by field and place, such as `….0`."""
    given = flatten(config.model_dump(mode="json"))
    found: dict[str, str] = {}
    for field in FIELDS:
        value = given.get(field)
        if isinstance(value, list):
            found |= {f"{field}.{place}": path for place, path in enumerate(value)}
        elif value:
            found[field] = value
    return found
