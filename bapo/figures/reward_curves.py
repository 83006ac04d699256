"""Figure 4: training reward over the steps, one panel per task, one line per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.figures.curve_panels import CurvePanel, curves_figure, reward_scale
from bapo.figures.groups import Group
from bapo.figures.panels import PANEL_HEIGHT
from bapo.figures.recorded import REWARD
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
