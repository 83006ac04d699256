"""Every action in every state, through the API: it ends in the state that the table names, or is refused with why."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from sqlalchemy import update

from backend.kit.database import Database
from backend.models import Run
from backend.runs.states import actions
from bapo.api.runs import ParameterChange, RunAction, RunCreate, RunDetail, RunFork, RunStatus
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, step
from tests.support.services import wait_until

S = RunStatus

ENDS: Mapping[RunAction, Mapping[RunStatus, RunStatus]] = {
    "start": {S.DRAFT: S.QUEUED},
    "stop": {
        S.QUEUED: S.CANCELLED,
        S.STARTING: S.STOPPING,
        S.RUNNING: S.STOPPING,
        S.PAUSING: S.STOPPING,
        S.PAUSED: S.CANCELLED,
        S.STOPPING: S.STOPPING,
        S.LOST: S.CANCELLED,
    },
    # Whoever pauses a paused run has what he wants.
    "pause": {S.STARTING: S.PAUSING, S.RUNNING: S.PAUSING, S.PAUSING: S.PAUSING, S.PAUSED: S.PAUSED},
    "resume": {S.PAUSED: S.QUEUED},
    "retry": {S.FAILED: S.QUEUED},
    "hold": {S.QUEUED: S.QUEUED},
    "release": {S.QUEUED: S.QUEUED},
    "change": {status: status for status in (S.QUEUED, S.STARTING, S.RUNNING, S.PAUSED)},
    "clone": {status: status for status in S},
    "fork": {status: status for status in S if status is not S.DRAFT},
}
"""Where each action leads. What is not here is refused; deleting does not resolve."""
DELETABLE = {S.DRAFT, S.SUCCEEDED, S.FAILED, S.CANCELLED}

ACTIONS: Mapping[RunAction, Callable[[Client, str], object]] = {
    "start": lambda client, run_id: client.start(run_id),
    "stop": lambda client, run_id: client.stop(run_id),
    "pause": lambda client, run_id: client.pause(run_id),
    "resume": lambda client, run_id: client.resume(run_id),
    "retry": lambda client, run_id: client.retry(run_id),
    "hold": lambda client, run_id: client.hold(run_id),
    "release": lambda client, run_id: client.release(run_id),
    "change": lambda client, run_id: client.change_parameters(run_id, ParameterChange(set={"method.c1": 0.25})),
    "clone": lambda client, run_id: client.clone(run_id, RunCreate(name="clone", start=False)),
    "fork": lambda client, run_id: client.fork(run_id, RunFork(name="fork", step=2, start=False)),
    "delete": lambda client, run_id: client.delete_run(run_id),
}


def wait_for_status(admin: Client, run_id: str, status: RunStatus) -> None:
    wait_until(lambda: admin.run(run_id).status is status)


class Stage:
    """Makes runs in any state, as people and a worker do."""

    def __init__(self, admin: Client, worker: FakeWorker, database: Database) -> None:
        self.admin = admin
        self.worker = worker
        self.database = database

    def run_that_is(self, status: RunStatus) -> RunDetail:
        """A run in this state; but for a draft with two steps and a checkpoint."""
        body = RunCreate(name=status.value, recipe="countdown-demo", start=status is not S.DRAFT)
        run = self.admin.create_run(body)
        if status is not S.DRAFT:
            self._lead(run, status)
        now = self.admin.run(run.id)
        assert now.status is status
        return now

    def _lead(self, run: RunDetail, status: RunStatus) -> None:
        claim = self.worker.begin(run)
        checkpoint = event("checkpoint", 2, checkpoint="step-000002")
        self.worker.upload(claim, [event("started"), step(1), step(2), checkpoint])
        match status:
            case S.PAUSING | S.PAUSED:
                self.admin.pause(run.id)
            case S.STOPPING | S.CANCELLED:
                self.admin.stop(run.id)
            case S.SUCCEEDED | S.FAILED:
                self.worker.report(claim, status.value)
            case S.QUEUED | S.STARTING | S.LOST:
                self.worker.report(claim, "lost", "killed")
        if status in (S.PAUSED, S.CANCELLED):
            self.worker.report(claim, "stopped")
        if status is S.STARTING:
            self.worker.claim(run.id)
        if status is S.LOST:
            # A run is lost for the length of a transaction only: whoever comes in between must wait for it.
            with self.database.session() as session, session.begin():
                session.execute(update(Run).where(Run.id == run.id).values(status=S.LOST))


@pytest.fixture
def stage(admin: Client, worker: FakeWorker, database: Database) -> Stage:
    return Stage(admin, worker, database)


def test_the_table_here_is_the_servers() -> None:
    for status in RunStatus:
        possible = {action for action, ends in ENDS.items() if status in ends} - {"pause"} | (
            {"delete"} if status in DELETABLE else set()
        )
        assert set(actions(status)) - {"pause"} == possible, status
        assert ("pause" in actions(status)) == (status in ENDS["pause"] and status is not S.PAUSED)


@pytest.mark.parametrize("status", RunStatus)
def test_an_action_leads_where_the_table_says_or_is_refused_with_why(stage: Stage, status: RunStatus) -> None:
    admin = stage.admin
    untouched = stage.run_that_is(status)
    for action, act in ACTIONS.items():
        end = ENDS.get(action, {}).get(status)
        if end is None and not (action == "delete" and status in DELETABLE):
            with pytest.raises(ApiError) as refusal:
                act(admin, untouched.id)
            body = refusal.value.body
            assert (refusal.value.status, body.code, body.field) == (409, "illegal_transition", "status"), action
            assert body.value == status.value
            possible = ", ".join(actions(status))
            assert body.remedy == f"a {status.value} run does not allow {action}: possible actions are {possible}"
            assert admin.run(untouched.id).status is status
            continue
        # What changes nothing needs no run of its own.
        run = untouched if end is status else stage.run_that_is(status)
        act(admin, run.id)
        if end is None:
            with pytest.raises(ApiError, match="in_trash"):
                admin.run(run.id)
        else:
            wait_for_status(admin, run.id, end)
            admin.release(run.id) if action == "hold" else None
