"""Runs: submit, list, read, steer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import quote

from bapo.api.runs import (
    BulkAnswer,
    BulkRequest,
    ControlInfo,
    History,
    ParameterChange,
    PauseRequest,
    RunCreate,
    RunDetail,
    RunFacets,
    RunFilters,
    RunFork,
    RunPage,
    RunUpdate,
    StopAnswer,
    StopMoment,
    StopRequest,
)
from bapo.client.call import Call, Endpoint, answer, get, idempotency, nothing, post, run_path


def query_of(filters: RunFilters) -> dict[str, Any]:
    """The filters as parameters of an address; what narrows nothing is left out."""
    return filters.model_dump(mode="json", exclude_defaults=True)


class RunCalls:
    """Runs: submit, list, read, steer."""

    @Endpoint
    def create_run(self, body: RunCreate, idempotency_key: str | None = None) -> Call[RunDetail]:
        """Submit a run; the same key again answers the run that the first request made."""
        return post("/runs", RunDetail, body, **idempotency(idempotency_key))

    @Endpoint
    def runs(
        self,
        *,
        status: Sequence[str] | str | None = None,
        method: Sequence[str] | str | None = None,
        tag: Sequence[str] | str | None = None,
        owner: Sequence[str] | str | None = None,
        group: Sequence[str] | str | None = None,
        project: Sequence[str] | str | None = None,
        search: str | None = None,
        starred: bool | None = None,
        archived: str | None = None,
        created_after: str | None = None,
        created_before: str | None = None,
        min_step: int | None = None,
        max_step: int | None = None,
        min_best: float | None = None,
        max_best: float | None = None,
        sort: str | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> Call[RunPage]:
        """A page of runs; `sort` is a column, with `-` before it for descending, such as `-created_at`."""
        return get(
            "/runs",
            RunPage,
            status=status,
            method=method,
            tag=tag,
            owner=owner,
            group=group,
            project=project,
            search=search,
            starred=starred,
            archived=archived,
            created_after=created_after,
            created_before=created_before,
            min_step=min_step,
            max_step=max_step,
            min_best=min_best,
            max_best=max_best,
            sort=sort,
            cursor=cursor,
            offset=offset,
            limit=limit,
        )

    @Endpoint
    def runs_csv(self, filters: RunFilters | None = None, sort: str | None = None) -> Call[str]:
        """All runs that the filters match, as CSV."""
        params = query_of(filters or RunFilters()) | ({} if sort is None else {"sort": sort})
        return Call("GET", "/runs.csv", lambda response: response.text, params=params)

    @Endpoint
    def run_facets(self) -> Call[RunFacets]:
        """Methods, tags, owners and groups that there are to filter by."""
        return get("/runs/facets", RunFacets)

    @Endpoint
    def bulk(self, body: BulkRequest, idempotency_key: str | None = None) -> Call[BulkAnswer]:
        """Do one thing to several runs; the answer says of each whether it was done."""
        return post("/runs/bulk", BulkAnswer, body, **idempotency(idempotency_key))

    @Endpoint
    def star(self, run_id: str) -> Call[None]:
        """Mark a run for oneself."""
        return Call("PUT", run_path(run_id, "star"), nothing)

    @Endpoint
    def unstar(self, run_id: str) -> Call[None]:
        """Take the mark away."""
        return Call("DELETE", run_path(run_id, "star"), nothing)

    @Endpoint
    def run(self, run_id: str) -> Call[RunDetail]:
        """One run."""
        return get(run_path(run_id), RunDetail)

    @Endpoint
    def update_run(self, run_id: str, body: RunUpdate) -> Call[RunDetail]:
        """Change name, tags or notes, archive a run or take it out of the archive."""
        return Call("PATCH", run_path(run_id), answer(RunDetail), body=body)

    @Endpoint
    def delete_run(self, run_id: str) -> Call[None]:
        """Delete a draft or an ended run, with its folder."""
        return Call("DELETE", run_path(run_id), nothing)

    @Endpoint
    def start(self, run_id: str) -> Call[RunDetail]:
        """Queue a draft."""
        return post(run_path(run_id, "start"), RunDetail)

    @Endpoint
    def stop(self, run_id: str, when: StopMoment = "step") -> Call[StopAnswer]:
        """Cancel `now`, at the next `step` boundary, or after the next regular `checkpoint`."""
        return post(run_path(run_id, "stop"), StopAnswer, StopRequest(when=when))

    @Endpoint
    def pause(self, run_id: str, when: Literal["step", "checkpoint"] = "step") -> Call[RunDetail]:
        """Stop at the next step boundary or after the next regular checkpoint, to be resumed later."""
        return post(run_path(run_id, "pause"), RunDetail, PauseRequest(when=when))

    @Endpoint
    def resume(self, run_id: str) -> Call[RunDetail]:
        """Queue a paused run again."""
        return post(run_path(run_id, "resume"), RunDetail)

    @Endpoint
    def retry(self, run_id: str, idempotency_key: str | None = None) -> Call[RunDetail]:
        """Queue a failed run again; it goes on from its last checkpoint."""
        return post(run_path(run_id, "retry"), RunDetail, None, **idempotency(idempotency_key))

    @Endpoint
    def hold(self, run_id: str) -> Call[RunDetail]:
        """Keep a waiting run from starting until it is released."""
        return post(run_path(run_id, "hold"), RunDetail)

    @Endpoint
    def release(self, run_id: str) -> Call[RunDetail]:
        """Let a held run start."""
        return post(run_path(run_id, "release"), RunDetail)

    @Endpoint
    def clone(self, run_id: str, body: RunCreate, idempotency_key: str | None = None) -> Call[RunDetail]:
        """Submit a run that starts from another one's config; the same key again answers the run made first."""
        return post(run_path(run_id, "clone"), RunDetail, body, **idempotency(idempotency_key))

    @Endpoint
    def fork(self, run_id: str, body: RunFork, idempotency_key: str | None = None) -> Call[RunDetail]:
        """Submit a run that goes on from a checkpoint of another one."""
        return post(run_path(run_id, "fork"), RunDetail, body, **idempotency(idempotency_key))

    @Endpoint
    def withdraw_parameters(self, run_id: str, control_id: str) -> Call[ControlInfo]:
        """Take back a change of parameters that the trainer has not answered."""
        return Call("DELETE", run_path(run_id, "parameters", quote(control_id, safe="")), answer(ControlInfo))

    @Endpoint
    def change_parameters(self, run_id: str, body: ParameterChange) -> Call[ControlInfo]:
        """New values for a running run, at a step boundary."""
        return post(run_path(run_id, "parameters"), ControlInfo, body)

    @Endpoint
    def history(self, run_id: str) -> Call[History]:
        """Who did what, and what became of each request."""
        return get(run_path(run_id, "history"), History)
