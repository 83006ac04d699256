"""Runs: submit, list, read, steer."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from bapo.api import ControlInfo, History, ParameterChange, RunCreate, RunDetail, RunPage, RunUpdate
from bapo.calls.base import Call, Endpoint, answer, get, nothing, post, run_path


class RunCalls:
    """Runs: submit, list, read, steer."""

    @Endpoint
    def create_run(self, body: RunCreate, idempotency_key: str | None = None) -> Call[RunDetail]:
        """Submit a run; the same key again answers the run that the first request made."""
        return post("/runs", RunDetail, body, **{"Idempotency-Key": idempotency_key or uuid.uuid4().hex})

    @Endpoint
    def runs(
        self,
        *,
        status: Sequence[str] | str | None = None,
        method: Sequence[str] | str | None = None,
        tag: Sequence[str] | str | None = None,
        group: str | None = None,
        search: str | None = None,
        sort: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[RunPage]:
        """A page of runs; `sort` is a column, with `-` before it for descending, such as `-created_at`."""
        return get(
            "/runs",
            RunPage,
            status=status,
            method=method,
            tag=tag,
            group=group,
            search=search,
            sort=sort,
            cursor=cursor,
            limit=limit,
        )

    @Endpoint
    def run(self, run_id: str) -> Call[RunDetail]:
        """One run."""
        return get(run_path(run_id), RunDetail)

    @Endpoint
    def update_run(self, run_id: str, body: RunUpdate) -> Call[RunDetail]:
        """Change name, tags or notes."""
        return Call("PATCH", run_path(run_id), answer(RunDetail), body=body)

    @Endpoint
    def delete_run(self, run_id: str) -> Call[None]:
        """Forget a draft or an ended run; its folder stays."""
        return Call("DELETE", run_path(run_id), nothing)

    @Endpoint
    def start(self, run_id: str) -> Call[RunDetail]:
        """Queue a draft."""
        return post(run_path(run_id, "start"), RunDetail)

    @Endpoint
    def stop(self, run_id: str) -> Call[RunDetail]:
        """Cancel at the next step boundary, after a checkpoint."""
        return post(run_path(run_id, "stop"), RunDetail)

    @Endpoint
    def pause(self, run_id: str) -> Call[RunDetail]:
        """Stop at the next step boundary, to be resumed later."""
        return post(run_path(run_id, "pause"), RunDetail)

    @Endpoint
    def resume(self, run_id: str) -> Call[RunDetail]:
        """Queue a paused run again."""
        return post(run_path(run_id, "resume"), RunDetail)

    @Endpoint
    def clone(self, run_id: str, body: RunCreate) -> Call[RunDetail]:
        """Submit a run that starts from another one's config."""
        return post(run_path(run_id, "clone"), RunDetail, body, **{"Idempotency-Key": uuid.uuid4().hex})

    @Endpoint
    def change_parameters(self, run_id: str, body: ParameterChange) -> Call[ControlInfo]:
        """New values for a running run, at a step boundary."""
        return post(run_path(run_id, "parameters"), ControlInfo, body)

    @Endpoint
    def history(self, run_id: str) -> Call[History]:
        """Who did what, and what became of each request."""
        return get(run_path(run_id, "history"), History)
