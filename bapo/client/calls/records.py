"""Series, histograms, records and logs, of one run or of several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from bapo.api.compare import CompareAxis, ComparedCurves, Comparison, ParameterImportance, RunsSeries
from bapo.api.records import (
    HistogramSeries,
    LogChunk,
    MetricKeys,
    RatioSeries,
    RecordPage,
    Series,
    SeriesGroups,
    StalenessSeries,
)
from bapo.client.call import InQuery, Keys, joined, route

RunIds = Annotated[Sequence[str], InQuery("run")]


class RecordCalls:
    """Records of runs, and comparisons of them."""

    @route("GET /runs/{run_id}/metric-keys")
    def metric_keys(self, run_id: str) -> MetricKeys:
        """Return names of the metrics that the run has."""

    @route("GET /runs/{run_id}/metrics")
    def metrics(
        self,
        run_id: str,
        keys: Keys,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Series:
        """Return columns of metrics; with `max_points`, a sample of the steps that keeps each column's extremes."""

    @route("GET /runs/{run_id}/metric-groups")
    def metric_groups(
        self,
        run_id: str,
        groups: Annotated[Sequence[Keys], InQuery(text=lambda groups: "|".join(map(joined, groups)))],
        along: Keys = (),
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
        smooth: str | None = None,
    ) -> SeriesGroups:
        """Return columns of training steps, each group sampled apart, with `along`; `smooth`: `mean:10`, `ema:20`."""

    @route("GET /runs/{run_id}/ratios")
    def ratios(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> RatioSeries:
        """Return tokens by the ratio between policy and behaviour policy; with `max_points`, steps are summed."""

    @route("GET /runs/{run_id}/staleness")
    def staleness(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> StalenessSeries:
        """Return groups trained on by their age, per source; with `max_points`, steps are summed."""

    @route("GET /runs/{run_id}/histograms")
    def histograms(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> HistogramSeries:
        """Return groups per accuracy 0/G..G/G, step by step; with `max_points`, evenly spaced steps."""

    @route("GET /runs/{run_id}/records")
    def records(
        self,
        run_id: str,
        type: str | None = None,
        from_step: int | None = None,
        to_step: int | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> RecordPage:
        """Return whole records of one type (`step`, `evaluation`, `tracking`, `event`), by step."""

    @route("GET /runs/{run_id}/log")
    def log(
        self, run_id: str, offset: int | None = None, before: int | None = None, attempt: int | None = None
    ) -> LogChunk:
        """Return the trainer's output, of all attempts or one, after or before an offset; without either, its end."""

    @route("GET /metrics")
    def metrics_of_runs(
        self,
        runs: RunIds,
        keys: Keys,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> RunsSeries:
        """Return columns of metrics of several runs, each sampled for itself where `max_points` is given."""

    @route("GET /compare")
    def compare(
        self,
        runs: RunIds,
        *,
        group: str | None = None,
        x: CompareAxis | None = None,
        equal: bool | None = None,
        dataset: str | None = None,
        reach: float | None = None,
        reference: str | None = None,
        reach_final: bool | None = None,
    ) -> Comparison:
        """Compare runs: config differences, results and costs; `group` is `config` (everything but the seed), `run`,
        `tags`, `group` or a config field. `reach_final`: the accuracy to reach is the reference group's final one.
        """

    @route("GET /compare/curves")
    def compare_curves(
        self,
        runs: RunIds,
        keys: Keys,
        *,
        group: str | None = None,
        x: CompareAxis | None = None,
        equal: bool | None = None,
        max_points: int | None = None,
        reduce: str | None = None,
    ) -> ComparedCurves:
        """Return metrics over a common axis: a mean with its interval over the runs of each group; `group="run"` for
        each."""

    @route("GET /compare/importance")
    def compare_importance(self, runs: RunIds, *, metric: str | None = None) -> ParameterImportance:
        """Return the share of a result's variance that each differing config field explains, compared to chance."""
