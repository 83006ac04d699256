"""Vertical marks where a parameter changed, an attempt resumed or an alert opened."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from bapo.api.alerts import AlertInfo
from bapo.figures.axes import XAxis
from bapo.figures.formatting import config_value
from bapo.figures.theme import Palette
from bapo.records import EventRecord


class Mark(NamedTuple):
    """Something that happened between two steps."""

    step: int
    """First step that it holds for."""
    kind: Literal["change", "resumed", "forked", "alert"]
    text: str
    """One sentence."""
    name: str
    """Name of the mark: the request that changed a parameter, as in the history; `attempt-2` for an attempt, `alert-12`
    for an alert.
    """


def marks_of(events: Iterable[EventRecord]) -> list[Mark]:
    """Return the events of a run that charts mark, in order."""
    marks = []
    for event in events:
        if event.event == "parameter_change":
            changed = ", ".join(
                f"{field.removeprefix('method.')} = {config_value(value)}"
                for field, value in event.data.get("set", {}).items()
            )
            author = event.data.get("author")
            text = f"step {event.step + 1}: {changed or event.message}" + (f" ({author})" if author else "")
            marks.append(Mark(event.step + 1, "change", text, str(event.data.get("id", f"step-{event.step + 1}"))))
        # Before the first record there is nothing after which an attempt could resume.
        elif event.event == "resumed" and event.step > 0:
            text = f"attempt {event.attempt} resumed after step {event.step}"
            marks.append(Mark(event.step + 1, "resumed", text, f"attempt-{event.attempt}"))
        elif event.event == "forked":
            text = f"forked after step {event.step}: the steps before are the parent's"
            marks.append(Mark(event.step + 1, "forked", text, "fork"))
    return marks


def alert_marks(alerts: Iterable[AlertInfo]) -> list[Mark]:
    """Return the positions at which alerts of a run opened, in order."""
    found = [alert for alert in alerts if alert.kind not in ("finished", "failed")]
    return [
        Mark(alert.step, "alert", f"step {alert.step}: {alert.message} ({alert.rule})", f"alert-{alert.id}")
        for alert in sorted(found, key=lambda alert: (alert.step, alert.id))
    ]


_SIGNS = {"change": "◆", "resumed": "↻", "forked": "⑂", "alert": "▲"}
_DASHES = {"change": "solid", "resumed": "dot", "forked": "dot", "alert": "dash"}


def add_marks(figure: go.Figure, marks: Sequence[Mark], axis: XAxis, palette: Palette) -> go.Figure:
    """Draw each mark as a thin vertical line with a hoverable sign at its top."""
    shapes: list[dict[str, Any]] = list(figure.layout.shapes)
    annotations: list[dict[str, Any]] = list(figure.layout.annotations)
    colours = {"change": palette.mark, "resumed": palette.reference, "forked": palette.reference, "alert": palette.bad}
    for mark in marks:
        position = axis.at(mark.step)
        if position is None:
            continue
        colour = colours[mark.kind]
        shapes.append(
            {
                "type": "line",
                "name": mark.name,
                "x0": position,
                "x1": position,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "layer": "above",
                "line": {"color": colour, "width": 1, "dash": _DASHES[mark.kind]},
            }
        )
        annotations.append(
            {
                "name": mark.name,
                # Pages open the history on a click on it.
                "captureevents": True,
                "x": position,
                "y": 1,
                "yref": "paper",
                "yanchor": "middle",
                "text": _SIGNS[mark.kind],
                "hovertext": html.escape(mark.text),
                "showarrow": False,
                "font": {"color": colour, "size": 10},
            }
        )
    return figure.update_layout(shapes=shapes, annotations=annotations)
