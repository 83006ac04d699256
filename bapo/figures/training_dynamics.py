"""Figure 11: training reward, entropy and response length, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure, reward_scale
from bapo.figures.groups import Group
from bapo.figures.recorded import ENTROPY, LENGTH, REWARD
from bapo.figures.seed_curves import metric_curves, window_of
from bapo.figures.theme import Palette

_PANELS = (
    ("Entropy", ENTROPY, Scale("nats per token", ".3f", None)),
    ("Response length", LENGTH, Scale("tokens", ".1f", None)),
)


class TrainingDynamics(NamedTuple):
    """Moving means of the three metrics; a panel without curves where no run has its metric."""

    panels: Sequence[CurvePanel]
    window: int


def training_dynamics_data(groups: Sequence[Group]) -> TrainingDynamics:
    """Return the mean over replicates at each step."""
    window = window_of([run for group in groups for run in group.runs])
    rewards = metric_curves(groups, REWARD, window=window)
    others = [CurvePanel(title, metric_curves(groups, key, window=window), scale) for title, key, scale in _PANELS]
    return TrainingDynamics([CurvePanel("Training reward", rewards, reward_scale(rewards)), *others], window)


def training_dynamics_figure(data: TrainingDynamics, palette: Palette) -> go.Figure:
    """Return three panels with one legend."""
    return curves_figure(data.panels, palette)
