"""When a run stops and pauses, and how somebody impatient is served."""

from __future__ import annotations

import pytest

from backend.fleet.dispatch.dispatcher import INTERVAL_SECONDS
from backend.runs.states import LEGAL_MOVES, IllegalMoveError, check_move
from backend.settings.environment import Settings
from bapo.api.runs import ParameterChange, RunDetail, RunStatus
from bapo.client import ApiError, Client
from bapo.run.control import StopMoment
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, step
from tests.support.refusals import refuses


@pytest.mark.parametrize("before", RunStatus)
@pytest.mark.parametrize("after", RunStatus)
def test_every_pair_of_states_is_in_the_table_or_refused(before: RunStatus, after: RunStatus) -> None:
    if after in LEGAL_MOVES[before]:
        check_move(before, after)
        return
    with pytest.raises(IllegalMoveError):
        check_move(before, after)


def test_a_lost_run_is_found_within_30_seconds() -> None:
    # The lease runs from the last heartbeat; the dispatcher looks once a second.
    assert Settings.model_fields["lease_seconds"].default + INTERVAL_SECONDS < 30


def test_a_stop_takes_only_a_sooner_moment(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [*[step(n) for n in range(1, 6)], event("checkpoint", 5), step(6), step(7)])
    moments: list[tuple[StopMoment, int]] = [("checkpoint", 0), ("step", 0), ("checkpoint", 0), ("now", 2), ("step", 2)]
    for moment, lost in moments:
        assert admin.stop(run.id, moment).steps_lost == lost
    assert [control.when for control in worker.heartbeat(claim).controls] == ["checkpoint", "step", "now"]
    assert admin.run(run.id).stopping_when == "now"
    worker.report(claim, "stopped", "stopped at once")
    assert admin.run(run.id).status is RunStatus.CANCELLED
    assert {control.state for control in admin.history(run.id).controls} == {"applied"}


def test_a_stop_overtakes_a_pause_and_is_as_soon(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    assert admin.pause(run.id, "checkpoint").stopping_when == "checkpoint"
    assert admin.pause(run.id, "step").stopping_when == "step"
    answer = admin.stop(run.id, "checkpoint")
    # Asked for patiently, but the pause before it was for the next step.
    assert (answer.status, answer.stopping_when) == (RunStatus.STOPPING, "step")
    worker.report(claim, "stopped")
    assert admin.run(run.id).status is RunStatus.CANCELLED


def test_a_pause_that_nobody_answered_is_not_answered_by_the_next_attempt(
    worker: FakeWorker, admin: Client, run: RunDetail
) -> None:
    claim = worker.begin(run)
    admin.pause(run.id)
    (asked,) = worker.heartbeat(claim).controls
    worker.report(claim, "lost", "kill -9")
    assert admin.run(run.id).status is RunStatus.PAUSED
    admin.resume(run.id)
    assert worker.begin(run).settled == [asked.id]


def test_a_change_is_withdrawn_at_once_where_nothing_trains(admin: Client, run: RunDetail) -> None:
    change = admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}))
    withdrawn = admin.withdraw_parameters(run.id, change.id)
    assert (withdrawn.state, withdrawn.withdrawn_by) == ("withdrawn", "admin")
    with refuses(409, field="control_id"):
        admin.withdraw_parameters(run.id, change.id)
    with pytest.raises(ApiError, match="not_found"):
        admin.withdraw_parameters(run.id, "nothing")


def test_a_trainer_says_whether_a_withdrawal_came_in_time(worker: FakeWorker, admin: Client, run: RunDetail) -> None:
    claim = worker.begin(run)
    change = admin.change_parameters(run.id, ParameterChange(set={"method.c1": 0.25}, at_step=5))
    assert admin.withdraw_parameters(run.id, change.id).state == "pending"
    asked = worker.heartbeat(claim).controls
    assert [(each.id == change.id, each.withdraws) for each in asked] == [(True, None), (False, change.id)]
    worker.upload(claim, [step(1), event("request_withdrawn", 1, id=change.id, author="admin", applied_step=2)])
    assert admin.history(run.id).controls[0].state == "withdrawn"
    assert worker.heartbeat(claim).controls == []
