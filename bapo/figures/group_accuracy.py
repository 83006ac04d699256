"""Figure 5: test accuracy over training of problems that were unsolved, partly solved and mostly solved at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from bapo.analysis.comparison import Curve, curve
from bapo.figures.accuracy_curves import evaluations_on
from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure
from bapo.figures.groups import Group
from bapo.figures.recorded import Floats, RecordedRun
from bapo.figures.seed_curves import seed_curves
from bapo.figures.theme import Palette
from bapo.records import EvaluationRecord


class InitialGroup(NamedTuple):
    """Problems by their accuracy before training."""

    name: str
    lowest: int
    """Smallest number of correct responses at step 0."""
    highest: int


class GroupAccuracy(NamedTuple):
    """One panel per initial difficulty."""

    dataset: str
    num_samples: int
    panels: Sequence[CurvePanel]
    num_problems: Sequence[float]
    """Problems of each panel, as a mean over the runs."""


def initial_groups(num_samples: int) -> list[InitialGroup]:
    """Return the groups 0/k, below one half, and from one half; a k without one of them leaves it out."""
    half = -(-num_samples // 2)
    groups = [
        InitialGroup(f"0/{num_samples} before training", 0, 0),
        InitialGroup("below ½ before training", 1, half - 1),
        InitialGroup("at least ½ before training", max(half, 1), num_samples),
    ]
    return [group for group in groups if group.lowest <= group.highest]


def group_accuracy_data(groups: Sequence[Group], dataset: str, num_samples: int) -> GroupAccuracy:
    """Return mean accuracy of the problems in each initial group, run by run, then averaged over replicates.

    A run's problems are grouped by its own evaluation at step 0; a run without one is left out.
    """
    panels, sizes = [], []
    for initial in initial_groups(num_samples):

        def of_run(run: RecordedRun, initial: InitialGroup = initial) -> Curve:
            return _curve(evaluations_on(run, dataset, num_samples), initial)

        members = [
            _num_members(evaluations_on(run, dataset, num_samples), initial) for group in groups for run in group.runs
        ]
        known = [number for number in members if number is not None]
        curves = seed_curves(groups, of_run)
        if curves and known:
            panels.append(CurvePanel(initial.name, curves, Scale(f"{dataset} avg@{num_samples}")))
            sizes.append(sum(known) / len(known))
    return GroupAccuracy(dataset, num_samples, panels, sizes)


def _base(records: Sequence[EvaluationRecord]) -> EvaluationRecord | None:
    return next((record for record in records if record.step == 0), None)


def _members(base: EvaluationRecord, initial: InitialGroup) -> set[str]:
    return {
        prompt
        for prompt, count in zip(base.prompt_ids, base.num_correct, strict=True)
        if initial.lowest <= count <= initial.highest
    }


def _num_members(records: Sequence[EvaluationRecord], initial: InitialGroup) -> int | None:
    base = _base(records)
    return None if base is None else len(_members(base, initial))


def _curve(records: Sequence[EvaluationRecord], initial: InitialGroup) -> Curve:
    base = _base(records)
    chosen = _members(base, initial) if base is not None else set()
    steps: list[float] = []
    means: list[float] = []
    for record in records if chosen else ():
        shares = [
            count / record.num_samples
            for prompt, count in zip(record.prompt_ids, record.num_correct, strict=True)
            if prompt in chosen
        ]
        if shares:
            steps.append(record.step)
            means.append(sum(shares) / len(shares))
    return curve(_floats(steps), _floats(means))


def _floats(values: Sequence[float]) -> Floats:
    return np.array(values, dtype=np.float64)


def group_accuracy_figure(data: GroupAccuracy, palette: Palette) -> go.Figure:
    """Return a line per method; the first point is biased, for it chose the groups."""
    panels = [
        panel._replace(title=f"{panel.title}: {size:.0f} problems")
        for panel, size in zip(data.panels, data.num_problems, strict=True)
    ]
    return curves_figure(panels, palette)
