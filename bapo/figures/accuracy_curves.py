"""Figures 12 and 16: test accuracy over training, by held-out set and method; PPO against BA-PPO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from bapo.analysis.comparison import Curve, curve
from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure
from bapo.figures.groups import Group
from bapo.figures.peaks import Peak, best_of
from bapo.figures.recorded import RecordedRun
from bapo.figures.seed_curves import SeedCurve, seed_curves
from bapo.figures.theme import Palette
from bapo.records import EvaluationRecord


class AccuracyCurves(NamedTuple):
    """avg@k of each held-out set."""

    datasets: Sequence[CurvePanel]


def accuracy_curves_data(groups: Sequence[Group]) -> AccuracyCurves:
    """Return the evaluations of each set, averaged over replicates."""
    panels = []
    for dataset, num_samples in datasets_of([run for group in groups for run in group.runs]):
        panels.append(CurvePanel(f"{dataset} avg@{num_samples}", dataset_curves(groups, dataset, num_samples)))
    return AccuracyCurves(panels)


def datasets_of(runs: Sequence[RecordedRun]) -> list[tuple[str, int]]:
    """Return held-out sets and k of avg@k, the widest first: CD-34 before CD-4. Another k is another figure."""
    found = {(record.dataset, record.num_samples) for run in runs for record in run.evaluations}
    return sorted(found, key=lambda each: (-len(each[0]), each))


def evaluations_on(run: RecordedRun, dataset: str, num_samples: int) -> list[EvaluationRecord]:
    """Return a run's evaluations of one set, by step."""
    return [record for record in run.evaluations if record.dataset == dataset and record.num_samples == num_samples]


def dataset_curves(groups: Sequence[Group], dataset: str, num_samples: int) -> list[SeedCurve]:
    """Return avg@k over the steps, one curve per group."""

    def of_run(run: RecordedRun) -> Curve:
        records = evaluations_on(run, dataset, num_samples)
        return curve(
            np.array([record.step for record in records], dtype=np.float64),
            np.array([record.avg_at_k.value for record in records], dtype=np.float64),
        )

    return seed_curves(groups, of_run)


def accuracy_curves_figure(data: AccuracyCurves, palette: Palette) -> go.Figure:
    """Return a line per method with its 95 % interval over seeds."""
    return curves_figure(data.datasets, palette)


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
