"""What people do with the queue: order, holds, limits, drains, retries, and requests sent twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select, update

from backend.fleet.dispatch.lost_attempts import pause_seconds
from backend.kit.database import Database
from backend.models import Attempt, Run
from backend.settings.environment import Settings
from bapo.api.configs import ConfigDraft
from bapo.api.queue import LimitChange, QueueMove
from bapo.api.runs import BulkRequest, RunCreate, RunStatus, RunUpdate
from bapo.api.workers import AttemptOutcome, DrainRequest, GpuInfo
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, step
from tests.support.lost_workers import expire, silence
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person, wait_until


@pytest.fixture
def ada(server: BackendServer) -> Iterator[Client]:
    with server.client(add_person(server, "ada")) as client:
        yield client


@pytest.fixture
def rows(server: BackendServer) -> Iterator[Database]:
    database = Database(server.settings.database_url)
    yield database
    database.close()


def submit(client: Client, name: str, priority: int = 50, **changes: object) -> str:
    body = RunCreate(name=name, recipe="countdown-demo", priority=priority, changes={**changes})
    return client.create_run(body).id


def waiting(client: Client) -> list[str]:
    return [run.name for run in client.queue().waiting]


# ---------------------------------------------------------------- order


def test_an_owner_puts_own_runs_in_order_and_nobody_elses_place_changes(people: Client, ada: Client) -> None:
    ids = {name: submit(client, name) for name, client in
           (("a1", ada), ("x1", people), ("a2", ada), ("x2", people), ("a3", ada))}  # fmt: skip
    assert waiting(ada) == ["a1", "x1", "a2", "x2", "a3"]
    ada.move(ids["a3"], QueueMove(before=ids["a1"]))
    assert waiting(ada) == ["a3", "x1", "a1", "x2", "a2"]
    ada.move(ids["a3"], QueueMove(after=ids["a1"]))
    assert waiting(ada) == ["a1", "x1", "a3", "x2", "a2"]
    ada.move(ids["a2"], QueueMove(to="top"))
    assert waiting(ada) == ["a2", "x1", "a1", "x2", "a3"]
    ada.move(ids["a2"], QueueMove(to="bottom"))
    assert waiting(ada) == ["a1", "x1", "a3", "x2", "a2"]
    with refuses(403, "not_your_run", field="before"):
        ada.move(ids["a1"], QueueMove(before=ids["x1"]))
    with refuses(403, "not_your_run"):
        ada.move(ids["x1"], QueueMove(to="top"))
    moved = [entry for entry in people.history(ids["a2"]).audit if entry.action == "moved"]
    assert [entry.author for entry in moved] == ["ada", "ada"]


def test_what_an_administrator_moves_stays_there_whatever_is_fair(people: Client, ada: Client) -> None:
    ids = {name: submit(client, name) for name, client in
           (("a1", ada), ("x1", people), ("a2", ada), ("x2", people))}  # fmt: skip
    state = people.move(ids["x2"], QueueMove(before=ids["a1"]))
    assert [run.name for run in state.waiting] == ["x2", "a1", "x1", "a2"]
    assert [run.is_placed for run in state.waiting] == [True, False, False, False]
    # A younger run of somebody with nothing would come first by fair shares.
    people.move(ids["x1"], QueueMove(to="top"))
    assert waiting(people) == ["x1", "x2", "a1", "a2"]
    # Moved to a run of another priority, it takes that.
    urgent = submit(ada, "urgent", 90)
    people.move(ids["a2"], QueueMove(after=urgent))
    assert waiting(people) == ["urgent", "a2", "x1", "x2", "a1"]
    assert people.run(ids["a2"]).priority == 90


def test_moves_to_nowhere_are_refused_with_the_field(people: Client) -> None:
    run_id, draft = submit(people, "r"), people.create_run(RunCreate(name="d", recipe="countdown-demo", start=False))
    with refuses(404, "not_found"):
        people.move(run_id, QueueMove(before="nosuchrun1"))
    with refuses(422, "not_in_the_queue", field="after"):
        people.move(run_id, QueueMove(after=draft.id))
    with refuses(409, "not_in_the_queue", field="status"):
        people.move(draft.id, QueueMove(to="top"))
    with refuses(422):
        people.move(run_id, QueueMove.model_construct(before=run_id, to="top"))
    # The only one is where it is.
    assert people.move(run_id, QueueMove(to="bottom")).num_waiting == 1


# ---------------------------------------------------------------- hold and priority


def test_a_held_run_does_not_start_until_it_is_released(server: BackendServer, people: Client) -> None:
    first, second = submit(people, "first"), submit(people, "second")
    held = people.hold(first)
    assert (held.status, held.held_by, held.status_reason) == (RunStatus.QUEUED, "admin", "held by admin")
    assert "release" in held.allowed_actions
    assert "hold" not in held.allowed_actions
    worker = FakeWorker(server)
    worker.claim(second)
    assert worker.try_claim(first) is None
    (run,) = people.queue().waiting
    assert (run.position, run.held_by, run.expected_seconds) == (None, "admin", None)
    answer = people.bulk(BulkRequest(run_ids=[first, second], action="release"))
    assert [result.done for result in answer.results] == [True, False]
    worker.claim(first)
    actions = [entry.action for entry in people.history(first).audit]
    assert actions[1:4] == ["status", "held", "released"]
    worker.close()


def test_a_promised_run_can_be_held_before_it_is_claimed(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server)
    run_id = submit(people, "r")
    worker.wait_until(lambda: people.queue().waiting[0].promised_to == "w1")
    people.hold(run_id)
    assert worker.try_claim(run_id) is None
    worker.close()


def test_the_priority_of_a_waiting_run_can_change_and_of_an_ended_one_not(people: Client) -> None:
    low, high = submit(people, "low", 10), submit(people, "high", 20)
    assert people.update_run(low, RunUpdate(priority=21)).priority == 21
    assert waiting(people) == ["low", "high"]
    people.stop(high)
    with refuses(409, "illegal_transition", field="priority"):
        people.update_run(high, RunUpdate(priority=30))
    with refuses(422, "invalid_request", field="priority"):
        people.update_run(low, RunUpdate.model_construct(priority=101))


# ---------------------------------------------------------------- limits


def test_a_person_has_no_more_runs_than_allowed_and_reads_why(
    server: BackendServer, people: Client, ada: Client
) -> None:
    people.set_limit("ada", LimitChange(max_running=2))
    worker = FakeWorker(server)
    ids = [submit(ada, f"a{number}") for number in range(3)]
    claims = [worker.claim(run_id) for run_id in ids[:2]]
    worker.wait_until(lambda: ada.run(ids[2]).status_reason == "waits: ada has 2 of 2 runs")
    # Nobody else waits for that.
    worker.claim(submit(people, "x"))
    (limit,) = [each for each in people.limits().items if each.user == "ada"]
    assert (limit.max_running, limit.running, limit.waiting) == (2, 2, 1)
    worker.report(claims[0], "succeeded")
    worker.claim(ids[2])
    with refuses(403, "forbidden"):
        ada.set_limit("ada", LimitChange(max_running=None))
    with refuses(404, "not_found"):
        people.set_limit("nobody", LimitChange(max_running=1))
    worker.close()


# ---------------------------------------------------------------- GPUs


def test_no_gpu_has_two_runs_and_each_is_free_after_its_run(
    server: BackendServer, people: Client, rows: Database
) -> None:
    gpus = [GpuInfo(index=index, name="H200", memory_gib=139.0) for index in (0, 2, 3)]
    worker = FakeWorker(server, gpus=gpus, memory_gib=64.0)
    two = submit(people, "two", **{"resources.gpus": 2, "resources.memory_gib": 40})
    one, other = submit(people, "one"), submit(people, "other")
    claims = {run_id: worker.claim(run_id) for run_id in (two, one)}
    assert [list(claims[run_id].gpus or ()) for run_id in (two, one)] == [[0, 2], [3]]
    assert [people.run(run_id).num_gpus for run_id in (two, one)] == [2, 1]
    worker.wait_until(lambda: people.run(other).status_reason == "waits for 1 GPU on one worker to be free")
    # Whether they were assigned in one round or in two, they come in the order of their submission.
    with rows.session() as session, session.begin():
        session.execute(update(Attempt).values(assigned_at=func.now()))
    (slots,) = people.queue().workers
    assert [(gpu.index, gpu.run_id) for gpu in slots.gpus] == [(0, two), (2, two), (3, one)]
    assert [run.memory_gib for run in slots.runs] == [40.0, 0.0]
    worker.report(claims[two], "succeeded")
    assert list(worker.claim(other).gpus or ()) == [0]
    worker.close()


def test_memory_is_reserved_and_needs_that_nothing_has_are_named(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server, memory_gib=64.0)
    first = submit(people, "first", **{"resources.memory_gib": 40})
    second = submit(people, "second", **{"resources.memory_gib": 25})
    never = submit(people, "never", **{"resources.gpus": 4})
    worker.claim(first)
    worker.wait_until(lambda: people.run(second).status_reason == "waits for 25 GiB of free memory")
    reason = "needs 4 GPUs, and no connected worker has that many: none has any"
    worker.wait_until(lambda: people.run(never).status_reason == reason)
    draft = ConfigDraft(recipe="countdown-demo", changes={"resources.gpus": 4})
    (warning,) = [each for each in people.validate(draft).warnings if each.field == "resources.gpus"]
    assert warning.remedy.startswith("needs 4 GPUs, and no known worker has that many")
    worker.close()


def test_an_attempt_that_is_heard_of_again_continues_and_was_no_retry(
    server: BackendServer, people: Client, rows: Database
) -> None:
    # The only worker: what it is promised meanwhile it does not claim.
    worker = FakeWorker(server)
    claim = worker.begin(people.run(submit(people, "quiet")))
    expire(rows, claim.run_id)
    wait_until(lambda: people.run(claim.run_id).status is RunStatus.QUEUED)
    assert people.run(claim.run_id).num_retries == 1
    assert worker.heartbeat(claim).revoked == []
    assert (people.run(claim.run_id).status, people.run(claim.run_id).num_retries) == (RunStatus.RUNNING, 0)
    worker.upload(claim, [step(1)])
    worker.report(claim, "succeeded")
    assert people.run(claim.run_id).status is RunStatus.SUCCEEDED
    worker.close()


def test_an_attempt_that_comes_back_gets_no_gpu_that_another_run_has(
    server: BackendServer, people: Client, rows: Database
) -> None:
    worker = FakeWorker(server, gpus=[GpuInfo(index=0)])
    old = worker.begin(people.run(submit(people, "old")))
    # Given up while its worker, which had restarted, did not name it.
    people_run = submit(people, "new", 90)
    worker.report(old, "lost", "given up")
    new = worker.claim(people_run)
    assert list(new.gpus or ()) == [0]
    assert worker.heartbeat(old, new).revoked == [old.run_id]
    assert people.run(old.run_id).status is RunStatus.QUEUED
    worker.close()


def test_an_attempt_that_comes_back_does_not_begin_a_run_that_somebody_holds(
    server: BackendServer, people: Client
) -> None:
    worker = FakeWorker(server)
    claim = worker.begin(people.run(submit(people, "held")))
    worker.report(claim, "lost", "given up")
    people.hold(claim.run_id)
    assert worker.heartbeat(claim).revoked == [claim.run_id]
    run = people.run(claim.run_id)
    assert (run.status, run.held_by) == (RunStatus.QUEUED, "admin")
    worker.close()


# ---------------------------------------------------------------- workers


def test_a_draining_worker_gets_nothing_and_hands_its_runs_on(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server)
    claim = worker.begin(people.run(submit(people, "held")))
    promised = submit(people, "promised")
    worker.wait_until(lambda: people.queue().waiting[0].promised_to == "w1")
    assert people.drain_worker(worker.id).draining
    assert worker.try_claim(promised) is None
    assert worker.heartbeat(claim).hand_back == []
    worker.wait_until(
        lambda: people.run(promised).status_reason == "waits for a worker: all online workers are draining"
    )
    people.drain_worker(worker.id, DrainRequest(hand_on=True))
    assert worker.heartbeat(claim).hand_back == [claim.run_id]
    worker.report(claim, "stopped")
    assert people.run(claim.run_id).status is RunStatus.QUEUED
    (slots,) = people.queue().workers
    assert (slots.draining, slots.hands_on, slots.runs) == (True, True, [])
    # It drains on over a restart.
    worker.client.register_worker(worker.body)
    assert people.workers().items[0].draining
    people.undrain_worker(worker.id)
    worker.claim(promised)
    worker.close()


def test_a_worker_that_is_gone_can_be_forgotten_and_comes_back(
    server: BackendServer, people: Client, ada: Client, rows: Database
) -> None:
    worker = FakeWorker(server)
    with refuses(409, "worker_connected"):
        people.forget_worker(worker.id)
    claim = worker.claim(submit(people, "r"))
    silence(rows, worker)
    with refuses(409, "worker_has_runs"):
        people.forget_worker(worker.id)
    worker.report(claim, "succeeded")
    silence(rows, worker)
    with refuses(403, "forbidden"):
        ada.forget_worker(worker.id)
    people.forget_worker(worker.id)
    assert people.workers().items == []
    assert people.run(claim.run_id).worker == "w1"
    with refuses(404, "not_found"):
        people.drain_worker(worker.id)
    worker.client.register_worker(worker.body)
    assert [each.name for each in people.workers().items] == ["w1"]
    worker.close()


# ---------------------------------------------------------------- retries


def test_a_run_is_tried_again_as_often_as_it_says_and_shows_why(
    server: BackendServer, people: Client, rows: Database
) -> None:
    worker = FakeWorker(server)
    run_id = submit(people, "r", **{"resources.retries": 2})
    worker.report(worker.claim(run_id), "lost", "killed once")
    detail = people.run(run_id)
    assert (detail.num_retries, detail.max_retries, detail.retry_reason) == (1, 2, "killed once")
    worker.report(worker.claim(run_id), "lost", "killed twice")
    # From the second time on it waits a while.
    wait_until(lambda: "will be retried at" in (people.run(run_id).status_reason or ""))
    (run,) = people.queue().waiting
    assert run.retry == "retry 2 of 2 after: killed twice"
    with rows.session() as session, session.begin():
        session.get_one(Run, run_id).not_before = None
    claim = worker.claim(run_id)
    worker.upload(claim, [event("started"), step(1)])
    worker.report(claim, "lost", "killed after a step")
    assert (people.run(run_id).status, people.run(run_id).num_retries) == (RunStatus.QUEUED, 0)
    worker.close()


def test_a_full_disk_is_waited_for_from_the_first_time_on(
    server: BackendServer, people: Client, rows: Database
) -> None:
    worker = FakeWorker(server)
    run_id = submit(people, "r")
    for retry, pause in ((1, 60.0), (2, 120.0)):
        claim = worker.claim(run_id)
        outcome = AttemptOutcome(
            fencing_token=claim.fencing_token, status="lost", reason="cannot append", cannot_write=True
        )
        worker.client.post_outcome(run_id, outcome)
        assert people.run(run_id).num_retries == retry
        with rows.session() as session, session.begin():
            run = session.get_one(Run, run_id)
            assert run.not_before is not None
            waits = (run.not_before - session.scalars(select(func.now())).one()).total_seconds()
            # Six times ten seconds, then twice that; some of it has gone by.
            assert pause / 2 < waits <= pause
            run.not_before = None
    worker.close()


@pytest.mark.parametrize(
    ("num_fruitless", "cannot_write", "seconds"),
    [
        *((0, True, 60), (1, True, 60), (2, True, 120), (5, True, 960), (9, True, 960)),
        *((1, False, 0), (2, False, 10), (3, False, 20), (6, False, 160), (9, False, 160)),
    ],
)
def test_pauses_double_up_to_sixteen_times(num_fruitless: int, cannot_write: bool, seconds: float) -> None:
    settings = Settings.model_construct(retry_delay_seconds=10.0)
    assert pause_seconds(num_fruitless, settings, cannot_write=cannot_write) == seconds


def test_no_retries_and_failures_of_the_run_itself_end_it(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server)
    never = submit(people, "never", **{"resources.retries": 0})
    worker.report(worker.claim(never), "lost", "killed")
    own = submit(people, "own")
    worker.report(worker.claim(own), "failed", "no such model")
    assert [(people.run(each).status, people.run(each).status_reason) for each in (never, own)] == [
        (RunStatus.FAILED, "killed"),
        (RunStatus.FAILED, "no such model"),
    ]
    worker.close()


def test_a_failed_run_is_tried_again_by_hand_once_per_key(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server)
    run_id = submit(people, "r")
    worker.report(worker.claim(run_id), "failed", "no such model")
    assert "retry" in people.run(run_id).allowed_actions
    again = people.retry(run_id, "key-1")
    assert (again.status, again.finished_at, again.num_retries) == (RunStatus.QUEUED, None, 0)
    assert people.retry(run_id, "key-1").status is RunStatus.QUEUED
    claim = worker.claim(run_id)
    assert claim.attempt == 2
    worker.report(claim, "failed", "no such model")
    # The answer of the first request, which does nothing now.
    assert people.retry(run_id, "key-1").status is RunStatus.QUEUED
    assert people.run(run_id).status is RunStatus.FAILED
    with refuses(409, "idempotency_key_reused", field="Idempotency-Key"):
        people.bulk(BulkRequest(run_ids=[run_id], action="retry"), "key-1")
    assert people.bulk(BulkRequest(run_ids=[run_id], action="retry"), "key-2").num_done == 1
    with refuses(409, "illegal_transition"):
        people.retry(run_id)
    worker.close()


def test_twenty_requests_at_once_with_one_key_make_one_run(server: BackendServer, people: Client) -> None:
    body = RunCreate(name="once", recipe="countdown-demo")
    copy = RunCreate(name="once more")
    parent = submit(people, "parent")
    people.stop(parent)

    def create(number: int) -> str:
        with server.client() as client:
            return client.create_run(body, "key").id if number % 2 else client.clone(parent, copy, "clone").id

    with ThreadPoolExecutor(20) as pool:
        made = list(pool.map(create, range(20)))
    assert len(set(made[0::2])) == len(set(made[1::2])) == 1
    assert people.runs().total == 3
