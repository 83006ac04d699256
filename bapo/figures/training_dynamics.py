"""Figure 11: training reward, entropy and response length, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.curve_panels import CurvePanel, curve_panels, labels_of
from bapo.figures.groups import Group
from bapo.figures.methods import styles_of
from bapo.figures.panels import panel_figure, titled
from bapo.figures.recorded import ENTROPY, LENGTH, REWARD
from bapo.figures.seed_curves import metric_curves, window_of
from bapo.figures.theme import Palette

_PANELS = (
    ("Training reward", REWARD, titled("correct responses", tickformat=".0%"), ".1%"),
    ("Entropy", ENTROPY, titled("nats per token"), ".3f"),
    ("Response length", LENGTH, titled("tokens"), ".1f"),
)


class TrainingDynamics(NamedTuple):
    """Moving means of the three metrics; a panel without curves where no run has its metric."""

    panels: Sequence[CurvePanel]
    window: int


def training_dynamics_data(groups: Sequence[Group]) -> TrainingDynamics:
    """Replicates averaged at each step."""
    window = window_of([run for group in groups for run in group.runs])
    return TrainingDynamics(
        [CurvePanel(title, metric_curves(groups, key, window=window)) for title, key, _, _ in _PANELS], window
    )


def training_dynamics_figure(data: TrainingDynamics, palette: Palette) -> go.Figure:
    """Three panels with one legend."""
    panels = curve_panels(
        data.panels,
        styles_of(labels_of(data.panels), palette),
        [yaxis for _, _, yaxis, _ in _PANELS],
        hover=[hover for _, _, _, hover in _PANELS],
    )
    return panel_figure(panels)
