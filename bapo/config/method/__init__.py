"""The `method` section: one class per method, selected by `type`.

A class's fields are what a user sets; its class variables, documented in `base`, are what the method is. The
file of a method in `bapo/methods/` has its config class and the class that makes its batches. The registry imports
those files when a config is first read, so that nothing here imports them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from bapo.config.method.base import DelayedSection, Look, MethodSection, RunSections
from bapo.config.method.critic import ActorCritic, CriticConfig
from bapo.config.method.fields import Capacity, StepInterval, Threshold, ThresholdRange
from bapo.config.registry import Registry

METHODS: Registry[MethodSection] = Registry("method", "bapo.methods", MethodSection, default="bapo")
"""Every method that a config can name."""

Trait = Literal[
    "has_thresholds",
    "reevaluates",
    "reuses_groups",
    "has_rounds",
    "has_critic",
    "is_replayable",
    "is_unmeasured",
    "filters_fresh",
]
"""A flag among the class variables of `MethodSection`."""


def has_trait(method: str, trait: Trait) -> bool:
    """Return whether a method has the trait; False for one that is not installed here."""
    section = METHODS.get(method)
    return section is not None and bool(getattr(section, trait))


def is_trainable(method: str) -> bool:
    """Return whether runs of the method are trained here; False for the runs of other trainers."""
    section = METHODS.get(method)
    return section is None or section.is_trainable


def methods_with(trait: Trait) -> list[str]:
    """Return the types of all methods that have the trait."""
    return [name for name in METHODS.classes if has_trait(name, trait)]


def replay_methods(own: str | None = None) -> list[str]:
    """Return the methods that a recorded run can be replayed as: those whose rule makes batches.

    `own`: the run's method, which always is one of them.
    """
    found = [
        name for name in methods_with("is_replayable") if is_trainable(name) and not has_trait(name, "is_unmeasured")
    ]
    return list(dict.fromkeys((*found, *([own] if own else ()))))


def steerable_fields(method: str) -> list[str]:
    """Return the dotted fields that a running run of the method can take new values of."""
    section = METHODS.get(method)
    return [] if section is None else [f"method.{field}" for field in section.steerable]


_WITHOUT = " w/o "
_BY = " · "
"""Between the word for all runs of other trainers and the trainer's name."""


def method_key(method: Mapping[str, Any]) -> str:
    """Return a `method` section's type with the parts that it leaves out: `bapo w/o X3`; of a run of another trainer,
    with that trainer: `observed · TRL`."""
    name = str(method.get("type") or "no method")
    section = METHODS.get(name)
    parts = {} if section is None else section.parts
    missing = ", ".join(sorted(parts.get(part, part) for part in method.get("without") or ()))
    if section is not None and not section.is_trainable and method.get("trainer"):
        return f"{name}{_BY}{method['trainer']}"
    return f"{name}{_WITHOUT}{missing}" if missing else name


def method_name(key: str) -> str:
    """Return the same with the method's label: "BAPO w/o X3". A method that is not installed here is called by its
    type."""
    separator = _BY if _BY in key else _WITHOUT
    name, separator, rest = key.partition(separator)
    section = METHODS.get(name)
    return (name if section is None else section.label) + separator + rest


def method_label(method: Mapping[str, Any]) -> str:
    """Return the name of a `method` section in figures: `{"type": "bapo", "without": ["reused"]}` → "BAPO w/o X3"."""
    return method_name(method_key(method))


def ablations(section: type[MethodSection]) -> dict[str, Look]:
    """Return the lines of a method's ablations by label: "BAPO w/o X2" and so on."""
    return {section.label + _WITHOUT + parts: look for parts, look in section.ablation_looks.items()}


def known_looks() -> dict[str, Look]:
    """Return the lines of all methods and ablations that have a line, by label."""
    looks: dict[str, Look] = {}
    for section in METHODS.classes.values():
        if section.look is not None:
            looks[section.label] = section.look
        looks |= ablations(section)
    return looks


__all__ = [
    "METHODS",
    "ActorCritic",
    "Capacity",
    "CriticConfig",
    "DelayedSection",
    "Look",
    "MethodSection",
    "RunSections",
    "StepInterval",
    "Threshold",
    "ThresholdRange",
    "Trait",
    "ablations",
    "has_trait",
    "is_trainable",
    "known_looks",
    "method_key",
    "method_label",
    "method_name",
    "methods_with",
    "replay_methods",
    "steerable_fields",
]
