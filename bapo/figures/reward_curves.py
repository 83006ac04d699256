"""Figures 4 and 11: training reward by task, and reward, entropy and response length, one line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure, reward_scale
from bapo.figures.groups import Group
from bapo.figures.panels import PANEL_HEIGHT
from bapo.figures.recorded import ENTROPY, LENGTH, REWARD
from bapo.figures.seed_curves import metric_curves, window_of
from bapo.figures.theme import Palette

SINGLE_HEIGHT = 300


class RewardCurves(NamedTuple):
    """Mean reward of the fresh rollouts, as a moving mean; one panel per task."""

    tasks: Sequence[CurvePanel]
    window: int
    """Steps that each point averages over."""


def reward_curves_data(groups: Sequence[Group]) -> RewardCurves:
    """Return the mean over replicates at each step; a task's panel has the groups with runs on it."""
    window = window_of([run for group in groups for run in group.runs])
    found = []
    for task, members in by_task(groups).items():
        curves = metric_curves(members, REWARD, window=window)
        if curves:
            found.append(CurvePanel(task, curves, reward_scale(curves)))
    return RewardCurves(found, window)


def by_task(groups: Sequence[Group]) -> dict[str, list[Group]]:
    """Return the groups with their runs on each task; groups without one are left out there."""
    tasks = dict.fromkeys(task_of(run.config) for group in groups for run in group.runs)
    return {
        task: [
            group._replace(runs=runs)
            for group in groups
            if (runs := [run for run in group.runs if task_of(run.config) == task])
        ]
        for task in tasks
    }


def task_of(config: Mapping[str, Any]) -> str:
    """Return the type of a run's task."""
    return str(config["task"]["type"]) if "task" in config else "observed"


def reward_curves_figure(data: RewardCurves, palette: Palette) -> go.Figure:
    """Return a line per method with its 95 % interval over seeds."""
    return curves_figure(data.tasks, palette, panel_height=SINGLE_HEIGHT if len(data.tasks) == 1 else PANEL_HEIGHT)


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
