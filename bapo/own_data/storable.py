"""Values that JSON, PostgreSQL and a browser can all hold; files from elsewhere may contain others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
"""PostgreSQL keeps no NUL, and half a surrogate pair has no bytes in UTF-8."""
_EXACT = 2**53
"""Whole numbers from here on are other ones in a browser."""


def storable(value: Any) -> Any:
    """Return the value as JSON that can be stored and shown; what cannot be is marked or becomes a text."""
    match value:
        case str():
            return _UNSTORABLE.sub("\ufffd", value)
        case Mapping():
            return {storable(str(name)): storable(member) for name, member in value.items()}
        case bytes():
            return f"{len(value):,} bytes"
        case Sequence():
            return [storable(member) for member in value]
        case _:
            return value if _is_plain(value) else storable(str(value))


def _is_plain(value: Any) -> bool:
    """Return whether JSON and a browser have the value: neither has NaN and infinities, and long numbers lose digits
    there."""
    match value:
        case int():
            return abs(value) < _EXACT
        case float():
            return abs(value) < float("inf")
        case _:
            return value is None


def unstorable(value: Any) -> str | None:
    """Return what a value holds that cannot be stored, in words; None where it can."""
    found = next((letter for text in _texts(value) for letter in _UNSTORABLE.findall(text)), None)
    if found is None:
        return None
    return r"a NUL character (\u0000)" if found == "\0" else rf"half of a surrogate pair (\u{ord(found):04x})"


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for name, member in value.items():
                yield str(name)
                yield from _texts(member)
        case list() | tuple():
            for member in value:
                yield from _texts(member)


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether structures and lists lie more than so many levels within one another."""
    level = [value]
    for _ in range(levels):
        level = [
            member
            for each in level
            if isinstance(each, dict | list)
            for member in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)
