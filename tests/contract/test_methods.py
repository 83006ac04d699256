"""What a method is stands with its config class: no other code knows a method by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from bapo.config.method import METHODS, MethodSection, known_looks
from bapo.methods.probe import ProbeConfig

ROOT = Path(__file__).parents[2]
OWN_PLACE = ROOT / "bapo" / "methods"
COMMANDS = (METHODS.default.type_name(), ProbeConfig.type_name())
"""Also names of commands, so that only comparisons with them are looked for."""


@cache
def sources() -> Mapping[str, str]:
    """Read all code but that of the methods, by its place."""
    return {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for package in ("bapo", "backend", "frontend", "worker")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".js", ".css") and OWN_PLACE not in path.parents
    }


@pytest.mark.parametrize("name", METHODS.classes)
def test_a_methods_type_stands_only_with_its_config_class(name: str) -> None:
    quoted = rf"""["'`]{name}["'`]"""
    pattern = rf"([=!]=|\bcase) *{quoted}" if name in COMMANDS else quoted
    found = [
        f"{place}:{number}"
        for place, text in sources().items()
        if re.search(pattern, text)
        for number, line in enumerate(text.splitlines(), start=1)
        if re.search(pattern, line)
    ]
    assert found == [], f"ask the class variables of {METHODS.classes[name].__name__} instead"


@pytest.mark.parametrize("method", METHODS.classes.values(), ids=METHODS.classes)
def test_a_method_is_one_file(method: type[MethodSection]) -> None:
    assert METHODS.implementation(method).__module__ == method.__module__ != "bapo.config.method"


@pytest.mark.parametrize("method", METHODS.classes.values(), ids=METHODS.classes)
def test_a_method_says_what_it_is(method: type[MethodSection]) -> None:
    assert method.label
    assert method.look is not None
    assert set(method.steerable) <= set(method.model_fields)
    assert method.has_thresholds == {"c1", "c2", "c3"}.issubset(method.model_fields)
    assert method.has_critic == ("critic" in method.model_fields)
    assert bool(method.parts) == ("without" in method.model_fields)


def test_names_and_lines_are_unique() -> None:
    labels = [method.label for method in METHODS.classes.values()]
    assert len(set(labels)) == len(labels)
    looks = list(known_looks().values())
    assert len({(look.colour, look.dash) for look in looks}) == len({look.symbol for look in looks}) == len(looks)
