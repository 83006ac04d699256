"""Labels of a group's accuracies on axes."""

from __future__ import annotations

from typing import Any

MOST_TICKS = 16
"""Group sizes up to which the accuracies k/G get their own ticks."""


def accuracy_names(group_size: int) -> list[str]:
    """Return 0/G, 1/G, … G/G, and the name of the prompts that were not seen."""
    return [*(f"{k}/{group_size}" for k in range(group_size + 1)), "not seen"]


def accuracy_axis(group_size: int) -> dict[str, Any]:
    """Return a y-axis of accuracies, with ticks at the attainable ones as long as they stay legible."""
    axis: dict[str, Any] = {"title": {"text": "accuracy"}, "fixedrange": True}
    if group_size > MOST_TICKS:
        return axis
    ticks = range(0, group_size + 1, 1 if group_size <= 8 else 2)
    names = [f"{k}/{group_size}" for k in ticks]
    return axis | {"tickvals": [k / group_size for k in ticks], "ticktext": names}


def matrix_axes(before: str, after: str) -> dict[str, Any]:
    """Return the axes of a matrix of accuracies: before in rows, the first on top, after in columns."""
    axis = {"type": "category", "showgrid": False, "showline": False, "fixedrange": True, "ticks": ""}
    return {
        "xaxis": axis | {"title": {"text": after}, "showspikes": False},
        "yaxis": axis | {"title": {"text": before}, "autorange": "reversed"},
        "uirevision": "matrix",
    }
