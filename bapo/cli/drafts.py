"""Inputs of a submission: a run file, changes, the values of a sweep."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bapo.config import ConfigError, ConfigProblem
from bapo.config.error_messages import problems_said
from bapo.config.resolve import flatten

ModelT = TypeVar("ModelT", bound=BaseModel)

MAX_NAME = 200
_OPTIONS = ("tags", "notes", "group", "priority", "project")
"""Options of a submission that a run file may hold in addition to the config."""


@dataclass(frozen=True)
class RunFile:
    """The contents of a run file."""

    name: str | None
    recipe: str | None
    changes: Mapping[str, Any]
    """Dotted fields."""
    options: Mapping[str, Any]


def object_in_file(path: Path, such_as: str) -> dict[str, Any]:
    """Read a .toml or .json file; `such_as`: fields that it may have. Raises ConfigError."""
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise ConfigError([ConfigProblem("file", str(path), f"{error.strerror}: check the path")]) from None
    except ValueError as error:
        kind = path.suffix[1:].upper()
        raise ConfigError([ConfigProblem("file", str(path), f"not readable as {kind}: {error}")]) from None
    if not isinstance(content, dict):
        raise ConfigError([ConfigProblem("file", str(path), f"write an object with fields, such as {such_as}")])
    return content


def checked(model: type[ModelT], content: Mapping[str, Any]) -> ModelT:
    """Return the content as a body of the API. Raises ConfigError."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise ConfigError(problems_said(error.errors())) from None


def changes_of_file(path: Path) -> RunFile:
    """Read a .toml or .json file: `recipe`, `name`, `tags`, …, and the sections of the config. Raises ConfigError."""
    content = object_in_file(path, "recipe and method")
    recipe = content.pop("recipe", None)
    # A recipe's file has a title, and says when to take it.
    title = content.pop("title", None)
    name = content.pop("name", title)
    content.pop("description", None)
    options = {field: content.pop(field) for field in _OPTIONS if field in content}
    return RunFile(name, recipe, flatten(content), options)


def grid_of(sweeps: Iterable[str]) -> dict[str, list[Any]]:
    """Parse sweeps such as `method.c1=1/8,1/4` into fields and their values. Raises ConfigError."""
    return dict(_axis(sweep) for sweep in sweeps)


def _axis(sweep: str) -> tuple[str, list[Any]]:
    field, separator, text = sweep.partition("=")
    if not separator or not field.strip() or not text.strip():
        raise ConfigError([ConfigProblem("--sweep", sweep, "write FIELD=V1,V2, such as method.c1=1/8,1/4")])
    whole = parse_value(text)
    values = whole if isinstance(whole, list) else [parse_value(part.strip()) for part in text.split(",")]
    return field.strip(), values


def parse_value(text: str) -> Any:
    """Parse JSON; other text is returned unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def label_of(changes: Mapping[str, Any]) -> str:
    """Format changes, such as c1=1/8 seed=2."""
    return " ".join(
        f"{field.rpartition('.')[2]}={value if isinstance(value, str) else json.dumps(value)}"
        for field, value in changes.items()
    )


def default_name(source: str, changes: Mapping[str, Any]) -> str:
    """Return the recipe or the file, followed by the changes."""
    return f"{Path(source).stem} {label_of(changes)}".strip()[:MAX_NAME]
