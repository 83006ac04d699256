"""The text that the run list's search reads: name, tags and notes, and the config's differences."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from bapo.config import RunConfig

ALWAYS = ("method.type", "task.type", "model.path")
"""Config fields that are found also where they have their default."""


def search_text(
    run_id: str, name: str, notes: str, tags: Sequence[str], recipe: str | None, config: Mapping[str, Any]
) -> str:
    """Return the text in lower case, one item a line, with the config's non-default fields, as `method.c1=0.25`."""
    defaults = _defaults(config.get("method", {}).get("type", ""))
    values = [
        f"{path}={_text(value)}"
        for path, value in leaves(config)
        if path in ALWAYS or path not in defaults or defaults[path] != value
    ]
    return "\n".join([name, run_id, *tags, *([recipe] if recipe else []), *values, notes]).lower()


@functools.cache
def _defaults(method: str) -> Mapping[str, Any]:
    try:
        config = RunConfig.model_validate({"method": {"type": method}})
    except ValidationError:
        # A method that this version no longer has.
        config = RunConfig()
    return dict(leaves(config.model_dump(mode="json")))


def leaves(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of a config by their dotted names."""
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
