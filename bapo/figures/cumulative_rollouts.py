"""Figure 9: responses generated so far, against what GRPO and DAPO would generate in the same steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.axes import ROLLOUTS_KEY
from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure
from bapo.figures.groups import Group
from bapo.figures.seed_curves import SeedCurve, metric_curves
from bapo.figures.theme import Palette

DAPO_ROUNDS = 4
"""Most sampling rounds of a DAPO step, in the paper and here."""


class RolloutBounds(NamedTuple):
    """Responses at a step that follow from the config alone."""

    step: int
    """Last step of the longest run."""
    fresh: int
    """Rollouts of GRPO: steps · fresh prompts · G."""
    most: int
    """Most rollouts of DAPO: DAPO_ROUNDS times as many."""


class CumulativeRollouts(NamedTuple):
    """Responses generated for training up to each step."""

    curves: Sequence[SeedCurve]
    bounds: RolloutBounds | None
    """`None` if the runs have different batch or group sizes, so that there is no one bound."""


def cumulative_rollouts_data(groups: Sequence[Group]) -> CumulativeRollouts:
    """Return the mean over replicates at each step."""
    runs = [run for group in groups for run in group.runs]
    per_step = {int(run.config["rollout"]["batch_size"]) * run.group_size for run in runs}
    last = max((run.last_step for run in runs), default=0)
    bounds = None
    if len(per_step) == 1 and last:
        fresh = last * per_step.pop()
        bounds = RolloutBounds(last, fresh, DAPO_ROUNDS * fresh)
    return CumulativeRollouts(metric_curves(groups, ROLLOUTS_KEY), bounds)


def cumulative_rollouts_figure(data: CumulativeRollouts, palette: Palette) -> go.Figure:
    """Return a line per method, both references dashed in grey."""
    references = []
    if data.bounds is not None:
        for name, value, dash in (
            ("fresh prompts only, as GRPO", data.bounds.fresh, "dash"),
            (f"{DAPO_ROUNDS} rounds every step, DAPO at its most", data.bounds.most, "dot"),
        ):
            references.append(
                go.Scatter(
                    x=[0, data.bounds.step],
                    y=[0, value],
                    name=name,
                    mode="lines",
                    line={"color": palette.reference, "dash": dash, "width": 1.5},
                    hovertemplate="%{y:,d}",
                )
            )
    panel = CurvePanel("", data.curves, Scale("responses", ",.0f", "~s"))
    return curves_figure([panel], palette, references=references, panel_height=300)
