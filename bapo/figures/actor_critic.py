"""Figure 16: test accuracy of PPO against BA-PPO, with a star at the best evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.accuracy_curves import dataset_curves
from bapo.figures.curve_panels import CurvePanel, curve_panels
from bapo.figures.groups import Group
from bapo.figures.methods import LineStyle, styles_of
from bapo.figures.panels import panel_figure, titled
from bapo.figures.seed_curves import SeedCurve, shown
from bapo.figures.theme import Palette


class Peak(NamedTuple):
    """The best evaluation of a curve."""

    label: str
    step: float
    value: float


class ActorCritic(NamedTuple):
    """Methods with a critic on one held-out set."""

    dataset: str
    num_samples: int
    curves: Sequence[SeedCurve]
    best: Peak | None


def actor_critic_data(groups: Sequence[Group], dataset: str, num_samples: int) -> ActorCritic:
    """The curves of these groups, and the best point of any."""
    curves = dataset_curves(groups, dataset, num_samples)
    peaks = [each for curve in curves if (each := peak(curve)) is not None]
    return ActorCritic(dataset, num_samples, curves, max(peaks, key=lambda each: each.value, default=None))


def peak(curve: SeedCurve) -> Peak | None:
    """The first of the highest points; None for a curve without one."""
    known = [(value, -x) for x, value in zip(curve.x, curve.mean, strict=True) if value is not None]
    if not known:
        return None
    value, negative_step = max(known)
    return Peak(curve.label, -negative_step, value)


def peak_trace(found: Peak, style: LineStyle, axis: str = "") -> go.Scatter:
    """A star with its value."""
    return go.Scatter(
        x=[found.step],
        y=[found.value],
        xaxis=f"x{axis}",
        yaxis=f"y{axis}",
        name=f"best: {shown(found.label)}",
        mode="markers+text",
        text=[f"{100 * found.value:.1f} %"],
        textposition="top left",
        cliponaxis=False,
        marker={"symbol": "star", "size": 14, "color": style.colour},
        hoverinfo="skip",
        showlegend=False,
    )


def actor_critic_figure(data: ActorCritic, palette: Palette) -> go.Figure:
    """A line per method and a star at the best point."""
    styles = styles_of([curve.label for curve in data.curves], palette)
    star = [peak_trace(data.best, styles[data.best.label])] if data.best is not None else []
    yaxis = titled(f"{data.dataset} avg@{data.num_samples}", tickformat=".0%")
    panels = curve_panels([CurvePanel("", data.curves)], styles, [yaxis], hover=[".1%"], extra={0: star})
    return panel_figure(panels, panel_height=300)
