"""Entry points of installed packages, found without importing anything, and the verifiers that they offer."""

from __future__ import annotations

import difflib
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


BUILT_IN = ("countdown", "exact", "math", "reasoning_gym")
OF_ANSWERS = ("exact", "math", "reasoning_gym")
"""Those that judge the answer alone, in whatever form the response gives it."""
ENTRY_POINTS = "bapo.verifiers"
"""Group of the entry points; each names a function of problem and response."""


def installed_verifiers() -> Mapping[str, EntryPoint]:
    """Return the verifiers of installed packages by name; none of them is imported."""
    return {name: points[0] for name, points in offered(ENTRY_POINTS).items() if name not in BUILT_IN}


def verifier_names() -> tuple[str, ...]:
    """Return every name that a config can use."""
    return (*BUILT_IN, *sorted(installed_verifiers()))


def is_file_reference(reference: str) -> bool:
    """Return whether the reference names a function of a file, `FILE.py:FUNCTION`."""
    path, separator, function = reference.rpartition(":")
    return bool(separator) and path.endswith(".py") and function.isidentifier()


def checked_reference(reference: str) -> str:
    """Return the reference if it names a verifier, or has the form `@name`. Raises ValueError with the choices."""
    if reference in verifier_names() or is_file_reference(reference) or reference.startswith("@"):
        return reference
    near = difflib.get_close_matches(reference, verifier_names(), n=1)
    guess = f"did you mean {near[0]}? There are" if near else "take one of"
    raise ValueError(
        f"no such verifier: {guess} {', '.join(verifier_names())}, or FILE.py:FUNCTION with your own; a package that "
        f"offers one (entry point {ENTRY_POINTS}) is installed wherever configs are checked and trained"
    )
