"""A run's prompts: visits, responses, moves between accuracies, steps line by line, what-if, findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote

from bapo.api.base import Body
from bapo.api.difficulty import Flows, Migration, MigrationKind
from bapo.api.prompt_lists import (
    Action,
    PromptListChange,
    PromptListCreate,
    PromptListEntryPage,
    PromptListInfo,
    PromptListPage,
    PromptListRunPage,
    PromptListVersionPage,
)
from bapo.api.prompts import (
    ProjectPromptFilter,
    ProjectPromptPage,
    PromptAnswers,
    PromptCurves,
    PromptDetail,
    PromptFilter,
    PromptInRuns,
    PromptPage,
)
from bapo.api.readings import FindingsReport, PromptList, SamplePage, StepWalk, WalkRequest, WhatIfAnswer, WhatIfRequest
from bapo.client.call import Call, Endpoint, InQuery, get, joined, route, run_path
from bapo.rollout import BatchSource


class PromptCalls:
    """A run's prompts: visits, responses, moves between accuracies, what-if."""

    @Endpoint
    def prompts(
        self,
        run_id: str,
        search: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        *,
        offset: int | None = None,
        wanted: PromptFilter | None = None,
    ) -> Call[PromptPage]:
        """Return training prompts with their visits; `wanted` filters and sorts them."""
        given = {"search": search} | _given(wanted)
        return get(run_path(run_id, "prompts"), PromptPage, cursor=cursor, offset=offset, limit=limit, **given)

    @Endpoint
    def prompt(self, run_id: str, prompt_id: str, wanted: PromptFilter | None = None) -> Call[PromptDetail]:
        """Return one training prompt with its visits, and its neighbours in the list of the `wanted` prompts."""
        return get(run_path(run_id, "prompts", quote(prompt_id, safe="")), PromptDetail, **_given(wanted))

    @route("GET /runs/{run_id}/findings")
    def findings(self, run_id: str) -> FindingsReport:
        """Return the problems of a run's data, and their remedies."""

    @route("GET /runs/{run_id}/findings/{kind}/prompts")
    def finding_prompts(self, run_id: str, kind: str) -> PromptList:
        """Return the prompts that a finding names."""

    @Endpoint
    def finding_prompts_csv(self, run_id: str, kind: str) -> Call[str]:
        """Return the same as CSV."""
        return Call("GET", run_path(run_id, "findings", kind, "prompts.csv"), lambda response: response.text)

    @Endpoint
    def project_prompts(
        self, wanted: ProjectPromptFilter | None = None, *, offset: int | None = None, limit: int | None = None
    ) -> Call[ProjectPromptPage]:
        """Return prompts of a project with their totals over all runs; `wanted` filters and sorts them."""
        return get("/prompts", ProjectPromptPage, offset=offset, limit=limit, **_given(wanted))

    @Endpoint
    def project_prompts_csv(self, wanted: ProjectPromptFilter | None = None) -> Call[str]:
        """Return the same as CSV."""
        return _text("/prompts.csv", **_given(wanted))

    @Endpoint
    def project_prompts_jsonl(self, wanted: ProjectPromptFilter | None = None) -> Call[str]:
        """Return the same as one JSON object a line."""
        return _text("/prompts.jsonl", **_given(wanted))

    @route("GET /prompts/{prompt_id}")
    def prompt_in_runs(
        self, prompt_id: str, project: str | None = None, *, offset: int | None = None, limit: int | None = None
    ) -> PromptInRuns:
        """Return a prompt's totals over all runs of a project, and the runs that visited it, newest first."""

    @route("GET /prompt-curves")
    def prompt_curves(self, prompt_id: str, project: str | None = None) -> PromptCurves:
        """Return every evaluation of a prompt in the newest runs that visited it."""

    @route("GET /prompt-answers")
    def prompt_answers(self, prompt_id: str, project: str | None = None) -> PromptAnswers:
        """Return the stored responses of the newest runs to a prompt."""

    @Endpoint
    def prompt_history_csv(self, prompt_id: str, project: str | None = None) -> Call[str]:
        """Return every visit of a prompt in every run of a project, as CSV."""
        return _text("/prompt-history.csv", prompt_id=prompt_id, project=project)

    @Endpoint
    def prompt_history_jsonl(self, prompt_id: str, project: str | None = None) -> Call[str]:
        """Return the same as one JSON object a line."""
        return _text("/prompt-history.jsonl", prompt_id=prompt_id, project=project)

    @route("GET /prompt-lists")
    def prompt_lists(self, project: str | None = None) -> PromptListPage:
        """Return the prompt lists of the caller's projects, or of one."""

    @route("POST /prompt-lists")
    def create_prompt_list(self, body: PromptListCreate) -> PromptListInfo:
        """Make an empty list. Raises ApiError 409 where the project has one of that name."""

    @route("GET /prompt-lists/{list_id}")
    def prompt_list(self, list_id: str) -> PromptListInfo:
        """Return a prompt list as it is now."""

    @route("DELETE /prompt-lists/{list_id}")
    def remove_prompt_list(self, list_id: str) -> None:
        """Take the name away; runs that were submitted with the list keep what it said."""

    @route("GET /prompt-lists/{list_id}/entries")
    def prompt_list_entries(
        self,
        list_id: str,
        version: int | None = None,
        *,
        search: str | None = None,
        action: Action | None = None,
        offset: int | None = None,
        limit: int | None = None,
    ) -> PromptListEntryPage:
        """Return the entries of a version of a list, by identity."""

    @route("POST /prompt-lists/{list_id}/entries")
    def change_prompt_list(self, list_id: str, body: PromptListChange) -> PromptListInfo:
        """Put prompts on a list, weigh them, take them off: one new version, or none where nothing changes."""

    @Endpoint
    def prompt_list_csv(self, list_id: str, version: int | None = None) -> Call[str]:
        """Return a version of a list as CSV."""
        return _text(f"/prompt-lists/{quote(list_id, safe='')}/entries.csv", version=version)

    @Endpoint
    def prompt_list_jsonl(self, list_id: str, version: int | None = None) -> Call[str]:
        """Return a version of a list as one JSON object a line."""
        return _text(f"/prompt-lists/{quote(list_id, safe='')}/entries.jsonl", version=version)

    @route("GET /prompt-lists/{list_id}/versions")
    def prompt_list_versions(self, list_id: str) -> PromptListVersionPage:
        """Return the history of a list: each change, its author and its time."""

    @route("GET /prompt-lists/{list_id}/runs")
    def prompt_list_runs(self, list_id: str) -> PromptListRunPage:
        """Return the runs that were submitted with a list."""

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
        """Return responses kept as text, newest step first; `search` continues after `next_cursor`."""

    @route("GET /runs/{run_id}/migration")
    def migration(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> Migration:
        """Return prompts by their accuracy at two steps, with unlock and loss rates and what chance alone gives."""

    @route("GET /runs/{run_id}/flows")
    def flows(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        steps: Annotated[Sequence[int] | None, InQuery(text=joined)] = None,
    ) -> Flows:
        """Return how many prompts moved between accuracies over some steps; by default four of the whole run."""

    @Endpoint
    def walk(self, run_id: str, request: WalkRequest | None = None) -> Call[StepWalk]:
        """Return a step next to its method's rule, line by line; the newest by default. Raises ApiError 422 for a step
        that is not recorded, and for thresholds that are not legal.
        """
        return get(run_path(run_id, "walk"), StepWalk, **_given(request))

    @route("POST /runs/{run_id}/what-if")
    def what_if(self, run_id: str, request: WhatIfRequest) -> WhatIfAnswer:
        """Replay a run's recorded answers. Raises ApiError 422 for what is not legal or cannot be replayed."""


def _given(wanted: Body | None) -> dict[str, object]:
    return {} if wanted is None else wanted.model_dump(mode="json", exclude_unset=True)


def _text(path: str, **params: Any) -> Call[str]:
    given = {key: value for key, value in params.items() if value is not None}
    return Call("GET", path, lambda response: response.text, params=given)
