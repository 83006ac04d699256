"""Names of verifiers: those that come with BAPO, and those that installed packages offer."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

BUILT_IN = ("countdown", "exact", "math", "reasoning_gym")
ENTRY_POINTS = "bapo.verifiers"
"""Group in which an installed package offers a function of problem and response under a name."""


@cache
def installed_verifiers() -> Mapping[str, EntryPoint]:
    """What installed packages offer, by name; none of it is imported."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS) if point.name not in BUILT_IN}


def verifier_names() -> tuple[str, ...]:
    """Every name that a config can give."""
    return (*BUILT_IN, *sorted(installed_verifiers()))


def is_file_reference(reference: str) -> bool:
    """Whether it names a function of a file, `FILE.py:FUNCTION`."""
    path, separator, function = reference.rpartition(":")
    return bool(separator) and path.endswith(".py") and function.isidentifier()


def checked_reference(reference: str) -> str:
    """The reference where it names a verifier, or stands for one (`@name`). Raises ValueError saying what to take."""
    if reference in verifier_names() or is_file_reference(reference) or reference.startswith("@"):
        return reference
    near = difflib.get_close_matches(reference, verifier_names(), n=1)
    guess = f"did you mean {near[0]}? There are" if near else "take one of"
    raise ValueError(
        f"no such verifier: {guess} {', '.join(verifier_names())}, or FILE.py:FUNCTION with your own; a package that "
        f"offers one (entry point {ENTRY_POINTS}) is installed wherever configs are checked and trained"
    )
