"""Submit, clone and fork runs."""

from __future__ import annotations

from pydantic import BaseModel

from backend.kit.context import DbSession, SettingsOf, new_router
from backend.kit.errors import Problem
from backend.kit.idempotency import IdempotencyKey, once
from backend.kit.permissions import Writer
from backend.launch.submissions import submission
from backend.runs import presentation, repository
from bapo.api.runs import RunCreate, RunDetail, RunFork

router = new_router("runs")


class MadeRun(BaseModel):
    """The run that a request made; a repeated request gets it as it is by then."""

    run_id: str


@router.post("/runs", status_code=201, summary="Submit a run")
def create_run(
    caller: Writer, session: DbSession, settings: SettingsOf, body: RunCreate, idempotency_key: IdempotencyKey = None
) -> RunDetail:
    """Queue a run, or keep it as a draft with `start: false`.

    A config that cannot run gets 422 with field, value and remedy of every problem.
    """

    def make() -> MadeRun:
        return MadeRun(run_id=submission.create(session, body, caller).id)

    made = once(session, caller, idempotency_key, body.model_dump_json(), MadeRun, make)
    return presentation.run_detail(session, settings, made.run_id, caller)


@router.post("/runs/{run_id}/clone", status_code=201, summary="Clone a run")
def clone_run(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    run_id: str,
    body: RunCreate,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    """Submit a run that starts from this run's config: `POST /runs` with this run as `parent_id`."""
    if body.parent_id not in (None, run_id):
        remedy = "leave out parent_id: it is the run in the address"
        raise Problem(422, "invalid_request", remedy, field="parent_id", value=body.parent_id)
    repository.get(session, run_id)
    return create_run(caller, session, settings, body.model_copy(update={"parent_id": run_id}), idempotency_key)


@router.post("/runs/{run_id}/fork", status_code=201, summary="Fork a run")
def fork_run(
    caller: Writer,
    session: DbSession,
    settings: SettingsOf,
    run_id: str,
    body: RunFork,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    """Submit a run that starts from a checkpoint of this run.

    It has the parent's weights, optimizer, buffers and counters of that step, its records up to that step, and the
    config in force at that step with your changes. 422 names each field that the checkpoint does not support.
    """
    parent = repository.get(session, run_id)

    def make() -> MadeRun:
        return MadeRun(run_id=submission.fork(session, parent, body, caller).id)

    made = once(session, caller, idempotency_key, f"{run_id}\n{body.model_dump_json()}", MadeRun, make)
    return presentation.run_detail(session, settings, made.run_id, caller)
