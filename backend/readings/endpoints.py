"""Routes for what a run's prompts and batches did: findings, transitions, responses, walks and what-if."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import orjson
from fastapi import Query, Response

from backend.kit.context import SettingsOf, new_router
from backend.kit.cursors import decode_numbers, encode
from backend.kit.errors import Problem
from backend.kit.exports import CSV, csv_file
from backend.kit.response_cache import Answer
from backend.models import Run
from backend.prices.service import prices_in_force
from backend.readings import what_if
from backend.readings.difficulty import service as difficulty
from backend.readings.findings import service as findings
from backend.readings.run_reading import ReadableRun
from backend.readings.samples import repository as stored_samples
from backend.readings.samples import service as samples
from backend.readings.walk import walk
from backend.records.parameters import MAX_STEP
from bapo.analysis.findings.finding import FindingKind, FindingsReport, ListedPrompt, PromptList
from bapo.analysis.walk.answer import StepWalk
from bapo.analysis.what_if.answer import WhatIfAnswer
from bapo.api.difficulty import Flows, Migration, MigrationKind
from bapo.api.readings import SampleFilter, SamplePage, WalkRequest, WhatIfRequest

router = new_router()

MOST_FLOW_STEPS = 6
Kind = Annotated[MigrationKind, Query(description="`tracked` prompts, or every training prompt as `last_seen`.")]


@router.get("/runs/{run_id}/migration", tags=["difficulty"], summary="Get the migration of accuracies")
def get_migration(
    run: ReadableRun,
    kind: Kind = "tracked",
    from_step: Annotated[int | None, Query(ge=0, le=MAX_STEP, description="The earlier step.")] = None,
    to_step: Annotated[int | None, Query(ge=0, le=MAX_STEP, description="The later step.")] = None,
) -> Migration:
    """Return the prompts by accuracy before and after, unlock and loss rates, and the rates expected by chance.

    By default compares tracked prompts from the base model to the newest sampling, and last-seen accuracies from the
    end of the first epoch to now. A step after the last one means the last one.
    """
    return difficulty.migration(run, kind, from_step, to_step)


@router.get("/runs/{run_id}/flows", tags=["difficulty"], summary="Get flows between accuracies")
def get_flows(
    run: ReadableRun,
    kind: Kind = "tracked",
    steps: Annotated[
        str | None,
        Query(max_length=100, description=f"Two to {MOST_FLOW_STEPS} steps in rising order, separated by commas."),
    ] = None,
) -> Flows:
    """Return the number of prompts by their sequence of accuracy classes; by default at four evenly spaced steps."""
    return difficulty.flows_over(run, kind, None if steps is None else _steps(steps))


def _steps(text: str) -> list[int]:
    """Return the steps of a query. Raises Problem 422."""
    parts = text.split(",")
    # isdecimal also takes other scripts' digits, which int reads as well.
    if all(part.isdecimal() for part in parts):
        steps = [int(part) for part in parts]
        rising = all(earlier < later for earlier, later in pairwise(steps))
        if 2 <= len(steps) <= MOST_FLOW_STEPS and rising and steps[-1] <= MAX_STEP:
            return steps
    remedy = f"give two to {MOST_FLOW_STEPS} steps in rising order, separated by commas, such as 0,50,100,150"
    raise Problem(422, "invalid_request", remedy, field="steps", value=text)


@router.get("/runs/{run_id}/findings", tags=["findings"], summary="Get a run's findings")
def get_findings(run: ReadableRun, settings: SettingsOf) -> FindingsReport:
    """Return the problems in a run's data: each finding with evidence, an interval or a null, and what to do about
    it.

    Computed from all that the run has recorded; of a run that is training, at most every few seconds. `checks` says
    what was looked for, and what is missing where a run has recorded too little. A probe's finding of time has the
    expected cost at the prices of now, or why there is none.
    """
    report = findings.search_of_run(run).report
    return findings.with_cost(run, report, prices_in_force(run.session, settings))


@router.get("/runs/{run_id}/findings/{kind}/prompts", tags=["findings"], summary="List the prompts of a finding")
def get_finding_prompts(run: ReadableRun, kind: FindingKind) -> PromptList:
    """List the prompts that a finding names, such as those never solved. Empty where nothing was found."""
    return findings.prompts_of_finding(run, kind)


@router.get(
    "/runs/{run_id}/findings/{kind}/prompts.csv",
    tags=["findings"],
    summary="Export the prompts of a finding",
    response_class=Response,
    responses=CSV,
)
def export_finding_prompts(run: ReadableRun, kind: FindingKind) -> Response:
    """Return the prompts that a finding names as CSV: a header, then one line each."""
    columns = tuple(ListedPrompt.model_fields)
    rows = ([getattr(item, name) for name in columns] for item in findings.prompts_of_finding(run, kind).items)
    return csv_file(f"{run.run_id}-{kind.replace('_', '-')}.csv", columns, rows)


class SampleQuery(SampleFilter):
    """A filter and a page."""

    cursor: Annotated[str | None, Query(max_length=2_000, description="`next_cursor` of the previous page.")] = None
    limit: Annotated[int, Query(ge=1, le=1_000)] = 50


@router.get("/runs/{run_id}/samples", tags=["samples"], summary="List sampled responses", response_model=SamplePage)
def get_samples(run: ReadableRun, query: Annotated[SampleQuery, Query()]) -> Response:
    """List groups of responses that were kept as text, newest step first.

    `search` looks through at most 2,000 groups per page: fewer than `limit` may be returned although `next_cursor`
    says that there are more.
    """
    wanted = stored_samples.Wanted(
        run.run.id,
        query.prompt_id,
        query.source,
        query.min_correct,
        query.max_correct,
        query.from_step if query.step is None else query.step,
        query.to_step if query.step is None else query.step,
    )
    after = None if query.cursor is None else stored_samples.Place(*decode_numbers(query.cursor, "samples"))
    found = samples.find(run.session, wanted, query.search, after, query.limit)
    steps = stored_samples.steps_around(run.session, wanted, query.step)
    content = orjson.dumps(
        {
            "items": found.records,
            "next_cursor": None if found.after is None else encode("samples", found.after),
            "total": found.total,
            "num_searched": found.num_searched,
            "first_step": steps.first,
            "newest_step": steps.newest,
            "previous_step": steps.previous,
            "next_step": steps.next,
        }
    )
    return Response(content, media_type="application/json")


@router.get("/runs/{run_id}/walk", tags=["walk"], summary="Walk through a step", response_model=StepWalk)
def get_walk(run: ReadableRun, request: Annotated[WalkRequest, Query()]) -> Response:
    """Return one recorded step, line by line next to Algorithm 1 or the method's own rule.

    Each line says what it did and with which groups: remembered, stored, trained on, answered again, left out, and why.
    With `c1`, `c2` or `c3`, the same groups under other thresholds, as if they had been changed at the beginning of
    this step: exact for this step, with what cannot be known in `cautions`. A step that is not recorded, or thresholds
    that are not legal, get 422.
    """

    def work_out(_: Run) -> Answer:
        return Answer(walk(run, request).model_dump_json().encode())

    return run.answer(work_out)


@router.post("/runs/{run_id}/what-if", tags=["what-if"], summary="Run a what-if analysis", response_model=WhatIfAnswer)
def post_what_if(run: ReadableRun, request: WhatIfRequest) -> Response:
    """Replay a run's batches with other thresholds, buffers or filters, as DAPO, or with another group size.

    Replays the recorded accuracies through batch construction; stores nothing. Results that rest on recorded responses
    alone are exact. Re-evaluations that never happened, DAPO's further rounds and groups of another size are drawn from
    the pass rates of the run's prompts: what depends on them has `estimated: true`, with `low` and `high` of a 90 %
    interval over the draws. The effect of other batches on the policy is not simulated. Fields that cannot be replayed
    get 422.
    """

    def work_out(_: Run) -> Answer:
        # Pydantic writes it faster than by way of Python objects.
        return Answer(what_if.answer(run, request).model_dump_json().encode())

    return run.answer(work_out, request.model_dump_json())
