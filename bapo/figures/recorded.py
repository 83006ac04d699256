"""One run as the paper's figures read it, from its folder or from the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.comparison import flattened, seed_in
from bapo.analysis.held_out_sets import NamedSets, named_sets, newest_of_run, set_of
from bapo.analysis.result import AppliedChange
from bapo.api.records import Series
from bapo.config.sections import group_size_of
from bapo.figures.axes import ROLLOUTS_KEY, TIME_KEY
from bapo.figures.batch_composition import KEYS as COMPOSITION_KEYS
from bapo.records import AnyRecord, EvaluationRecord, StepRecord, TrackingRecord, metrics
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config

REWARD, ENTROPY, LENGTH = "critic/rewards/mean", "actor/entropy", "response_length/mean"
GRAD_NORM, BATCH = "actor/grad_norm", "bapo/batch/batch"
TOKENS, STEP_SECONDS, ELAPSED = "bapo/cost/num_tokens", "timing_s/step", "timing_s/elapsed"

STEP_KEYS = (
    *(REWARD, ENTROPY, LENGTH, GRAD_NORM),
    *(*COMPOSITION_KEYS, BATCH),
    *(ROLLOUTS_KEY, TOKENS, STEP_SECONDS, ELAPSED, TIME_KEY),
)
"""Metrics of training steps that the figures read."""

Floats = NDArray[np.float64]


class RecordedRun(NamedTuple):
    """A run and what it recorded."""

    id: str
    name: str
    config: Mapping[str, Any]
    """Complete and nested."""
    steps: Series
    """`STEP_KEYS` of the training steps."""
    evaluations: Sequence[EvaluationRecord]
    tracking: Sequence[TrackingRecord]
    compute_hours: float | None = None
    """Compute time in GPU-hours, slot-hours on the CPU; None if it was not counted."""
    cost: float | None = None
    """Cost of these hours, at the prices of their time; None without prices."""
    currency: str = ""
    num_gpus: int = 0
    status: str = "recorded"
    tags: Sequence[str] = ()
    group: str | None = None
    num_left_out: int = 0
    """Training steps that `steps` lacks, because a server sampled them."""
    applied_changes: Sequence[AppliedChange] = ()
    """Parameter changes while it trained."""

    @property
    def group_size(self) -> int:
        """Responses per prompt, G."""
        return group_size_of(self.config)

    @property
    def seed(self) -> int | None:
        """Seed of every random draw; None if an observed run recorded none."""
        return seed_in(flattened(self.config))

    @property
    def last_step(self) -> int:
        """Number of completed training steps."""
        return int(self.steps.steps[-1]) if self.steps.steps else 0

    def column(self, key: str) -> Floats:
        """Return a metric by step; NaN where a step lacks it."""
        values = self.steps.columns.get(key)
        if values is None:
            return np.full(len(self.steps.steps), np.nan)
        return np.array(values, dtype=np.float64)

    @property
    def step_numbers(self) -> Floats:
        """Training steps, as positions."""
        return np.array(self.steps.steps, dtype=np.float64)


def load_run(folder: Path | str) -> RecordedRun:
    """Return a run from the folder in which it trains or trained; needs no server.

    Raises:
        ConfigError: the folder is not that of a run.
    """
    folder = Path(folder)
    return run_of(folder.resolve().name, read_config(folder).model_dump(mode="json"), merged_records(folder))


def run_of(name: str, config: Mapping[str, Any], records: Sequence[AnyRecord]) -> RecordedRun:
    """Return a run from its journal's records, in the order of their steps."""
    steps = [record for record in records if isinstance(record, StepRecord)]
    rows = [metrics(record) for record in steps]
    return RecordedRun(
        id=name,
        name=name,
        config=config,
        steps=Series(
            steps=[record.step for record in steps],
            columns={key: [row.get(key) for row in rows] for key in STEP_KEYS},
        ),
        evaluations=[record for record in records if isinstance(record, EvaluationRecord)],
        tracking=[record for record in records if isinstance(record, TrackingRecord)],
    )


def with_named_sets(runs: Sequence[RecordedRun]) -> tuple[list[RecordedRun], NamedSets]:
    """Name the sets of all evaluations so that figures, which go by the name, compare like with like.

    Of a set that a run changed on its way, the newest evaluations stay.
    """
    known = [newest_of_run((set_of(record), record.step) for record in run.evaluations) for run in runs]
    sets = named_sets(each for of_run in known for each in of_run.values())
    found = []
    for run, of_run in zip(runs, known, strict=True):
        evaluations = [
            record
            if sets.labels[of_run[record.dataset]] == record.dataset
            else record.model_copy(update={"dataset": sets.labels[of_run[record.dataset]]})
            for record in run.evaluations
            if set_of(record).equals(of_run[record.dataset])
        ]
        found.append(run._replace(evaluations=evaluations))
    return found, sets
