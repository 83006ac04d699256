"""Figure 10: gradient norm and test accuracy per online filter of the fresh groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.comparison import SEED_FIELD
from bapo.config.method import BapoConfig, method_label
from bapo.figures.accuracy_curves import dataset_curves, datasets_of
from bapo.figures.actor_critic import Peak, peak, peak_trace
from bapo.figures.curve_panels import CurvePanel, curve_panels, labels_of
from bapo.figures.groups import Group, comparable, differing, grouped, most_common
from bapo.figures.methods import styles_of
from bapo.figures.panels import axis_of, panel_figure, titled
from bapo.figures.recorded import GRAD_NORM, RecordedRun
from bapo.figures.seed_curves import metric_curves, window_of
from bapo.figures.theme import Palette

FILTER_FIELD = "method.filter"
USUAL_FILTER = "filter range"
"""What is called BAPO elsewhere; it looks so here too."""


class OnlineFilters(NamedTuple):
    """The filters' runs side by side."""

    panels: Sequence[CurvePanel]
    """Gradient norm; then avg@k of the widest held-out set, where there is one."""
    accuracy_name: str
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
    """Both panels from groups by filter."""
    runs = [run for group in groups for run in group.runs]
    window = window_of(runs)
    panels = [CurvePanel("Gradient norm", metric_curves(groups, GRAD_NORM, window=window))]
    datasets = datasets_of(runs)
    if not datasets:
        return OnlineFilters(panels, "", None, window)
    dataset, num_samples = datasets[0]
    curves = dataset_curves(groups, dataset, num_samples)
    peaks = [each for curve in curves if (each := peak(curve)) is not None]
    name = f"{dataset} avg@{num_samples}"
    return OnlineFilters(
        [*panels, CurvePanel(name, curves)], name, max(peaks, key=lambda each: each.value, default=None), window
    )


def online_filters_figure(data: OnlineFilters, palette: Palette) -> go.Figure:
    """Two panels; the star is the best evaluation."""
    looks = {label: BapoConfig.label if label == USUAL_FILTER else label for label in labels_of(data.panels)}
    known = styles_of(list(looks.values()), palette)
    styles = {label: known[look] for label, look in looks.items()}
    extra = {1: [peak_trace(data.best, styles[data.best.label], axis_of(1))]} if data.best is not None else {}
    yaxes = [titled("norm"), titled("accuracy", tickformat=".0%")]
    return panel_figure(curve_panels(data.panels, styles, yaxes, hover=[".3f", ".1%"], extra=extra), columns=2)
