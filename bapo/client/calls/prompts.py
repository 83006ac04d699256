"""A run's prompts: visits, responses, moves between accuracies, steps line by line, what-if, findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

from bapo.api.base import Body
from bapo.api.difficulty import Flows, Migration, MigrationKind
from bapo.api.findings import FindingsReport, PromptList
from bapo.api.prompts import PromptDetail, PromptFilter, PromptInRuns, PromptPage
from bapo.api.samples import SamplePage
from bapo.api.walk import StepWalk, WalkRequest
from bapo.api.what_if import WhatIfAnswer, WhatIfRequest
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
        """Training prompts with their visits; `wanted` says which and in which order."""
        given = {"search": search} | _given(wanted)
        return get(run_path(run_id, "prompts"), PromptPage, cursor=cursor, offset=offset, limit=limit, **given)

    @Endpoint
    def prompt(self, run_id: str, prompt_id: str, wanted: PromptFilter | None = None) -> Call[PromptDetail]:
        """One training prompt with its visits, and its neighbours in the list of the `wanted` prompts."""
        return get(run_path(run_id, "prompts", quote(prompt_id, safe="")), PromptDetail, **_given(wanted))

    @route("GET /runs/{run_id}/findings")
    def findings(self, run_id: str) -> FindingsReport:
        """What is wrong with a run's data, and what to do about it."""

    @route("GET /runs/{run_id}/findings/{kind}/prompts")
    def finding_prompts(self, run_id: str, kind: str) -> PromptList:
        """The prompts that a finding names."""

    @Endpoint
    def finding_prompts_csv(self, run_id: str, kind: str) -> Call[str]:
        """The same as CSV."""
        return Call("GET", run_path(run_id, "findings", kind, "prompts.csv"), lambda response: response.text)

    @route("GET /prompts/{prompt_id}")
    def prompt_in_runs(self, prompt_id: str) -> PromptInRuns:
        """The outcomes of a prompt in the newest runs."""

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
        """Responses kept as text, newest step first; `search` continues after `next_cursor`."""

    @route("GET /runs/{run_id}/migration")
    def migration(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        from_step: int | None = None,
        to_step: int | None = None,
    ) -> Migration:
        """Prompts by their accuracy at two steps, with unlock and loss rates and what chance alone gives."""

    @route("GET /runs/{run_id}/flows")
    def flows(
        self,
        run_id: str,
        kind: MigrationKind = "tracked",
        steps: Annotated[Sequence[int] | None, InQuery(text=joined)] = None,
    ) -> Flows:
        """Numbers of prompts by how their accuracy moved over some steps; by default four of the whole run."""

    @Endpoint
    def walk(self, run_id: str, request: WalkRequest | None = None) -> Call[StepWalk]:
        """A step, line by line beside its method's rule, the newest unless told. Raises ApiError 422 for a step that is
        not recorded, and for thresholds that are not legal.
        """
        return get(run_path(run_id, "walk"), StepWalk, **_given(request))

    @route("POST /runs/{run_id}/what-if")
    def what_if(self, run_id: str, request: WhatIfRequest) -> WhatIfAnswer:
        """Replay a run's recorded answers. Raises ApiError 422 for what is not legal or cannot be replayed."""


def _given(wanted: Body | None) -> dict[str, object]:
    return {} if wanted is None else wanted.model_dump(mode="json", exclude_unset=True)
