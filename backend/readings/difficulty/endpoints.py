"""Routes for accuracy transitions and flows."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

from fastapi import Query

from backend.kit.context import ContextOf, DbSession, new_router
from backend.kit.errors import Problem
from backend.kit.permissions import Reader
from backend.readings.difficulty import service
from backend.records.parameters import MAX_STEP
from backend.runs import repository as runs
from bapo.api.difficulty import Flows, Migration, MigrationKind

router = new_router("difficulty")

MOST_FLOW_STEPS = 6

Kind = Annotated[MigrationKind, Query(description="`tracked` prompts, or every training prompt as `last_seen`.")]


@router.get("/runs/{run_id}/migration", summary="Get the migration of accuracies")
def get_migration(
    _: Reader,
    session: DbSession,
    context: ContextOf,
    run_id: str,
    kind: Kind = "tracked",
    from_step: Annotated[int | None, Query(ge=0, le=MAX_STEP, description="The earlier step.")] = None,
    to_step: Annotated[int | None, Query(ge=0, le=MAX_STEP, description="The later step.")] = None,
) -> Migration:
    """Return the prompts by accuracy before and after, unlock and loss rates, and the rates expected by chance.

    By default compares tracked prompts from the base model to the newest sampling, and last-seen accuracies from the
    end of the first epoch to now. A step after the last one means the last one.
    """
    return service.migration(session, context, runs.get(session, run_id), kind, from_step, to_step)


@router.get("/runs/{run_id}/flows", summary="Get flows between accuracies")
def get_flows(
    _: Reader,
    session: DbSession,
    context: ContextOf,
    run_id: str,
    kind: Kind = "tracked",
    steps: Annotated[
        str | None,
        Query(max_length=100, description=f"Two to {MOST_FLOW_STEPS} steps in rising order, separated by commas."),
    ] = None,
) -> Flows:
    """Return the number of prompts by their sequence of accuracy classes; by default at four evenly spaced steps."""
    run = runs.get(session, run_id)
    return service.flows_over(session, context, run, kind, None if steps is None else _steps(steps))


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
