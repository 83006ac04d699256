"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.api.compare import CompareAxis, ComparedCurves, Comparison, RunsSeries
from bapo.client.call import Call, Endpoint, get


class CompareCalls:
    """Several runs side by side."""

    @Endpoint
    def metrics_of_runs(
        self,
        runs: Sequence[str],
        keys: Sequence[str],
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> Call[RunsSeries]:
        """Columns of metrics of several runs, each sampled for itself where `max_points` is given."""
        return get(
            "/metrics",
            RunsSeries,
            run=list(runs),
            keys=",".join(keys),
            from_step=from_step,
            to_step=to_step,
            max_points=max_points,
        )

    @Endpoint
    def compare(
        self,
        runs: Sequence[str],
        *,
        group: str | None = None,
        x: CompareAxis | None = None,
        equal: bool | None = None,
        dataset: str | None = None,
        reach: float | None = None,
        reference: str | None = None,
    ) -> Call[Comparison]:
        """What sets runs apart, what they reached and for what; `group` is `config` (everything but the seed), `run`,
        `tags`, `group` or a config field.
        """
        return get(
            "/compare",
            Comparison,
            run=list(runs),
            group=group,
            x=x,
            equal=equal,
            dataset=dataset,
            reach=reach,
            reference=reference,
        )

    @Endpoint
    def compare_curves(
        self,
        runs: Sequence[str],
        keys: Sequence[str],
        *,
        group: str | None = None,
        x: CompareAxis | None = None,
        equal: bool | None = None,
        max_points: int | None = None,
        reduce: str | None = None,
    ) -> Call[ComparedCurves]:
        """Metrics over a common axis: a mean with its interval over the runs of each group; `group="run"` for each."""
        return get(
            "/compare/curves",
            ComparedCurves,
            run=list(runs),
            keys=",".join(keys),
            group=group,
            x=x,
            equal=equal,
            max_points=max_points,
            reduce=reduce,
        )
