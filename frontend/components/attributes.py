"""HTML attributes with a hyphen, which Python has no keyword for."""

from __future__ import annotations

from typing import Any


def attributes(**values: str) -> dict[str, Any]:
    """Return attributes as properties: `aria_label="Close"` → {"aria-label": "Close"}."""
    return {name.replace("_", "-"): value for name, value in values.items()}


def figure_named(name: str, **values: str) -> dict[str, Any]:
    """Return the properties that make an element a figure with a name, and other attributes."""
    return attributes(role="figure", aria_label=name, **values)
