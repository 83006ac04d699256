"""Reads what a study's report needs of each run, and keeps to the held-out sets on which the runs compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.comparison import Curve, Floats, cumulative_at, curve
from bapo.analysis.held_out_sets import named_sets, newest_of_run, set_of
from bapo.analysis.number_format import counted
from bapo.records import AnyRecord, EvaluationRecord, StepRecord, TrackingRecord, metrics
from bapo.rollout import BatchSource
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config
from bapo.study.declaration import MEAN, Budget, Metric

ROLLOUTS, TOKENS = "bapo/cost/num_rollouts", "bapo/cost/num_tokens"
STEP_SECONDS, STEP_CPU, METHOD_SECONDS = "timing_s/step", "timing_s/step_cpu", "timing_s/batch"
COUNTS = ("fresh", "x1", "x2", "x3", "batch", "batch_size", "reevaluated", "improved")
TV = {source: f"bapo/tv/tokens/{source}" for source in map(str, BatchSource)}
GRAD_NORM, CLIP_FRACTION, RATIO_MAX = "actor/grad_norm", "actor/pg_clipfrac", "bapo/ratio/max"

METRIC_KEYS = (
    *(ROLLOUTS, TOKENS, STEP_SECONDS, STEP_CPU, METHOD_SECONDS),
    *(f"bapo/batch/{name}" for name in COUNTS),
    *TV.values(),
    *(GRAD_NORM, CLIP_FRACTION, RATIO_MAX),
)
"""Metrics of training steps that a report reads."""


class MeasuredRun(NamedTuple):
    """A run and what it recorded."""

    config: Mapping[str, Any]
    """Complete and nested."""
    steps: NDArray[np.int64]
    columns: Mapping[str, Floats]
    """`METRIC_KEYS` by step; NaN where a step lacks one."""
    evaluations: Sequence[EvaluationRecord]
    tracking: Sequence[TrackingRecord]

    def column(self, key: str) -> Floats:
        """Return a metric by step; NaN where a step lacks it."""
        return self.columns.get(key, np.full(len(self.steps), np.nan))

    def groups(self, name: str) -> Floats:
        """Return one of `COUNTS` by step."""
        return self.column(f"bapo/batch/{name}")

    def spent(self, budget: Budget) -> Floats:
        """Return the budget spent after each step; empty where it was not counted."""
        match budget:
            case "steps":
                return self.steps.astype(np.float64)
            case "rollouts":
                return np.asarray(np.maximum.accumulate(np.nan_to_num(self.column(ROLLOUTS))))
            case "compute":
                seconds = self.column(STEP_CPU)
                known: Floats = np.cumsum(np.nan_to_num(seconds))
                return np.empty(0) if np.isnan(seconds).all() else known

    def accuracy(self, test_set: str, metric: Metric, budget: Budget, sets: Sequence[str]) -> Curve:
        """Return a figure of the evaluations over what had been spent; `sets` are those that the mean is taken over."""
        wanted = sets if test_set == MEAN else [test_set]
        by_step: dict[int, list[float]] = {}
        for record in self.evaluations:
            if record.dataset in wanted and (value := figure_of(record, metric)) is not None:
                by_step.setdefault(record.step, []).append(value)
        # A mean over fewer sets would be another figure.
        found = {step: sum(values) / len(values) for step, values in by_step.items() if len(values) == len(wanted)}
        at = np.array(sorted(found), np.int64)
        values = np.array([found[step] for step in sorted(found)], np.float64)
        if budget == "steps":
            return curve(at.astype(np.float64), values)
        spent = self.spent(budget)
        if not len(spent):
            return curve(np.empty(0), np.empty(0))
        return curve(cumulative_at(self.steps, spent, at), values)


def figure_of(record: EvaluationRecord, metric: Metric) -> float | None:
    """Return avg@k, greedy accuracy or pass@k of an evaluation."""
    match metric:
        case "avg":
            return record.avg_at_k.value
        case "greedy":
            return None if record.greedy is None else record.greedy.value
        case "pass":
            interval = record.pass_at.get(record.num_samples)
            return None if interval is None else interval.value


def measured_run(config: Mapping[str, Any], records: Sequence[AnyRecord]) -> MeasuredRun:
    """Return a run from its journal's records, in the order of their steps."""
    steps = [record for record in records if isinstance(record, StepRecord)]
    rows = [metrics(record) for record in steps]
    return MeasuredRun(
        config=config,
        steps=np.array([record.step for record in steps], np.int64),
        columns={key: np.array([row.get(key, np.nan) for row in rows], np.float64) for key in METRIC_KEYS},
        evaluations=[record for record in records if isinstance(record, EvaluationRecord)],
        tracking=[record for record in records if isinstance(record, TrackingRecord)],
    )


def read_measured_run(run_folder: Path) -> MeasuredRun:
    """Return a run from its folder. Raises ConfigError where the folder is none of a run."""
    return measured_run(read_config(run_folder).model_dump(mode="json"), merged_records(run_folder))


def on_one_set(measured: Mapping[str, MeasuredRun], names: Sequence[str]) -> tuple[dict[str, MeasuredRun], str | None]:
    """Return the runs and a note; those with these names keep only evaluations on the sets that most of them have.

    A study names its test sets: of each name there is one in its report.
    """
    known = {
        name: newest_of_run((set_of(record), record.step) for record in measured[name].evaluations) for name in names
    }
    sets = named_sets(each for of_run in known.values() for each in of_run.values())
    labels = {name: {each.dataset: sets.labels[each] for each in of_run.values()} for name, of_run in known.items()}
    kept = {
        dataset: Counter(of_run[dataset] for of_run in labels.values() if dataset in of_run).most_common(1)[0][0]
        for dataset in dict.fromkeys(dataset for of_run in labels.values() for dataset in of_run)
    }
    found = dict(measured)
    for name, of_run in known.items():
        evaluations = [
            record
            for record in measured[name].evaluations
            if labels[name][record.dataset] == kept[record.dataset] and set_of(record).equals(of_run[record.dataset])
        ]
        found[name] = measured[name]._replace(evaluations=evaluations)
    parts = [sets.note()]
    for dataset in sets.variants:
        others = sum(of_run.get(dataset, kept[dataset]) != kept[dataset] for of_run in labels.values())
        parts.append(f"This report is on {kept[dataset]}; {counted(others, 'run')} evaluated on another set left out.")
    return found, " ".join(part for part in parts if part) or None
