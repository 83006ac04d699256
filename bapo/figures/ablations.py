"""Figure 6: what changes when BAPO's intervals, parts or thresholds are others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bapo.analysis.comparison import SEED_FIELD, value_text
from bapo.config.method import ablations, method_label
from bapo.figures.accuracy_curves import dataset_curves, datasets_of, evaluations_on
from bapo.figures.curve_panels import CurvePanel, curves_figure, reward_scale
from bapo.figures.groups import Group, comparable, differing, most_common, shared_seeds
from bapo.figures.recorded import REWARD, RecordedRun
from bapo.figures.seed_curves import metric_curves, window_of
from bapo.figures.theme import Palette
from bapo.methods.bapo import BapoConfig
from bapo.methods.grpo import GrpoConfig

FREQUENCIES = frozenset({"method.v", "method.m"})
THRESHOLDS = frozenset({"method.c1", "method.c2", "method.c3"})
REFERENCE_METHODS = frozenset({*ablations(BapoConfig), GrpoConfig.label})
"""Labels of the methods shown next to BAPO in the panel of its parts."""
LEAST_EVALUATIONS = 3
"""From which on test accuracy makes a curve; with fewer the training reward is shown."""

_TITLES = ("Intervals v and m", "Parts of the batch", "Thresholds")


class Ablations(NamedTuple):
    """Three panels; one without curves has fewer than two variants."""

    panels: Sequence[CurvePanel]
    baseline: frozenset[str]
    """Labels of the config that is varied; each looks like BAPO."""
    metric: str
    """Metric of the y-axes: a held-out set's avg@k, or the training reward."""
    window: int
    """Steps that each point averages over."""


def ablation_groups(runs: Sequence[RecordedRun]) -> list[list[Group]]:
    """Return the variants of each panel; none where there are fewer than two.

    Variants differ from the baseline, which is the config that most complete BAPO runs have, in the panel's own fields
    alone.
    """
    complete = [run for run in runs if _label(run) == BapoConfig.label]
    if not complete:
        return [[], [], []]
    baseline = most_common([comparable(run.config) for run in complete])
    parts = [
        run for run in runs if _label(run) in REFERENCE_METHODS or (run in complete and not _differing(run, baseline))
    ]
    return [
        _variants([run for run in complete if _differing(run, baseline) <= FREQUENCIES], _frequency_label),
        _variants(parts, _label),
        _variants([run for run in complete if _differing(run, baseline) <= THRESHOLDS], _threshold_label),
    ]


def _label(run: RecordedRun) -> str:
    return method_label(run.config["method"])


def _differing(run: RecordedRun, baseline: Mapping[str, Any]) -> set[str]:
    return differing(comparable(run.config), baseline) - {SEED_FIELD}


def _variants(runs: Sequence[RecordedRun], label: Callable[[RecordedRun], str]) -> list[Group]:
    members: dict[str, list[RecordedRun]] = {}
    for run in runs:
        members.setdefault(label(run), []).append(run)
    if len(members) < 2:
        return []
    return [Group(name, found, [], shared_seeds(found)) for name, found in members.items()]


def _frequency_label(run: RecordedRun) -> str:
    method = run.config["method"]
    return f"v = {method['v']}, m = {method['m']}"


def _threshold_label(run: RecordedRun) -> str:
    method = run.config["method"]
    fixed = all(method[name][0] == method[name][1] for name in ("c2", "c3"))
    values = [method[name][0] if fixed else method[name] for name in ("c2", "c3")]
    texts = [value_text(value) for value in (method["c1"], *values)]
    return f"{'fixed' if fixed else 'adaptive'}: c1 {texts[0]}, c2 {texts[1]}, c3 {texts[2]}"


def ablations_data(groups: Sequence[Sequence[Group]]) -> Ablations:
    """Test accuracy on the widest held-out set where all variants have a curve of it, else the training reward."""
    runs = [run for panel in groups for group in panel for run in group.runs]
    window = window_of(runs)
    datasets = datasets_of(runs)
    if datasets and all(len(evaluations_on(run, *datasets[0])) >= LEAST_EVALUATIONS for run in runs):
        dataset, num_samples = datasets[0]
        metric = f"{dataset} avg@{num_samples}"
        curves = [dataset_curves(panel, dataset, num_samples) for panel in groups]
        window = 1
    else:
        metric = "training reward"
        curves = [metric_curves(panel, REWARD, window=window) for panel in groups]
    scale = reward_scale([curve for panel in curves for curve in panel], metric)
    panels = [CurvePanel(title, found, scale) for title, found in zip(_TITLES, curves, strict=True)]
    return Ablations(panels, _baseline_labels(groups), metric, window)


def _baseline_labels(groups: Sequence[Sequence[Group]]) -> frozenset[str]:
    complete = {
        run.id: run for panel in groups for group in panel for run in group.runs if _label(run) == BapoConfig.label
    }
    if not complete:
        return frozenset()
    baseline = most_common([comparable(run.config) for run in complete.values()])
    return frozenset(
        group.label
        for panel in groups
        for group in panel
        if any(run.id in complete and not _differing(run, baseline) for run in group.runs)
    )


def ablations_figure(data: Ablations, palette: Palette) -> go.Figure:
    """Return the panels that have variants."""
    looks = dict.fromkeys(data.baseline, BapoConfig.label)
    return curves_figure([panel for panel in data.panels if panel.curves], palette, looks=looks)
