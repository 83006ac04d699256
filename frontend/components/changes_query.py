"""Changed config fields in an address: `?set=method.c1:1/4;method.c2:0~1/2`, for what-if and for the new-run form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_FIELDS, _VALUE, _PARTS = ";", ":", "~"
MOST_CHARACTERS = 4_000


def changes_text(changes: Mapping[str, Any]) -> str:
    """Return the fields as one text; a list ends in a tilde unless it has several parts."""
    return _FIELDS.join(f"{path}{_VALUE}{_value_text(value)}" for path, value in changes.items())


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        parts = _PARTS.join(_value_text(part) for part in value)
        return parts if len(value) > 1 else parts + _PARTS
    return value if isinstance(value, str) else json.dumps(value)


def parse_changes(text: str | None) -> dict[str, Any]:
    """Read what `changes_text` wrote; anything else becomes fields and values that the server refuses."""
    changes = {}
    for part in (text or "")[:MOST_CHARACTERS].split(_FIELDS):
        path, separator, value = part.partition(_VALUE)
        if separator and path:
            changes[path] = _parsed(value)
    return changes


def _parsed(text: str) -> Any:
    if _PARTS in text:
        parts: Sequence[str] = text.removesuffix(_PARTS).split(_PARTS) if text != _PARTS else ()
        return [_scalar(part) for part in parts]
    return _scalar(text)


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
