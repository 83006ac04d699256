"""Entry points of installed packages: found without importing anything, loaded with one clear error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any


class PluginError(ValueError):
    """An entry point that cannot be used; the message names the package and what to do."""


@cache
def offered(group: str) -> Mapping[str, Sequence[EntryPoint]]:
    """Return the entry points of a group by name, in alphabetical order; several where packages compete for a name."""
    found: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, provider(point))):
        found.setdefault(point.name, []).append(point)
    return found


def provider(point: EntryPoint) -> str:
    """Return the distribution that an entry point comes from, such as `toy-methods 1.0`."""
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "an unnamed package"


def load(point: EntryPoint) -> Any:
    """Import what the entry point names. Raises PluginError, whatever goes wrong in the package."""
    try:
        return point.load()
    except Exception as error:
        raise unusable(point, f"it cannot be imported ({type(error).__name__}: {error})") from error


def unusable(point: EntryPoint, reason: str) -> PluginError:
    """Return the error of an entry point that cannot be used."""
    return PluginError(
        f"{point.value}, which the package {provider(point)} offers as {point.name} ({point.group}), cannot be used: "
        f"{reason}; update or uninstall that package"
    )
