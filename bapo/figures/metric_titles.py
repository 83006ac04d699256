"""Names of metrics for free choice: title, unit, question; an unknown one goes by its key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from bapo.analysis.number_format import are_shares
from bapo.records import Metric, StepRecord, declared_metrics

AVERAGE = re.compile(r"val-core/(?P<dataset>.+)/acc/(?P<figure>mean@(?P<k>\d+)|greedy|pass@\d+)")

_OF_NO_FIELD = (
    Metric("bapo/tracking/accuracy", "Accuracy of tracked prompts", "accuracy", "Do they improve?", is_share=True),
    Metric("timing_s/step", "Time per step", "seconds"),
)
"""Metrics that are computed from fields, or are entries of one."""


@cache
def _known() -> Mapping[str, Metric]:
    declared = {each.name: each.metric for each in declared_metrics(StepRecord) if each.metric.title}
    return declared | {metric.name: metric for metric in _OF_NO_FIELD}


def drawn_for(metric: Metric, values: Iterable[float | None]) -> Metric:
    """Return the metric as these values are drawn: a mean reward beyond 0 to 1 is no share."""
    return replace(metric, is_share=False) if metric.is_mean_reward and not are_shares(values) else metric


def metric_of(key: str) -> Metric:
    """Return title, unit and question of a metric; an unknown one is called by its key."""
    if (match := AVERAGE.fullmatch(key)) is not None:
        figure = f"avg@{match['k']}" if match["k"] else match["figure"]
        name = f"{match['dataset']} {figure}"
        return Metric(key, name, name, "Does it generalise?", is_share=True)
    return _known().get(key) or Metric(key, key, key.rsplit("/", 1)[-1])
