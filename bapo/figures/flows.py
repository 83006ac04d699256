"""Flows of prompts between accuracy classes over several steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.api.difficulty import FlowClass, Flows
from bapo.figures.theme import Palette, accuracy_ramp, blended, translucent

_GAP = 0.025
"""Between two classes, as a share of the height."""


class FlowBand(NamedTuple):
    """Prompts that went from a class at one step to a class at the next."""

    place: int
    """Index of the earlier step."""
    before: int
    """Index of the class."""
    after: int
    num_prompts: int


class FlowColumns(NamedTuple):
    """Bands between the classes of each two steps that follow one another."""

    steps: Sequence[int]
    group_size: int
    classes: Sequence[FlowClass]
    sizes: Sequence[Sequence[int]]
    """`sizes[place][class]`: prompts."""
    bands: Sequence[FlowBand]


def flow_columns(flows: Flows) -> FlowColumns:
    """Return the paths, cut between the steps."""
    sizes = [[0] * len(flows.classes) for _ in flows.steps]
    bands: Counter[tuple[int, int, int]] = Counter()
    for path in flows.paths:
        for place, number in enumerate(path.classes):
            sizes[place][number] += path.num_prompts
            if place:
                bands[place - 1, path.classes[place - 1], number] += path.num_prompts
    return FlowColumns(
        flows.steps,
        flows.group_size,
        flows.classes,
        sizes,
        [FlowBand(*key, num_prompts) for key, num_prompts in sorted(bands.items())],
    )


def class_name(each: FlowClass, group_size: int) -> str:
    """Return 0/8, 1–2/8, … or not seen."""
    if each.name == "not_seen":
        return "not seen"
    return (
        f"{each.lowest}/{group_size}" if each.lowest == each.highest else f"{each.lowest}–{each.highest}/{group_size}"
    )


def class_colours(classes: Sequence[FlowClass], group_size: int, palette: Palette) -> list[str]:
    """Return the ramp's colour in the middle of each class."""
    ramp = accuracy_ramp(palette, group_size)
    return [
        palette.reference if each.name == "not_seen" else ramp[(each.lowest + each.highest + 1) // 2]
        for each in classes
    ]


def flows_figure(data: FlowColumns, palette: Palette) -> go.Figure:
    """Return one column of classes a step, G/G on top, and bands in the colour of the class that they leave."""
    colours = class_colours(data.classes, data.group_size, palette)
    # The middle of the ramp is hardly darker than a light card.
    bands = [blended(colour, palette.text, 0.15) for colour in colours]
    names = [class_name(each, data.group_size) for each in data.classes]
    nodes = [(place, number) for place, sizes in enumerate(data.sizes) for number, size in enumerate(sizes) if size]
    index = {node: position for position, node in enumerate(nodes)}
    heights = _heights(data)
    figure = go.Figure(
        go.Sankey(
            arrangement="fixed",
            node={
                "label": [names[number] for _, number in nodes],
                "color": [colours[number] for _, number in nodes],
                "x": [_across(place, len(data.steps)) for place, _ in nodes],
                "y": [heights[node] for node in nodes],
                "customdata": [f"step {data.steps[place]:,}" for place, _ in nodes],
                "pad": 8,
                "thickness": 14,
                "line": {"width": 0.5, "color": palette.muted},
                "hovertemplate": "%{label} correct at %{customdata}: %{value:,} prompts<extra></extra>",
            },
            link={
                "source": [index[band.place, band.before] for band in data.bands],
                "target": [index[band.place + 1, band.after] for band in data.bands],
                "value": [band.num_prompts for band in data.bands],
                "color": [translucent(bands[band.before], 0.4) for band in data.bands],
                "hovertemplate": "%{source.label} at %{source.customdata} → %{target.label} at "
                "%{target.customdata}: %{value:,} prompts<extra></extra>",
            },
            textfont={"color": palette.text, "size": 11},
        )
    )
    return figure.update_layout(
        height=380,
        hovermode="closest",
        margin={"l": 16, "r": 16, "t": 32, "b": 12},
        xaxis={"visible": False},
        yaxis={"visible": False},
        annotations=[_heading(place, step, len(data.steps), palette) for place, step in enumerate(data.steps)],
    )


def _across(place: int, num_steps: int) -> float:
    # Plotly takes 0 for a position that is not given.
    return 0.001 + 0.998 * place / (num_steps - 1)


def _heights(data: FlowColumns) -> dict[tuple[int, int], float]:
    """Return the middle of each class from the top: the best solved first, those not seen last."""
    order = [*reversed(range(len(data.classes) - 1)), len(data.classes) - 1]
    middles = {}
    for place, sizes in enumerate(data.sizes):
        present = [number for number in order if sizes[number]]
        room = 1 - _GAP * (len(present) - 1)
        top = 0.0
        for number in present:
            height = room * sizes[number] / sum(sizes)
            middles[place, number] = min(max(top + height / 2, 0.001), 0.999)
            top += height + _GAP
    return middles


def _heading(place: int, step: int, num_steps: int, palette: Palette) -> dict[str, Any]:
    anchor = "left" if place == 0 else "right" if place == num_steps - 1 else "center"
    return {
        "x": place / (num_steps - 1),
        "y": 1,
        "xref": "paper",
        "yref": "paper",
        "xanchor": anchor,
        "yanchor": "bottom",
        "yshift": 8,
        "text": f"step {step:,}",
        "showarrow": False,
        "font": {"color": palette.muted, "size": 12},
    }
