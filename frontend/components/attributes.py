"""HTML attributes with a hyphen, which Python has no keyword for."""

from __future__ import annotations

from typing import Any


def attributes(**values: str) -> dict[str, Any]:
    """Returns attributes as properties: `aria_label="Close"` → {"aria-label": "Close"}."""
    return {name.replace("_", "-"): value for name, value in values.items()}
