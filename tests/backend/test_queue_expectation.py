"""When waiting runs are expected to find room, by worked examples."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from backend.fleet.queue.expectation import MOST_EXPECTED, Waiting, expected_seconds
from bapo.api.queue import GpuSlot, HeldRun, WorkerSlots
from bapo.api.runs import RunStatus
from bapo.config.resources import Needs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CPU = Waiting(Needs())


def held(eta_seconds: float | None, *gpus: int, memory_gib: float = 0.0) -> HeldRun:
    """A run on a worker."""
    return HeldRun(
        id="r",
        name="r",
        owner="o",
        method="bapo",
        status=RunStatus.RUNNING,
        attempt=1,
        state="running",
        since=NOW,
        lease_expires_at=None,
        step=1,
        num_steps=2,
        eta_seconds=eta_seconds,
        may_cancel=True,
        gpus=gpus,
        memory_gib=memory_gib,
    )


def worker(
    runs: Sequence[HeldRun] = (),
    *,
    slots: int = 8,
    gpus: Sequence[float | None] = (),
    memory_gib: float | None = None,
    name: str = "w",
    draining: bool = False,
) -> WorkerSlots:
    """A worker with GPUs of these sizes."""
    return WorkerSlots(
        id=name,
        name=name,
        host=name,
        version="0",
        slots=slots,
        gpus=[GpuSlot(index=index, memory_gib=size) for index, size in enumerate(gpus)],
        memory_gib=memory_gib,
        online=True,
        draining=draining,
        last_seen_at=NOW,
        registered_at=NOW,
        system={},
        runs=runs,
    )


def test_waiting_runs_take_the_slots_as_they_become_free() -> None:
    online = [
        worker([held(300.0), held(60.0)], slots=2, name="a"),
        worker([held(120.0), held(None)], slots=3, name="b"),
    ]
    # One slot is free now, the next after 60, 120 and 300 s; of the fifth nobody knows.
    assert expected_seconds([CPU] * 5, online) == [0.0, 60.0, 120.0, 300.0, None]


def test_a_promised_run_has_its_slot_already() -> None:
    online = [worker([held(90.0)], slots=1)]
    assert expected_seconds([Waiting(Needs(), is_promised=True), CPU], online) == [0.0, 90.0]


def test_a_run_waits_for_as_many_gpus_as_it_needs() -> None:
    # Four GPUs: two are held for 60 s, one for 200 s, one is free.
    online = [worker([held(60.0, 0, 1), held(200.0, 2)], gpus=[80.0] * 4)]
    two, four, one = (Waiting(Needs(gpus=number)) for number in (2, 4, 1))
    assert expected_seconds([two], online) == [60.0]
    assert expected_seconds([four], online) == [200.0]
    # 1 takes the free one; 2 then take those of 60 s; for 4 there are never enough.
    assert expected_seconds([one, two, four], online) == [0.0, 60.0, None]
    # The first gets 0 and 1 after 60 s, which leaves 3 to the second at once, and 2 to the third.
    assert expected_seconds([two, one, one, one], online) == [60.0, 0.0, 200.0, None]


def test_gpus_too_small_and_slots_without_gpus_do_not_count() -> None:
    online = [
        worker([held(30.0, 0), held(90.0, 1)], gpus=[24.0, 80.0], name="gpus"),
        worker(slots=4, name="none"),
    ]
    large = Waiting(Needs(gpus=1, gpu_memory_gib=40.0))
    assert expected_seconds([large, Waiting(Needs(gpus=1)), CPU], online) == [90.0, 30.0, 0.0]
    # With a GPU if there is one, else without.
    assert expected_seconds([Waiting(Needs(gpus=1, gpus_optional=True))], online) == [0.0]


def test_memory_draining_workers_and_other_hosts_do_not_count() -> None:
    busy = worker([held(45.0, memory_gib=50.0)], memory_gib=64.0, name="busy")
    assert expected_seconds([Waiting(Needs(memory_gib=32.0))], [busy]) == [45.0]
    assert expected_seconds([Waiting(Needs(memory_gib=65.0))], [busy]) == [None]
    assert expected_seconds([CPU], [worker(draining=True)]) == [None]
    there = worker(name="there")
    assert expected_seconds([Waiting(Needs(memory_gib=32.0), host="busy")], [busy, there]) == [45.0]
    assert expected_seconds([Waiting(Needs(), host="gone")], [busy, there]) == [None]


def test_a_long_line_is_looked_at_as_far_as_it_matters() -> None:
    expected = expected_seconds([CPU] * (MOST_EXPECTED + 5), [worker(slots=1_000)])
    assert expected == [0.0] * MOST_EXPECTED + [None] * 5
