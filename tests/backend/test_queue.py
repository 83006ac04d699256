"""What waits and why, and what runs where."""

from __future__ import annotations

from bapo.api.runs import RunCreate, RunStatus
from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import event, step
from tests.support.services import BackendServer, wait_until


def submit(client: Client, name: str, priority: int = 50) -> str:
    return client.create_run(RunCreate(name=name, recipe="countdown-demo", priority=priority)).id


def test_an_empty_server_has_an_empty_queue(people: Client) -> None:
    state = people.queue()
    assert (state.waiting, state.num_waiting, state.workers, state.slots, state.busy) == ([], 0, [], 0, 0)


def test_runs_wait_in_the_order_in_which_they_start_and_say_why(people: Client) -> None:
    submit(people, "first")
    submit(people, "second")
    submit(people, "urgent", priority=90)
    wait_until(lambda: all(run.reason for run in people.queue().waiting))
    waiting = people.queue().waiting
    assert [(run.position, run.name, run.priority) for run in waiting] == [
        (1, "urgent", 90),
        (2, "first", 50),
        (3, "second", 50),
    ]
    assert {run.reason for run in waiting} == {"waits for a worker: none is connected"}
    assert [run.expected_seconds for run in waiting] == [None, None, None]
    assert all(run.may_cancel for run in waiting)


def test_a_slot_shows_the_run_that_holds_it(server: BackendServer, people: Client) -> None:
    worker = FakeWorker(server, slots=1)
    run_id, other_id = submit(people, "one"), submit(people, "two")
    claim = worker.claim(run_id)
    worker.report(claim, "running")
    worker.upload(claim, [event("started"), step(1), step(2)])
    worker.wait_until(lambda: people.run(other_id).status_reason == "waits for a free slot")
    state = people.queue()
    (slots,) = state.workers
    (held,) = slots.runs
    assert (slots.name, slots.online, slots.slots) == ("w1", True, 1)
    assert (held.id, held.name, held.attempt, held.state, held.step) == (run_id, "one", 1, "running", 2)
    assert held.lease_expires_at is not None
    assert (state.slots, state.busy, state.num_waiting) == (1, 1, 1)
    (waiting,) = state.waiting
    # The only slot is free when the run in it is done.
    assert waiting.expected_seconds == held.eta_seconds
    worker.close()


def test_a_cancelled_run_leaves_the_queue(people: Client) -> None:
    run_id = submit(people, "changed my mind")
    assert people.stop(run_id).status is RunStatus.CANCELLED
    assert people.queue().waiting == []
