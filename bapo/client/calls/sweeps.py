"""Sweeps: several runs made and read as one."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.sweeps import (
    SweepActionAnswer,
    SweepActionRequest,
    SweepCreate,
    SweepDetail,
    SweepPage,
    SweepPlan,
    SweepPreview,
)
from bapo.client.call import Call, Endpoint, get, idempotency, post


class SweepCalls:
    """Sweeps: several runs made and read as one."""

    @Endpoint
    def preview_sweep(self, body: SweepPlan) -> Call[SweepPreview]:
        """The runs that a plan would make, each with what is wrong with it; makes none."""
        return post("/sweeps/preview", SweepPreview, body)

    @Endpoint
    def create_sweep(self, body: SweepCreate, idempotency_key: str | None = None) -> Call[SweepDetail]:
        """Make all runs, or none; the same key again answers the sweep that the first request made."""
        return post("/sweeps", SweepDetail, body, **idempotency(idempotency_key))

    @Endpoint
    def sweeps(self, *, cursor: str | None = None, limit: int | None = None) -> Call[SweepPage]:
        """The sweeps, newest first."""
        return get("/sweeps", SweepPage, cursor=cursor, limit=limit)

    @Endpoint
    def sweep(self, sweep_id: str) -> Call[SweepDetail]:
        """One sweep with its runs and results."""
        return get(f"/sweeps/{quote(sweep_id, safe='')}", SweepDetail)

    @Endpoint
    def change_sweep(self, sweep_id: str, body: SweepActionRequest) -> Call[SweepActionAnswer]:
        """Do one thing to all runs of the sweep that allow it."""
        return post(f"/sweeps/{quote(sweep_id, safe='')}/actions", SweepActionAnswer, body)
