"""Runs and their configs: check, submit, import, list, read, steer; views of their list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from bapo.api.configs import (
    ConfigDraft,
    ConfigFieldPage,
    ConfigReport,
    PromptPreviewPage,
    RecipeInfo,
    RecipePage,
    RunEstimate,
)
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.runs import (
    BulkAnswer,
    BulkRequest,
    ControlInfo,
    History,
    ParameterChange,
    PauseRequest,
    RestoreAnswer,
    RunColumns,
    RunCreate,
    RunDetail,
    RunFacets,
    RunFilters,
    RunFork,
    RunGroups,
    RunPage,
    RunUpdate,
    StopAnswer,
    StopMoment,
    StopRequest,
)
from bapo.api.views import RunListLayouts, ViewInfo, ViewPage, ViewWrite
from bapo.api.workers import BatchAccepted, RecordBatch
from bapo.client.call import Call, Endpoint, answer, post, route, run_path


def query_of(filters: RunFilters) -> dict[str, Any]:
    """Return the filters as parameters of an address; what narrows nothing is left out."""
    return filters.model_dump(mode="json", exclude_defaults=True)


class RunCalls:
    """Runs and their configs: check, submit, import, list, read, steer; views of their list."""

    @route("POST /runs")
    def create_run(self, body: RunCreate, idempotency_key: str | None = None) -> RunDetail:
        """Submit a run; the same key again answers the run that the first request made."""

    @route("GET /runs")
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
        trash: str | None = None,
        where: Sequence[str] | str | None = None,
        columns: Sequence[str] | str | None = None,
        sort: str | None = None,
        cursor: str | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> RunPage:
        """Return a page of runs; `sort` is a column, with `-` before it for descending, such as `-created_at`.

        `where` are conditions on columns, such as `config.method.c1>=0.25`; `columns` are config fields and metrics,
        which come in each run's `values`.
        """

    @Endpoint
    def runs_csv(
        self, filters: RunFilters | None = None, sort: str | None = None, columns: Sequence[str] = ()
    ) -> Call[str]:
        """Return all runs that the filters match, as CSV; with these config fields and metrics."""
        params = query_of(filters or RunFilters()) | ({} if sort is None else {"sort": sort})
        params |= {"columns": list(columns)} if columns else {}
        return Call("GET", "/runs.csv", lambda response: response.text, params=params)

    @route("GET /runs/facets")
    def run_facets(self) -> RunFacets:
        """Return the methods, tags, owners and groups that runs can be filtered by."""

    @Endpoint
    def run_groups(
        self, by: str, metrics: Sequence[str] = (), filters: RunFilters | None = None, offset: int = 0, limit: int = 100
    ) -> Call[RunGroups]:
        """Return the runs that the filters match, in groups: states, mean and spread of these columns."""
        params = query_of(filters or RunFilters()) | {"by": by, "offset": offset, "limit": limit}
        params |= {"metrics": list(metrics)} if metrics else {}
        return Call("GET", "/runs/groups", answer(RunGroups), params=params)

    @route("GET /runs/columns")
    def run_columns(self, *, project: Sequence[str] | str | None = None) -> RunColumns:
        """Return the config fields and metrics that lists of runs can show, sort and filter by."""

    @route("POST /runs/bulk")
    def bulk(self, body: BulkRequest, idempotency_key: str | None = None) -> BulkAnswer:
        """Do one thing to several runs; the answer says of each whether it was done."""

    @route("PUT /runs/{run_id}/star")
    def star(self, run_id: str) -> None:
        """Mark a run for oneself."""

    @route("DELETE /runs/{run_id}/star")
    def unstar(self, run_id: str) -> None:
        """Take the mark away."""

    @route("GET /runs/{run_id}")
    def run(self, run_id: str) -> RunDetail:
        """Return one run."""

    @route("PATCH /runs/{run_id}")
    def update_run(self, run_id: str, body: RunUpdate) -> RunDetail:
        """Change name, tags or notes, archive a run or take it out of the archive."""

    @route("DELETE /runs/{run_id}")
    def delete_run(self, run_id: str, permanently: bool | None = None) -> None:
        """Move a draft or an ended run to the trash; `permanently`: delete it now, with its folder."""

    @route("POST /runs/{run_id}/restore")
    def restore_run(self, run_id: str) -> RestoreAnswer:
        """Take a run out of the trash."""

    @route("POST /runs/{run_id}/start")
    def start(self, run_id: str) -> RunDetail:
        """Queue a draft."""

    @Endpoint
    def stop(self, run_id: str, when: StopMoment = "step") -> Call[StopAnswer]:
        """Cancel `now`, at the next `step` boundary, or after the next regular `checkpoint`."""
        return post(run_path(run_id, "stop"), StopAnswer, StopRequest(when=when))

    @Endpoint
    def pause(self, run_id: str, when: Literal["step", "checkpoint"] = "step") -> Call[RunDetail]:
        """Stop at the next step boundary or after the next regular checkpoint, to be resumed later."""
        return post(run_path(run_id, "pause"), RunDetail, PauseRequest(when=when))

    @route("POST /runs/{run_id}/resume")
    def resume(self, run_id: str) -> RunDetail:
        """Queue a paused run again."""

    @route("POST /runs/{run_id}/retry")
    def retry(self, run_id: str, idempotency_key: str | None = None) -> RunDetail:
        """Queue a failed run again; it resumes from its last checkpoint."""

    @route("POST /runs/{run_id}/hold")
    def hold(self, run_id: str) -> RunDetail:
        """Keep a waiting run from starting until it is released."""

    @route("POST /runs/{run_id}/release")
    def release(self, run_id: str) -> RunDetail:
        """Let a held run start."""

    @route("POST /runs/{run_id}/clone")
    def clone(self, run_id: str, body: RunCreate, idempotency_key: str | None = None) -> RunDetail:
        """Submit a run that starts from another one's config; the same key again answers the run made first."""

    @route("POST /runs/{run_id}/fork")
    def fork(self, run_id: str, body: RunFork, idempotency_key: str | None = None) -> RunDetail:
        """Submit a run that continues from a checkpoint of another one."""

    @route("DELETE /runs/{run_id}/parameters/{control_id}")
    def withdraw_parameters(self, run_id: str, control_id: str) -> ControlInfo:
        """Take back a change of parameters that the trainer has not answered."""

    @route("POST /runs/{run_id}/parameters")
    def change_parameters(self, run_id: str, body: ParameterChange) -> ControlInfo:
        """Change parameters of a running run, at a step boundary."""

    @route("GET /runs/{run_id}/history")
    def history(self, run_id: str) -> History:
        """Return the actions on a run, and the trainer's answer to each request."""

    @route("POST /imports")
    def create_import(self, body: ImportCreate) -> ImportInfo:
        """Begin or continue the import of a folder."""

    @route("POST /imports/{run_id}/records")
    def import_records(self, run_id: str, body: RecordBatch) -> BatchAccepted:
        """Send lines of an imported folder."""

    @route("POST /imports/{run_id}/finish")
    def finish_import(self, run_id: str) -> RunDetail:
        """Finish an import: all lines are sent, and the run takes the state in which its journal ends."""

    @route("GET /views")
    def views(self) -> ViewPage:
        """Return all views of the project by name."""

    @route("GET /views/{view_id}")
    def view(self, view_id: str) -> ViewInfo:
        """Return one view."""

    @route("POST /views")
    def create_view(self, body: ViewWrite) -> ViewInfo:
        """Save a view."""

    @route("PUT /views/{view_id}")
    def replace_view(self, view_id: str, body: ViewWrite) -> ViewInfo:
        """Change one of the caller's views."""

    @route("GET /account/run-list")
    def run_list_layouts(self) -> RunListLayouts:
        """Return the layout of the caller's run list: columns, widths, order."""

    @route("PUT /account/run-list")
    def set_run_list_layouts(self, body: RunListLayouts) -> RunListLayouts:
        """Save the layout of the caller's run list."""

    @route("DELETE /views/{view_id}")
    def delete_view(self, view_id: str) -> None:
        """Delete one of the caller's views."""

    @route("GET /recipes")
    def recipes(self) -> RecipePage:
        """Return all recipes."""

    @route("GET /recipes/{name}")
    def recipe(self, name: str) -> RecipeInfo:
        """Return one recipe."""

    @route("GET /config-fields")
    def config_fields(self) -> ConfigFieldPage:
        """Return each config field's meaning, range and default."""

    @route("POST /configs/validate")
    def validate(self, draft: ConfigDraft) -> ConfigReport:
        """Check a config. Raises ApiError 422 with every problem."""

    @route("POST /configs/prompts")
    def preview_prompts(self, draft: ConfigDraft) -> PromptPreviewPage:
        """Return the first training problem of each data source, as the model gets it."""

    @route("POST /configs/estimate")
    def estimate(self, draft: ConfigDraft) -> RunEstimate:
        """Estimate the cost of a config from similar runs. Raises ApiError 422 with every problem of the config."""
