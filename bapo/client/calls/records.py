"""Series, histograms, records and the log of a run."""

from __future__ import annotations

from collections.abc import Sequence

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
from bapo.client.call import Call, Endpoint, get, run_path


class RecordCalls:
    """What a run recorded."""

    @Endpoint
    def metric_keys(self, run_id: str) -> Call[MetricKeys]:
        """Names of the metrics that the run has."""
        return get(run_path(run_id, "metric-keys"), MetricKeys)

    @Endpoint
    def metrics(
        self,
        run_id: str,
        keys: Sequence[str],
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[Series]:
        """Columns of metrics; with `max_points`, a sample of the steps that keeps each column's extremes."""
        return get(
            run_path(run_id, "metrics"),
            Series,
            keys=",".join(keys),
            from_step=from_step,
            to_step=to_step,
            max_points=max_points,
        )

    @Endpoint
    def metric_groups(
        self,
        run_id: str,
        groups: Sequence[Sequence[str]],
        along: Sequence[str] = (),
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
        smooth: str | None = None,
    ) -> Call[SeriesGroups]:
        """Columns of training steps, each group sampled for itself, with `along`; `smooth`: `mean:10`, `ema:20`."""
        return get(
            run_path(run_id, "metric-groups"),
            SeriesGroups,
            groups="|".join(",".join(group) for group in groups),
            along=",".join(along),
            from_step=from_step,
            to_step=to_step,
            max_points=max_points,
            smooth=smooth,
        )

    @Endpoint
    def ratios(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[RatioSeries]:
        """Tokens by the ratio between policy and behaviour policy; with `max_points`, steps are summed."""
        return get(run_path(run_id, "ratios"), RatioSeries, from_step=from_step, to_step=to_step, max_points=max_points)

    @Endpoint
    def staleness(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[StalenessSeries]:
        """Groups trained on by their age, per source; with `max_points`, steps are summed."""
        return get(
            run_path(run_id, "staleness"), StalenessSeries, from_step=from_step, to_step=to_step, max_points=max_points
        )

    @Endpoint
    def histograms(
        self,
        run_id: str,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[HistogramSeries]:
        """Groups per accuracy 0/G..G/G, step by step; with `max_points`, evenly spaced steps."""
        return get(
            run_path(run_id, "histograms"), HistogramSeries, from_step=from_step, to_step=to_step, max_points=max_points
        )

    @Endpoint
    def records(
        self,
        run_id: str,
        type: str | None = None,
        from_step: int | None = None,
        to_step: int | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[RecordPage]:
        """Whole records of one type (`step`, `evaluation`, `tracking`, `event`), by step."""
        return get(
            run_path(run_id, "records"),
            RecordPage,
            type=type,
            from_step=from_step,
            to_step=to_step,
            cursor=cursor,
            limit=limit,
        )

    @Endpoint
    def log(
        self, run_id: str, offset: int | None = None, before: int | None = None, attempt: int | None = None
    ) -> Call[LogChunk]:
        """The trainer's output, of all attempts or one, after an offset, or before one; without either, its end."""
        return get(run_path(run_id, "log"), LogChunk, offset=offset, before=before, attempt=attempt)
