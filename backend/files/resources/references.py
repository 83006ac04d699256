"""Resolves `@name` in a config to a path, and refuses paths outside the permitted folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from backend.files.resources import repository
from backend.kit.database import permitted_folders
from backend.models import Resource
from bapo.api.resources import ResourceKind
from bapo.config import ConfigProblem, RunConfig, apply_changes
from bapo.config.model_catalogue import CATALOGUE
from bapo.config.paths import path_fields
from bapo.config.plugins import is_file_reference
from bapo.config.resolve import ExplicitConfig, flatten

_VERSION = re.compile(r"[1-9]\d{0,8}")
_KIND_NAMES: Mapping[ResourceKind, str] = {"model": "model", "dataset": "data set", "verifier": "verifier"}


def resolved(
    session: Session, explicit: ExplicitConfig, project_id: str | None
) -> tuple[ExplicitConfig, list[ConfigProblem]]:
    """Return the config with paths in place of names, and what may not be named.

    Refused are names that are not registered in the project, paths outside the permitted folders, and a verifier's file
    that is not registered: it would be run by the workers, so that an administrator decides which are.
    """
    given = flatten(explicit)
    changes: dict[str, Any] = {}
    problems: list[ConfigProblem] = []
    for field, kind in path_fields().items():
        value = given.get(field)
        paths = [_path(session, field, kind, each, project_id) for each in _listed(value)]
        refused = [path for path in paths if isinstance(path, ConfigProblem)]
        if refused:
            problems += refused
        elif paths != _listed(value):
            changes[field] = paths if isinstance(value, list | tuple) else paths[0]
    return (apply_changes(explicit, changes) if changes else explicit), problems


def _path(
    session: Session, field: str, kind: ResourceKind, value: object, project_id: str | None
) -> object | ConfigProblem:
    """Return the path for a value of a config, or the problem with it."""
    if not isinstance(value, str):
        return value
    path = value
    known = f"use one of {_known(session, project_id, kind)}"
    if value.startswith("@"):
        name, _, number = value.removeprefix("@").partition(":")
        resource = repository.named(session, project_id, kind, name)
        if resource is None:
            return ConfigProblem(field, value, f"no {_KIND_NAMES[kind]} is registered under this name: {known}")
        path = resource.path + (f":{resource.function}" if resource.function else "")
        if number:
            version = repository.version(session, resource.id, int(number)) if _VERSION.fullmatch(number) else None
            if version is None:
                return ConfigProblem(field, value, f"@{name} has no such version: {_versions(session, resource)}")
            path = version.path
    elif (
        kind == "verifier"
        and is_file_reference(value)
        and not repository.is_registered(session, project_id, kind, value)
    ):
        remedy = f"workers run only files that an administrator registered in the project: {known}"
        return ConfigProblem(field, value, remedy)
    if repository.is_content(session, project_id, path):
        # Of the project's own uploads; they lie where nothing else may be named.
        return path
    # A link on the way, or the permitted folders, may have changed since it was registered.
    refusal = permitted_folders(session).refusal(kind, path)
    return path if refusal is None else ConfigProblem(field, value, refusal)


def _versions(session: Session, resource: Resource) -> str:
    numbers = [str(version.number) for version, _ in repository.versions(session, [resource.id])]
    return f"use one of {', '.join(numbers)}, or @{resource.name} alone" if numbers else f"use @{resource.name} alone"


def _known(session: Session, project_id: str | None, kind: ResourceKind) -> str:
    return ", ".join(f"@{name}" for name in repository.names(session, project_id, kind)) or "none is registered yet"


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else [value]


def context_problems(session: Session, config: RunConfig) -> list[ConfigProblem]:
    """Return the problem where responses leave no room for a prompt in the context of a model that is known here."""
    path, most = config.model.path, config.rollout.max_response_tokens
    known = CATALOGUE.get(path)
    context = known.context_tokens if known else repository.model_context(session, path)
    if context is None or most < context:
        return []
    remedy = f"the model's context has {context:,} tokens, for the prompt and the response: give less"
    return [ConfigProblem("rollout.max_response_tokens", most, remedy)]
