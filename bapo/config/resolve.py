"""From what a user set to a complete config: recipe, changes, defaults, checks, warnings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.findings import problems_of
from bapo.config.method import BapoConfig, MethodConfig
from bapo.config.run import DEFAULT_METHOD_TYPE, RunConfig
from bapo.config.task import DEFAULT_TASK_TYPE, TaskConfig
from bapo.thresholds import admitting_r_tot_intervals, empty_r_tot_intervals

METHOD_CONFIGS: dict[str, type[BaseModel]] = {
    member.model_fields["type"].default: member for member in get_args(get_args(MethodConfig)[0])
}
"""Config class of each method type."""

TASK_CONFIGS: dict[str, type[BaseModel]] = {
    member.model_fields["type"].default: member for member in get_args(get_args(TaskConfig)[0])
}
"""Config class of each task type."""

_TYPED_SECTIONS = (("method", METHOD_CONFIGS, DEFAULT_METHOD_TYPE), ("task", TASK_CONFIGS, DEFAULT_TASK_TYPE))

ExplicitConfig = dict[str, Any]
"""Nested dictionary of the fields that a user or a recipe set; everything else has its default."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A config that can run, and what its author should know."""

    config: RunConfig
    explicit: ExplicitConfig
    warnings: tuple[ConfigProblem, ...]


def resolve(explicit: Mapping[str, Any]) -> Resolution:
    """Fill in the defaults and check everything. Raises ConfigError naming each field, value and remedy."""
    try:
        config = RunConfig.model_validate(explicit)
    except ValidationError as error:
        raise ConfigError(problems_of(error)) from None
    warnings = (*_reuse_warnings(config), *_ratio_warnings(config), *_critic_warnings(config))
    return Resolution(config, deepcopy(dict(explicit)), warnings)


def _reuse_warnings(config: RunConfig) -> Iterable[ConfigProblem]:
    """Refuse thresholds that can never admit a group into X3; name the r_tot where they do not."""
    method, group_size = config.method, config.rollout.group_size
    if not isinstance(method, BapoConfig) or "reused" in method.without:
        return
    ranges = [[float(bound) for bound in bounds] for bounds in (method.c2, method.c3)]
    remedy = f"widen the range to at least 1/{group_size}, or use a larger rollout.group_size"
    if not admitting_r_tot_intervals(method.c2, method.c3, group_size):
        raise ConfigError(
            [ConfigProblem("method.c2", ranges, f"no accuracy k/{group_size} lies in [c2, c3] at any r_tot: {remedy}")]
        )
    gaps = empty_r_tot_intervals(method.c2, method.c3, group_size)
    if gaps:
        named = ", ".join(f"({float(low):.3g}, {float(high):.3g})" for low, high in gaps)
        yield ConfigProblem(
            "method.c2",
            ranges,
            f"no accuracy k/{group_size} lies in [c2, c3] while r_tot is in {named}, so nothing is reused then: "
            f"{remedy}",
        )


def _ratio_warnings(config: RunConfig) -> Iterable[ConfigProblem]:
    """GSPO whose ratios cannot leave 1: its first update of a batch is GRPO's, and there is no second one."""
    size = config.training.mini_batch_size
    if config.method.type == "gspo" and (size is None or size >= config.training.batch_size):
        yield ConfigProblem(
            "training.mini_batch_size",
            size,
            "with one update per step every ratio is 1, nothing is clipped, and gspo does what grpo does: give less "
            f"than training.batch_size, such as {max(1, config.training.batch_size // 4)} (the source takes four "
            "mini-batches)",
        )


def _critic_warnings(config: RunConfig) -> Iterable[ConfigProblem]:
    """A warm-up that ends the run: of use only where a fork goes on from it."""
    critic, steps = config.critic, config.training.steps
    if critic is not None and steps is not None and critic.warmup_steps >= steps:
        yield ConfigProblem(
            "method.critic.warmup_steps",
            critic.warmup_steps,
            f"the run has {steps} steps, so that only its critic is trained and the policy never moves: give fewer, or "
            "more training.steps",
        )


def parse_assignments(assignments: Iterable[str]) -> dict[str, Any]:
    """`method.c1=0.25` → {"method.c1": 0.25}; values are JSON where they parse, else text. Raises ConfigError."""
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
    for name, configs, default_type in _TYPED_SECTIONS:
        new_type, typed = changes.get(f"{name}.type"), changed.get(name, {})
        # A type that is no text, or a section that is none, is left for the check of the whole config.
        if isinstance(new_type, str) and isinstance(typed, dict) and new_type != typed.get("type", default_type):
            known = configs[new_type].model_fields if new_type in configs else typed
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
    """Nested sections to dotted fields."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def difference(config: RunConfig, parent: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Dotted field → (value in the parent, value here), for every field that differs; None where it is missing."""
    ours, theirs = (flatten(each.model_dump(mode="json")) for each in (config, parent))
    return {
        field: (theirs.get(field), ours.get(field))
        for field in sorted(ours.keys() | theirs.keys())
        if ours.get(field) != theirs.get(field)
    }
