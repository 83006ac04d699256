"""Responses of a run, kept as text."""

from __future__ import annotations

from bapo.api.samples import SamplePage
from bapo.client.call import Call, Endpoint, get, run_path
from bapo.rollout import BatchSource


class SampleCalls:
    """Groups with their responses."""

    @Endpoint
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
    ) -> Call[SamplePage]:
        """Responses kept as text, newest step first; `search` goes on behind `next_cursor`."""
        return get(
            run_path(run_id, "samples"),
            SamplePage,
            step=step,
            prompt_id=prompt_id,
            cursor=cursor,
            limit=limit,
            from_step=from_step,
            to_step=to_step,
            source=source,
            min_correct=min_correct,
            max_correct=max_correct,
            search=search,
        )
