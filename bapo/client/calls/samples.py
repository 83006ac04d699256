"""Responses of a run, kept as text."""

from __future__ import annotations

from bapo.api.samples import SamplePage
from bapo.client.call import route
from bapo.rollout import BatchSource


class SampleCalls:
    """Groups with their responses."""

    @route("GET /runs/{run_id}/samples")
    def samples(
        self,
        run_id: str,
        step: int | None = None,
        prompt_id: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        from_step: int | None = None,
        to_step: int | None = None,
        source: BatchSource | None = None,
        min_correct: int | None = None,
        max_correct: int | None = None,
        search: str | None = None,
    ) -> SamplePage:
        """Responses kept as text, newest step first; `search` goes on behind `next_cursor`."""
