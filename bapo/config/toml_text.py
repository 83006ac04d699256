"""A config as the text of a recipe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def toml_text(config: Mapping[str, Any]) -> str:
    """Return the config as TOML, without empty fields, for which TOML has no value."""
    return "\n".join(_section(config, "")).strip() + "\n"


def _section(values: Mapping[str, Any], path: str) -> Iterator[str]:
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping) and value is not None}
    if path and plain:
        yield f"\n[{path}]"
    for name, value in plain.items():
        # A TOML basic string, number, flag or list is written as in JSON; keys of a config need no quotes.
        yield f"{name} = {json.dumps(value, ensure_ascii=False)}"
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _section(value, f"{path}.{name}" if path else name)
