"""`@name` in a config: the path that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from backend.resources import repository
from bapo.api import ResourceKind
from bapo.config import ConfigError, ConfigProblem, RunConfig, apply_changes
from bapo.config.resolve import ExplicitConfig, flatten

FIELDS: Mapping[str, ResourceKind] = {
    "model.path": "model",
    "task.train_file": "dataset",
    "task.test_file": "dataset",
    "task.verifier": "verifier",
}
"""Config fields that may refer to a resource."""

_KIND_NAMES: Mapping[ResourceKind, str] = {"model": "model", "dataset": "data set", "verifier": "verifier"}


def resolved(session: Session, explicit: ExplicitConfig, project_id: str | None) -> ExplicitConfig:
    """The config with paths in place of names. Raises ConfigError for names that are not registered in the project."""
    given = flatten(explicit)
    changes: dict[str, Any] = {}
    problems: list[ConfigProblem] = []
    for field, kind in FIELDS.items():
        value = given.get(field)
        if not isinstance(value, str) or not value.startswith("@"):
            continue
        resource = repository.named(session, project_id, kind, value.removeprefix("@"))
        if resource is None:
            known = (
                ", ".join(f"@{name}" for name in repository.names(session, project_id, kind))
                or "none is registered yet"
            )
            remedy = f"no {_KIND_NAMES[kind]} is registered under this name: take one of {known}"
            problems.append(ConfigProblem(field, value, remedy))
        else:
            changes[field] = resource.path + (f":{resource.function}" if resource.function else "")
    if problems:
        raise ConfigError(problems)
    return apply_changes(explicit, changes) if changes else explicit


def uses(config: RunConfig) -> dict[str, str]:
    """The files and folders that a config names, by field."""
    given = flatten(config.model_dump(mode="json"))
    return {field: given[field] for field in FIELDS if given.get(field)}
