"""The tail of a figure, made from the newest steps, as a running chart appends it."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go


class Extension(NamedTuple):
    """New points of one chart, in the form that Plotly.extendTraces takes."""

    traces: list[int]
    columns: dict[str, list[list[object]]]
    """`x`, `y` (and `customdata`): one list per trace."""


def extension(figure: go.Figure, num_new: int) -> Extension:
    """Return the last `num_new` points of every trace.

    The figure may be made from more steps than are new (a moving mean needs those before). Raises ValueError where a
    trace has fewer points, for then it is no figure with one point per step.
    """
    columns: dict[str, list[list[object]]] = {"x": [], "y": []}
    for index, trace in enumerate(figure.data):
        for name, column in columns.items():
            values = list(trace[name])
            if len(values) < num_new:
                raise ValueError(f"trace {index} has {len(values)} points, fewer than the {num_new} new steps")
            column.append(values[len(values) - num_new :])
    return Extension(list(range(len(figure.data))), columns)
