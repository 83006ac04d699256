"""Names of verifiers: BAPO's own, and those of installed packages."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib.metadata import EntryPoint

from bapo.config.plugins import offered

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
