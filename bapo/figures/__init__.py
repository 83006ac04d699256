"""Pure figures: typed data → `plotly.graph_objects.Figure`, one file per figure (docs/notebook.md).

Every trace of a live figure has exactly one point per step of its data, in order, and the number of traces does not
depend on the data: the tail of such a figure is what a running chart appends (`extension.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.ablations import Ablations, ablations_figure
from bapo.figures.accuracy_counts import AccuracyCounts, accuracy_counts_figure
from bapo.figures.accuracy_curves import AccuracyCurves, ActorCritic, accuracy_curves_figure, actor_critic_figure
from bapo.figures.cumulative_rollouts import CumulativeRollouts, cumulative_rollouts_figure
from bapo.figures.data_table import DataTable, data_table_figure
from bapo.figures.difficulty_bins import DifficultyBins, difficulty_bins_figure
from bapo.figures.group_accuracy import GroupAccuracy, group_accuracy_figure
from bapo.figures.groups import Group, grouped
from bapo.figures.migration_matrix import MigrationCells, migration_matrix_figure
from bapo.figures.online_filters import OnlineFilters, online_filters_figure
from bapo.figures.paper_figure_8 import BatchCompositions, batch_compositions_figure
from bapo.figures.plots import (
    plot_ablations,
    plot_accuracy_curves,
    plot_batch_compositions,
    plot_cumulative_rollouts,
    plot_difficulty_bins,
    plot_online_filters,
    plot_results_table,
    plot_reward_curves,
    plot_time_table,
    plot_training_dynamics,
    plot_unlock_comparison,
)
from bapo.figures.recorded import RecordedRun, load_run
from bapo.figures.results_table import ResultsTable, results_table_figure
from bapo.figures.reward_curves import RewardCurves, TrainingDynamics, reward_curves_figure, training_dynamics_figure
from bapo.figures.theme import DARK, LIGHT, Palette, template
from bapo.figures.time_table import TimeTable, time_table_figure
from bapo.figures.unlock_comparison import UnlockComparison, unlock_comparison_figure


class PaperFigure(NamedTuple):
    """The functions that draw a figure or table of arXiv:2602.20722."""

    draw: Callable[[Any, Palette], go.Figure]
    data: type[Any]
    """Type of the data that `draw` takes."""
    shows: str
    """One sentence."""


PAPER_FIGURES: Mapping[str, PaperFigure] = {
    "Figure 1": PaperFigure(
        accuracy_counts_figure, AccuracyCounts, "Tracked prompts per accuracy before and after training."
    ),
    "Figure 4": PaperFigure(reward_curves_figure, RewardCurves, "Training reward of each method, task by task."),
    "Table 1": PaperFigure(
        results_table_figure, ResultsTable, "avg@k and pass@k of each method on each held-out set, and its rollouts."
    ),
    "Figure 5": PaperFigure(
        group_accuracy_figure, GroupAccuracy, "Test accuracy of problems by their accuracy before training."
    ),
    "Figure 6": PaperFigure(
        ablations_figure, Ablations, "BAPO with other intervals, without X2 or X3, and with other thresholds."
    ),
    "Figure 7": PaperFigure(
        difficulty_bins_figure, DifficultyBins, "Tracked prompts per accuracy over training, method by method."
    ),
    "Figure 7, rates": PaperFigure(
        unlock_comparison_figure, UnlockComparison, "Prompts unlocked and lost, compared with what chance alone gives."
    ),
    "Figure 8": PaperFigure(
        batch_compositions_figure, BatchCompositions, "X1, X2 and X3 of every batch against the batch size of GRPO."
    ),
    "Figure 9": PaperFigure(
        cumulative_rollouts_figure, CumulativeRollouts, "Responses generated so far, against GRPO's and DAPO's."
    ),
    "Figure 10": PaperFigure(
        online_filters_figure, OnlineFilters, "Gradient norm and test accuracy per online filter."
    ),
    "Figure 11": PaperFigure(
        training_dynamics_figure, TrainingDynamics, "Training reward, entropy and response length of each method."
    ),
    "Figure 12": PaperFigure(
        accuracy_curves_figure, AccuracyCurves, "Test accuracy over training on each held-out set."
    ),
    "Table 2": PaperFigure(time_table_figure, TimeTable, "Rollouts, tokens, time and machine hours of each method."),
    "Figure 13": PaperFigure(difficulty_bins_figure, DifficultyBins, "Figure 7 on the other tasks."),
    "Figure 14": PaperFigure(batch_compositions_figure, BatchCompositions, "Figure 8 on the other tasks."),
    "Figure 15": PaperFigure(
        migration_matrix_figure, MigrationCells, "Tracked prompts by accuracy before training and at a later step."
    ),
    "Table 4": PaperFigure(data_table_figure, DataTable, "Data sets of the runs, with published size and licence."),
    "Figure 16": PaperFigure(actor_critic_figure, ActorCritic, "PPO against BA-PPO on a held-out set."),
}
"""In the paper's order. Figures 2 and 3 are diagrams."""

__all__ = [
    "DARK",
    "LIGHT",
    "PAPER_FIGURES",
    "Group",
    "Palette",
    "PaperFigure",
    "RecordedRun",
    "grouped",
    "load_run",
    "plot_ablations",
    "plot_accuracy_curves",
    "plot_batch_compositions",
    "plot_cumulative_rollouts",
    "plot_difficulty_bins",
    "plot_online_filters",
    "plot_results_table",
    "plot_reward_curves",
    "plot_time_table",
    "plot_training_dynamics",
    "plot_unlock_comparison",
    "template",
]
