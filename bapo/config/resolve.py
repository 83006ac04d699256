"""Completes what a user set to a config: recipe, changes, defaults, checks, warnings."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bapo.config.error_messages import MOST_PROBLEMS, problem_of, problems_of
from bapo.config.errors import BROKEN_RULE, ConfigError, ConfigProblem
from bapo.config.run import REGISTRIES, RunConfig

_WORD = re.compile(r"\w+")

ExplicitConfig = dict[str, Any]
"""Nested dictionary of the fields that a user or a recipe set; everything else has its default."""


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A config that can be trained: complete, with what was set of it.

    A run's config is resolved once, when the run is submitted. From there it is carried as it is, with its digest, and
    only parsed: by the worker and by the trainer.
    """

    config: RunConfig
    explicit: ExplicitConfig


def resolve(explicit: Mapping[str, Any]) -> ResolvedConfig:
    """Fill in the defaults and check everything. Raises ConfigError naming each field, value and remedy."""
    config = parse_config(explicit)
    if not config.method.is_trainable:
        remedy = "it describes runs of other trainers and cannot be trained: choose one of the methods"
        raise ConfigError([ConfigProblem("method.type", config.method.type, remedy)])
    return ResolvedConfig(config, deepcopy(dict(explicit)))


def parse_config(values: Mapping[str, Any]) -> RunConfig:
    """Return the config with these values, such as a recorded one: also of another trainer's run.

    Raises ConfigError naming each field, value and remedy.
    """
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        problems = problems_of(error)
        # Of very many problems not all are known, and no rule would be judged by the fields that are left.
        behind = [] if len(problems) > MOST_PROBLEMS else _rules_behind(values, problems)
        raise ConfigError([*problems, *behind]) from None


def config_digest(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a complete config in JSON's types, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _rules_behind(values: Mapping[str, Any], refused: Sequence[ConfigProblem]) -> list[ConfigProblem]:
    """Return the rules between fields that the other fields break: pydantic checks a rule only where each of its fields
    is legal."""
    kept: Any = values
    for problem in refused:
        section, _, name = problem.field.rpartition(".")
        # A type decides which fields its section has.
        kept = _without(kept, *(section if name == "type" else problem.field).split("."))
    try:
        RunConfig.model_validate(kept)
    except ValidationError as error:
        rules = [
            finding for finding in error.errors(include_url=False) if finding["type"] in (BROKEN_RULE, "value_error")
        ]
        names = {problem.field.rpartition(".")[2] for problem in refused}
        # A rule about a field that was refused would be judged by the field's default.
        broken = map(problem_of, rules)
        return [each for each in broken if names.isdisjoint(_WORD.findall(f"{each.field} {each.remedy}"))]
    return []


def _without(config: Any, name: str, *inside: str) -> Any:
    if not isinstance(config, Mapping) or name not in config:
        return config
    if inside:
        return {**config, name: _without(config[name], *inside)}
    return {each: value for each, value in config.items() if each != name}


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """Parse `method.c1=0.25` to {"method.c1": 0.25}; values are JSON if they parse, else text. Raises ConfigError."""
    changes: dict[str, Any] = {}
    for assignment in assignments:
        field, separator, text = assignment.partition("=")
        if not separator or not field:
            raise ConfigError([ConfigProblem("--set", assignment, "write FIELD=VALUE, such as method.c1=0.25")])
        try:
            changes[field.strip()] = json.loads(text)
        except ValueError:
            changes[field.strip()] = text
    return changes


def apply_changes(explicit: Mapping[str, Any], changes: Mapping[str, Any]) -> ExplicitConfig:
    """Set dotted fields. Of a section with a new `type`, only those set fields that the type knows are kept."""
    changed = deepcopy(dict(explicit))
    for name, registry in REGISTRIES.items():
        new_type, typed = changes.get(f"{name}.type"), changed.get(name, {})
        # A type that is no text, or a section that is none, is left for the check of the whole config.
        if (
            isinstance(new_type, str)
            and isinstance(typed, dict)
            and new_type != typed.get("type", registry.default.type_name())
        ):
            config_class = registry.get(new_type)
            known = typed if config_class is None else config_class.model_fields
            changed[name] = {field: value for field, value in typed.items() if field in known}
    for path, value in changes.items():
        *sections, leaf = path.split(".")
        section = changed
        for name in sections:
            section = section.setdefault(name, {})
            if not isinstance(section, dict):
                raise ConfigError([ConfigProblem(path, value, f"{name} is a value, not a section: check the path")])
        section[leaf] = value
    return changed


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested sections to dotted fields."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def difference(config: RunConfig, parent: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Compare two configs: dotted field → (value in the parent, value here), if they differ; None if missing."""
    ours, theirs = (flatten(each.model_dump(mode="json")) for each in (config, parent))
    return {
        field: (theirs.get(field), ours.get(field))
        for field in sorted(ours.keys() | theirs.keys())
        if ours.get(field) != theirs.get(field)
    }
