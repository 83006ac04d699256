"""Figure 10: gradient norm and test accuracy per online filter of the fresh groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.comparison import SEED_FIELD
from bapo.config.method import method_label
from bapo.figures.accuracy_curves import dataset_curves, datasets_of
from bapo.figures.curve_panels import CurvePanel, Scale, curves_figure
from bapo.figures.groups import Group, comparable, differing, grouped, most_common
from bapo.figures.peaks import Peak, best_of
from bapo.figures.recorded import GRAD_NORM, RecordedRun
from bapo.figures.seed_curves import metric_curves, window_of
from bapo.figures.theme import Palette
from bapo.methods.bapo import BapoConfig

FILTER_FIELD = "method.filter"
USUAL_FILTER = "filter range"
"""Filter that is called BAPO elsewhere, drawn here in the same style."""


class OnlineFilters(NamedTuple):
    """The filters' runs side by side."""

    panels: Sequence[CurvePanel]
    """Gradient norm; then avg@k of the widest held-out set, where there is one."""
    best: Peak | None
    """The best evaluation of any filter."""
    window: int


def filter_groups(runs: Sequence[RecordedRun]) -> list[Group]:
    """Complete BAPO runs by their online filter, as far as they have the most common config in everything else."""
    complete = [run for run in runs if method_label(run.config["method"]) == BapoConfig.label]
    if not complete:
        return []
    configs = [_without_filter(run) for run in complete]
    usual = most_common(configs)
    same = [run for run, config in zip(complete, configs, strict=True) if differing(config, usual) <= {SEED_FIELD}]
    return grouped(same, FILTER_FIELD)


def _without_filter(run: RecordedRun) -> dict[str, Any]:
    return {field: value for field, value in comparable(run.config).items() if not field.startswith(FILTER_FIELD)}


def online_filters_data(groups: Sequence[Group]) -> OnlineFilters:
    """Return both panels from groups by filter."""
    runs = [run for group in groups for run in group.runs]
    window = window_of(runs)
    panels = [CurvePanel("Gradient norm", metric_curves(groups, GRAD_NORM, window=window), Scale("norm", ".3f", None))]
    datasets = datasets_of(runs)
    if not datasets:
        return OnlineFilters(panels, None, window)
    dataset, num_samples = datasets[0]
    curves = dataset_curves(groups, dataset, num_samples)
    accuracy = CurvePanel(f"{dataset} avg@{num_samples}", curves)
    return OnlineFilters([*panels, accuracy], best_of(curves), window)


def online_filters_figure(data: OnlineFilters, palette: Palette) -> go.Figure:
    """Return two panels; the star is the best evaluation."""
    looks = {USUAL_FILTER: BapoConfig.label}
    return curves_figure(data.panels, palette, looks=looks, star=(1, data.best), columns=2)
