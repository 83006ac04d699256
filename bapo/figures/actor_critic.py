"""Figure 16: test accuracy of PPO against BA-PPO, with a star at the best evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.accuracy_curves import dataset_curves
from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure
from bapo.figures.groups import Group
from bapo.figures.peaks import Peak, best_of
from bapo.figures.seed_curves import SeedCurve
from bapo.figures.theme import Palette


class ActorCritic(NamedTuple):
    """Methods with a critic on one held-out set."""

    dataset: str
    num_samples: int
    curves: Sequence[SeedCurve]
    best: Peak | None


def actor_critic_data(groups: Sequence[Group], dataset: str, num_samples: int) -> ActorCritic:
    """Return the curves of these groups, and the best point of any."""
    curves = dataset_curves(groups, dataset, num_samples)
    return ActorCritic(dataset, num_samples, curves, best_of(curves))


def actor_critic_figure(data: ActorCritic, palette: Palette) -> go.Figure:
    """Return a line per method and a star at the best point."""
    panel = CurvePanel("", data.curves, Scale(f"{data.dataset} avg@{data.num_samples}"))
    return curves_figure([panel], palette, star=(0, data.best), panel_height=300)
