"""A realistic journal, simulated, and the answers that the API would give about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Self

from bapo.api.records import HistogramSeries, Series
from bapo.records import AnyRecord, StepRecord, metrics
from benchmarks.simulation import SimulatedRun
from benchmarks.volume import config_of

BATCH_SIZE, NUM_PROMPTS = 32, 2048
STARTED_AT = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


class Simulation:
    """A run of `num_steps` steps, of which as many are recorded as were asked for."""

    def __init__(self, num_steps: int, *, method: str = "bapo") -> None:
        self._run = SimulatedRun(
            config_of(steps=num_steps, batch_size=BATCH_SIZE, type=method),
            num_prompts=NUM_PROMPTS,
            test_sets=("CD-34", "CD-4"),
            seconds_per_step=0.8,
            began_at=STARTED_AT.timestamp(),
        )
        self.records: list[AnyRecord] = [*self._run.begin()]
        self.last_step = 0

    def train(self, steps: int) -> Self:
        """Add some steps, and what is due after each."""
        for _ in range(steps):
            self.last_step += 1
            self.records += self._run.step(self.last_step)
        return self


def series_of(records: Sequence[AnyRecord], *, from_step: int = 0) -> Series:
    """All metrics of the records from a step on, as GET /metrics gives them."""
    rows: dict[int, dict[str, float]] = {}
    for record in records:
        if record.step >= from_step and (values := metrics(record)):
            rows.setdefault(record.step, {}).update(values)
    steps = sorted(rows)
    keys = sorted({key for row in rows.values() for key in row})
    return Series(steps=steps, columns={key: [rows[step].get(key) for step in steps] for key in keys})


def histograms_of(records: Sequence[AnyRecord], *, from_step: int = 0) -> HistogramSeries:
    """The accuracy histograms of the records from a step on, as GET /histograms gives them."""
    steps = [record for record in records if isinstance(record, StepRecord) and record.step >= from_step]
    return HistogramSeries(
        steps=[record.step for record in steps],
        fresh=[record.fresh_histogram for record in steps],
        reevaluated=[record.reevaluated_histogram for record in steps],
        batch=[record.batch_histogram for record in steps],
    )
