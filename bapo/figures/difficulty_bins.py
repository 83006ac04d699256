"""Figures 7 and 13: tracked prompts per accuracy over training, one panel per method, 0/G in red at the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.groups import Group
from bapo.figures.panels import Panel, axis_of, panel_figure, titled
from bapo.figures.seed_curves import shown
from bapo.figures.theme import Palette, accuracy_ramp
from bapo.figures.tracked import common_steps, sampling
from bapo.records import TrackingRecord

BASE, BASE_AGAIN = "base", "again"


class BinsPanel(NamedTuple):
    """Shares of the tracked prompts, as means over replicates."""

    label: str
    n: int
    group_size: int
    names: Sequence[str]
    """Name of each sampling: `base`, `again` (the base model once more: the null), or the step."""
    shares: Sequence[Sequence[float]]
    """`shares[k][i]`: prompts with k of G correct at sampling i."""


class DifficultyBins(NamedTuple):
    """One panel per group whose runs track prompts."""

    panels: Sequence[BinsPanel]


def difficulty_bins_data(groups: Sequence[Group]) -> DifficultyBins:
    """Return shares at the steps that all runs of a group sampled, and of both samplings of the base model."""
    panels = []
    for group in groups:
        runs = [run for run in group.runs if run.tracking]
        steps = common_steps(runs)
        if not steps or len({run.group_size for run in runs}) > 1:
            continue
        columns = [(BASE if step == 0 else f"{step:,}", [sampling(run, step) for run in runs]) for step in steps]
        again = [sampling(run, 0, 1) for run in runs]
        if steps[0] == 0 and all(record is not None for record in again):
            columns.insert(1, (BASE_AGAIN, again))
        size = runs[0].group_size
        shares = [
            [_mean_share([record for record in records if record is not None], k) for _, records in columns]
            for k in range(size + 1)
        ]
        panels.append(BinsPanel(group.label, len(runs), size, [name for name, _ in columns], shares))
    return DifficultyBins(panels)


def _mean_share(records: Sequence[TrackingRecord], k: int) -> float:
    shares = [sum(count == k for count in record.num_correct) / len(record.num_correct) for record in records]
    return sum(shares) / len(shares)


def difficulty_bins_figure(data: DifficultyBins, palette: Palette) -> go.Figure:
    """Draw stacked bars; each bar shows its share at 0/G."""
    panels = []
    for index, panel in enumerate(data.panels):
        ramp = accuracy_ramp(palette, panel.group_size)
        names = {0, panel.group_size // 2, panel.group_size} if panel.group_size > 8 else set(range(99))
        suffix = axis_of(index)
        bars = [
            go.Bar(
                x=panel.names,
                y=panel.shares[k],
                xaxis=f"x{suffix}",
                yaxis=f"y{suffix}",
                name=f"{k}/{panel.group_size}",
                legendgroup=f"{k}/{panel.group_size}",
                showlegend=index == 0 and k in names,
                marker={"color": ramp[k], "line": {"width": 0}},
                text=[f"{100 * share:.0f} %" for share in panel.shares[k]] if k == 0 else None,
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"color": "#ffffff", "size": 10},
                hovertemplate="%{y:.1%}",
            )
            for k in range(panel.group_size + 1)
        ]
        xaxis = titled("step", type="category", tickangle=0, fixedrange=True)
        yaxis = titled("tracked prompts", tickformat=".0%", range=[0, 1], fixedrange=True)
        panels.append(Panel(f"{shown(panel.label)} (n = {panel.n})", bars, xaxis, yaxis))
    return panel_figure(panels, barmode="stack", bargap=0.18)
