"""Which distributions an install of this project brings, from pyproject.toml and what is installed here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@cache
def brought(*extras: str) -> frozenset[str]:
    """The base install with these extras, and all that it depends on."""
    found: dict[str, set[str]] = {}
    for requirement in _own(extras):
        _collect(requirement, found)
    return frozenset(found)


def _own(extras: Iterable[str]) -> list[Requirement]:
    lines = list(_PROJECT["dependencies"])
    for extra in extras:
        lines += _PROJECT["optional-dependencies"][extra]
    own: list[Requirement] = []
    for requirement in map(Requirement, lines):
        own += _own(requirement.extras) if requirement.name == _PROJECT["name"] else [requirement]
    return own


def _collect(requirement: Requirement, found: dict[str, set[str]]) -> None:
    name = canonicalize_name(requirement.name)
    seen = found.setdefault(name, set())
    fresh = {"", *requirement.extras} - seen
    seen |= fresh
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    for each in map(Requirement, lines):
        if fresh and any(each.marker is None or each.marker.evaluate({"extra": extra}) for extra in fresh):
            _collect(each, found)
