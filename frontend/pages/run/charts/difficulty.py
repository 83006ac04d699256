"""The charts of the tab Difficulty: which prompts the policy can solve."""

from __future__ import annotations

import plotly.graph_objects as go

from bapo.figures import accuracy_bins, unlocks
from bapo.figures.axes import XAxis
from bapo.figures.theme import Palette
from frontend.pages.run.charts.base import Chart, of_tab
from frontend.pages.run.data import RunData


def _fresh_bins(data: RunData, palette: Palette) -> go.Figure:
    histograms = data.histograms
    # The server samples long runs apart from the metrics.
    positions = [data.axis.at(step) for step in histograms.steps]
    axis = XAxis(data.axis.kind, histograms.steps, positions, data.axis.start)
    return accuracy_bins.accuracy_bins_figure(
        accuracy_bins.histogram_bins(histograms.fresh, axis, data.group_size), palette
    )


CHARTS = of_tab(
    "difficulty",
    Chart(
        "tracked-bins",
        "Accuracy of tracked prompts",
        "A fixed set of training prompts, sampled G times by the current policy apart from training. From deep red "
        "(0/G, never solved) to deep blue (G/G).",
        lambda data, palette: accuracy_bins.accuracy_bins_figure(
            accuracy_bins.tracking_bins(data.tracking, data.axis, data.group_size), palette
        ),
        needs=frozenset({"tracking"}),
        live="recorded",
        height=320,
        empty="The tracked prompts have not been sampled yet.",
        question="Which prompts can it solve?",
    ),
    Chart(
        "fresh-bins",
        "Accuracy of fresh prompts",
        "Accuracy of the fresh groups of each step, by the rollout policy α, as means of ten steps.",
        _fresh_bins,
        needs=frozenset({"histograms"}),
        height=320,
        question="Which prompts does it meet?",
    ),
    Chart(
        "unlocks",
        "Unlocked prompts",
        "Tracked prompts that moved since the base model. Dashed: the same for two samplings of the unchanged base "
        "model. Only what lies above it is learning.",
        lambda data, palette: unlocks.unlocks_figure(unlocks.unlocks_data(data.tracking, data.axis), palette),
        needs=frozenset({"tracking"}),
        live="recorded",
        wide=True,
        empty="The tracked prompts have not been sampled during training yet.",
        question="Which prompts has it learned to solve?",
    ),
)
