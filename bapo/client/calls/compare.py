"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from bapo.api.compare import CompareAxis, ComparedCurves, Comparison, RunsSeries
from bapo.client.call import InQuery, Keys, route

RunIds = Annotated[Sequence[str], InQuery("run")]


class CompareCalls:
    """Several runs side by side."""

    @route("GET /metrics")
    def metrics_of_runs(
        self,
        runs: RunIds,
        keys: Keys,
        from_step: int | None = None,
        to_step: int | None = None,
        max_points: int | None = None,
    ) -> RunsSeries:
        """Columns of metrics of several runs, each sampled for itself where `max_points` is given."""

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
    ) -> Comparison:
        """What sets runs apart, what they reached and for what; `group` is `config` (everything but the seed), `run`,
        `tags`, `group` or a config field.
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
        """Metrics over a common axis: a mean with its interval over the runs of each group; `group="run"` for each."""
