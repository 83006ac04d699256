"""Fixtures: a simulated run, as records and as the API answers it."""

from __future__ import annotations

import pytest

from bapo.api.records import HistogramSeries, Series
from bapo.records import AnyRecord, EvaluationRecord, TrackingRecord
from tests.support.simulation import Simulation, histograms_of, series_of


@pytest.fixture(scope="session")
def run_records() -> list[AnyRecord]:
    """A finished run of 60 steps."""
    return Simulation(60).train(60).records


@pytest.fixture(scope="session")
def step_series(run_records: list[AnyRecord]) -> Series:
    """Its metrics, training steps only."""
    return series_of(run_records, from_step=1)


@pytest.fixture(scope="session")
def evaluation_series(run_records: list[AnyRecord]) -> Series:
    """The metrics of its evaluations."""
    return series_of([record for record in run_records if isinstance(record, EvaluationRecord)])


@pytest.fixture(scope="session")
def step_histograms(run_records: list[AnyRecord]) -> HistogramSeries:
    """Its accuracy histograms."""
    return histograms_of(run_records)


@pytest.fixture(scope="session")
def tracking_records(run_records: list[AnyRecord]) -> list[TrackingRecord]:
    """Its tracked samplings."""
    return [record for record in run_records if isinstance(record, TrackingRecord)]
