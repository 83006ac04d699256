"""One line from runs to a chart: `plot_accuracy_curves(["runs/bapo-1", "runs/grpo-1"])`.

Each function reads the runs, puts replicates together and draws one figure of the paper. What it draws is computed by
the figure's own data step, which is available as well for users who want the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import plotly.graph_objects as go

from bapo.figures.ablations import ablation_groups, ablations_data, ablations_figure
from bapo.figures.accuracy_curves import accuracy_curves_data, accuracy_curves_figure
from bapo.figures.cumulative_rollouts import cumulative_rollouts_data, cumulative_rollouts_figure
from bapo.figures.difficulty_bins import difficulty_bins_data, difficulty_bins_figure
from bapo.figures.groups import BY_CONFIG, grouped
from bapo.figures.online_filters import filter_groups, online_filters_data, online_filters_figure
from bapo.figures.paper_figure_8 import batch_compositions_data, batch_compositions_figure
from bapo.figures.recorded import RecordedRun, load_run, with_named_sets
from bapo.figures.results_table import results_table_data, results_table_figure
from bapo.figures.reward_curves import (
    reward_curves_data,
    reward_curves_figure,
    training_dynamics_data,
    training_dynamics_figure,
)
from bapo.figures.theme import LIGHT, Palette, template
from bapo.figures.time_table import time_table_data, time_table_figure
from bapo.figures.unlock_comparison import unlock_comparison_data, unlock_comparison_figure

Runs = Sequence[RecordedRun | Path | str]
"""Runs, or the folders in which they train or trained."""
Groups = TypeVar("Groups")
Data = TypeVar("Data")


def plot_reward_curves(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Plot the training reward of each group, task by task (arXiv:2602.20722, Fig. 4).

    `by` says what makes a group: everything but the seed, or as in `grouped`. Raises ConfigError for a folder that
    holds no run.
    """
    return _drawn(reward_curves_data, reward_curves_figure, grouped(_loaded(runs), by), palette)


def plot_results_table(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Plot avg@k and pass@k of each group on each held-out set, and its rollouts (Table 1)."""
    return _drawn(results_table_data, results_table_figure, grouped(_loaded(runs), by), palette)


def plot_ablations(runs: Runs, *, palette: Palette = LIGHT) -> go.Figure:
    """Plot BAPO with other intervals, without X2 or X3, and with other thresholds (Fig. 6)."""
    return _drawn(ablations_data, ablations_figure, ablation_groups(_loaded(runs)), palette)


def plot_difficulty_bins(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Plot tracked prompts per accuracy over training, group by group (Figs. 7 and 13)."""
    return _drawn(difficulty_bins_data, difficulty_bins_figure, grouped(_loaded(runs), by), palette)


def plot_unlock_comparison(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Plot prompts unlocked and lost by each group, compared with what chance alone gives (Fig. 7, rates)."""
    return _drawn(unlock_comparison_data, unlock_comparison_figure, grouped(_loaded(runs), by), palette)


def plot_batch_compositions(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Plot X1, X2 and X3 of every batch against the batch size (Figs. 8 and 14)."""
    return _drawn(batch_compositions_data, batch_compositions_figure, grouped(_loaded(runs), by), palette)


def plot_cumulative_rollouts(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Return responses generated so far, against GRPO's and DAPO's (Fig. 9)."""
    return _drawn(cumulative_rollouts_data, cumulative_rollouts_figure, grouped(_loaded(runs), by), palette)


def plot_online_filters(runs: Runs, *, palette: Palette = LIGHT) -> go.Figure:
    """Plot gradient norm and test accuracy per online filter (Fig. 10)."""
    return _drawn(online_filters_data, online_filters_figure, filter_groups(_loaded(runs)), palette)


def plot_training_dynamics(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Plot training reward, entropy and response length of each group (Fig. 11)."""
    return _drawn(training_dynamics_data, training_dynamics_figure, grouped(_loaded(runs), by), palette)


def plot_accuracy_curves(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Test accuracy over training on each held-out set (Fig. 12)."""
    return _drawn(accuracy_curves_data, accuracy_curves_figure, grouped(_loaded(runs), by), palette)


def plot_time_table(runs: Runs, *, by: str = BY_CONFIG, palette: Palette = LIGHT) -> go.Figure:
    """Return rollouts, tokens, time and machine hours of each group (Table 2)."""
    return _drawn(time_table_data, time_table_figure, grouped(_loaded(runs), by), palette)


def _loaded(runs: Runs) -> list[RecordedRun]:
    return with_named_sets([run if isinstance(run, RecordedRun) else load_run(run) for run in runs])[0]


def _drawn(
    data: Callable[[Groups], Data], figure: Callable[[Data, Palette], go.Figure], groups: Groups, palette: Palette
) -> go.Figure:
    return figure(data(groups), palette).update_layout(template=template(palette))
