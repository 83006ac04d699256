"""The extras of this distribution: their packages, and the remedy where one is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, requires

DISTRIBUTION = "bapo-control-plane"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,-]+)\])?.*?(extra == ['\"](?P<extra>[\w-]+)['\"])?$")


def packages_of(extra: str) -> list[str]:
    """Return the packages that an extra adds to the base install; none if BAPO is not installed."""
    return sorted(set(_packages(extra, _requirements())))


def missing_packages(extra: str) -> list[str]:
    """Return the packages of an extra that are not installed."""
    return [name for name in packages_of(extra) if not _is_installed(name)]


def extra_with(module: str) -> str | None:
    """Return the first extra that brings an importable module of this name, or of one such as `argon2` in
    `argon2-cffi`."""
    wanted = _normal(module)
    requirements = _requirements()
    return next(
        (
            extra
            for extra in dict.fromkeys(extra for extra, _, _ in requirements)
            if any(f"{_normal(name)}-".startswith(f"{wanted}-") for name in _packages(extra, requirements))
        ),
        None,
    )


def remedy(extra: str) -> str:
    """Return the command that installs an extra."""
    return f'install the extra {extra!r}: pip install ".[{extra}]" in the checkout'


def _requirements() -> list[tuple[str, str, str]]:
    """Return each requirement as extra, package, and the package's extras."""
    try:
        lines = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        return []
    found = [match for line in lines if (match := _REQUIREMENT.match(line)) and match["extra"]]
    return [(match["extra"], match["name"], match["extras"] or "") for match in found]


def _packages(extra: str, requirements: list[tuple[str, str, str]]) -> Iterator[str]:
    for owner, name, extras in requirements:
        if owner != extra:
            continue
        if _normal(name) == DISTRIBUTION:
            for other in extras.split(","):
                yield from _packages(other, requirements)
        else:
            yield name


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
