"""Which machine takes which run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.fleet.queue.matching import (
    Placement,
    Reservation,
    best_capacity,
    capacity_on,
    has_time_for,
    place_all,
    reserve,
    taken,
    why_never,
    why_not_now,
)
from backend.workers.machines import Gpu, Machine
from bapo.config.resources import Needs
from bapo.run.stop_time import StopTime

CPU = Needs()
AUTO = Needs(gpus=1, gpus_optional=True)


def machine(
    name: str = "m",
    *,
    slots: int = 8,
    gpus: int = 0,
    gib: float | None = 80.0,
    held: Sequence[int] = (),
    **more: Any,
) -> Machine:
    fields: dict[str, Any] = {
        "host": name,
        "gpus": tuple(Gpu(i, gib) for i in range(gpus)),
        "gpus_held": frozenset(held),
        "slots_held": len(held),
    }
    return Machine(id=name, name=name, slots=slots, **(fields | more))


def gpus_given(needs: Needs, given: Machine) -> tuple[int, ...] | None:
    capacity = capacity_on(needs, given)
    return None if capacity is None else capacity.gpus


def test_a_run_gets_gpus_that_nobody_has() -> None:
    assert gpus_given(Needs(gpus=2), machine(gpus=4, held=[0, 2])) == (1, 3)
    assert gpus_given(Needs(gpus=3), machine(gpus=4, held=[0, 2])) is None


def test_a_slot_is_needed_beside_the_gpus() -> None:
    assert gpus_given(Needs(gpus=1), machine(gpus=4, slots=1, held=[0])) is None
    assert gpus_given(Needs(gpus=1), machine(gpus=4, slots=2, held=[0])) == (1,)


def test_memory_that_other_runs_have_is_not_free() -> None:
    # 64 GiB, 40 of which are taken: 24 are free.
    box = machine(memory_gib=64.0, memory_held_gib=40.0)
    assert capacity_on(Needs(memory_gib=24.0), box) is not None
    assert capacity_on(Needs(memory_gib=24.5), box) is None


@pytest.mark.parametrize(
    ("time", "needed"),
    [
        # Nothing measured: 45 s to start and 45 s to stop.
        (StopTime(), 90.0),
        # 120 s to start, and 1.5 · 200 s + 10 s to stop.
        (StopTime(120.0, 200.0), 430.0),
        # 1.5 · 20 s + 10 s = 40 s, less than the least time to stop.
        (StopTime(30.0, 20.0), 75.0),
    ],
)
def test_a_machine_that_ends_takes_what_can_begin_and_stop_until_then(time: StopTime, needed: float) -> None:
    assert has_time_for(time, machine(seconds_left=needed))
    assert not has_time_for(time, machine(seconds_left=needed - 0.1))
    assert has_time_for(time, machine(seconds_left=None))


def test_a_run_takes_no_larger_gpu_than_it_needs() -> None:
    mixed = machine(gpus=0)._replace(gpus=(Gpu(0, 80.0), Gpu(1, 24.0), Gpu(2, 48.0)))
    assert gpus_given(Needs(gpus=1), mixed) == (1,)
    assert gpus_given(Needs(gpus=1, gpu_memory_gib=40.0), mixed) == (2,)
    assert gpus_given(Needs(gpus=2, gpu_memory_gib=40.0), mixed) == (0, 2)
    assert gpus_given(Needs(gpus=3, gpu_memory_gib=40.0), mixed) is None


def test_a_gpu_of_unknown_memory_serves_no_need_of_memory() -> None:
    unknown = machine(gpus=1, gib=None)
    assert gpus_given(Needs(gpus=1), unknown) == (0,)
    assert gpus_given(Needs(gpus=1, gpu_memory_gib=1.0), unknown) is None


def test_a_run_that_can_use_a_gpu_takes_one_where_there_are_any_and_goes_without_elsewhere() -> None:
    assert gpus_given(AUTO, machine(gpus=0)) == ()
    assert gpus_given(AUTO, machine(gpus=1)) == (0,)
    # There it waits rather than train on the CPU.
    assert gpus_given(AUTO, machine(gpus=1, held=[0])) is None
    capacity = best_capacity(AUTO, [machine("cpu"), machine("gpu", gpus=1)])
    assert capacity is not None
    assert capacity.machine.name == "gpu"


def test_runs_without_gpus_leave_machines_with_gpus_alone() -> None:
    capacity = best_capacity(CPU, [machine("gpu", gpus=4), machine("cpu", slots=1)])
    assert capacity is not None
    assert capacity.machine.name == "cpu"


def test_small_runs_fill_a_machine_up_before_they_break_into_an_empty_one() -> None:
    capacity = best_capacity(Needs(gpus=1), [machine("empty", gpus=4), machine("half", gpus=4, held=[0, 1])])
    assert capacity is not None
    assert capacity.machine.name == "half"


@pytest.mark.parametrize(
    ("needs", "machines", "field", "reason"),
    [
        (
            Needs(gpus=4),
            [machine("a", gpus=2), machine("b")],
            "resources.gpus",
            "needs 4 GPUs, and no connected worker has that many: the largest has 2",
        ),
        (
            Needs(gpus=1),
            [machine("a")],
            "resources.gpus",
            "needs 1 GPU, and no connected worker has that many: none has any",
        ),
        (
            Needs(gpus=1, gpu_memory_gib=80.0),
            [machine("a", gpus=2, gib=24.0)],
            "resources.gpu_memory_gib",
            "needs 1 GPU with 80 GiB of GPU memory, and no connected worker has that much: the largest GPU has 24 GiB",
        ),
        (
            Needs(memory_gib=512.0),
            [machine("a", memory_gib=128.0)],
            "resources.memory_gib",
            "needs 512 GiB of memory, and the largest connected worker has 128 GiB",
        ),
        (
            Needs(gpus=2, memory_gib=100.0),
            [machine("a", gpus=2, memory_gib=64.0), machine("b", memory_gib=128.0)],
            "resources.gpus",
            "no connected worker has 2 GPUs together with the memory that it needs",
        ),
    ],
)
def test_a_run_that_nothing_can_take_says_what_is_missing(
    needs: Needs, machines: list[Machine], field: str, reason: str
) -> None:
    assert why_never(needs, machines) == (field, reason)


def test_a_run_that_something_could_take_says_what_it_waits_for() -> None:
    assert why_never(Needs(gpus=2), [machine(gpus=2, held=[0])]) is None
    assert why_not_now(Needs(gpus=2), [machine(gpus=2, held=[0])]) == "waits for 2 GPUs on one worker to be free"
    assert why_not_now(CPU, [machine(slots=1, held=[], slots_held=1)]) == "waits for a free slot"
    busy = machine(memory_gib=64.0, memory_held_gib=60.0)
    assert why_not_now(Needs(memory_gib=8.0), [busy]) == "waits for 8 GiB of free memory"


# ---------------------------------------------------------------- several runs


def placed(
    runs: Sequence[tuple[str, Needs]], machines: Sequence[Machine], refused: Sequence[str] = ()
) -> dict[str, Placement]:
    return dict(
        place_all(
            runs,
            machines,
            lambda _, __: True,
            lambda run_id: "refused" if run_id in refused else None,
            lambda _: (),
        )
    )


def test_a_run_that_waits_for_four_gpus_is_not_overtaken_by_small_ones() -> None:
    box = machine(gpus=4, held=[0])
    small, big = Needs(gpus=1), Needs(gpus=4)
    given = placed([("big", big), ("small", small), ("cpu", CPU)], [box])
    assert given["big"].reason == "waits for 4 GPUs on one worker to be free"
    # Three GPUs are free, and kept; a run that takes none of what it waits for may go.
    assert given["small"].capacity is None
    assert given["small"].reason == "waits because capacity is reserved for a larger run that has waited longer"
    assert given["cpu"].capacity is not None


def test_only_the_machine_that_lacks_least_is_kept() -> None:
    half, nearly = machine("half", gpus=4, held=[0, 1]), machine("nearly", gpus=4, held=[0])
    given = placed([("big", Needs(gpus=4)), ("small", Needs(gpus=1))], [half, nearly])
    assert given["small"].capacity is not None
    assert given["small"].capacity.machine.name == "half"


def test_who_is_refused_keeps_no_room() -> None:
    given = placed([("big", Needs(gpus=4)), ("small", Needs(gpus=1))], [machine(gpus=4, held=[0])], refused=["big"])
    assert given["big"] == Placement(None, "refused")
    assert given["small"].capacity is not None


def test_what_can_never_be_placed_keeps_no_room() -> None:
    given = placed([("huge", Needs(gpus=9)), ("small", Needs(gpus=1))], [machine(gpus=4, held=[0])])
    assert given["small"].capacity is not None


def test_a_machine_that_failed_a_run_gets_it_only_where_no_other_has_room() -> None:
    def name(machines: Sequence[Machine]) -> str | None:
        (_, given), *_ = place_all([("r", CPU)], machines, lambda _, __: True, lambda _: None, lambda _: ("bad",))
        return given.capacity.machine.name if given.capacity else None

    assert name([machine("bad", slots=9), machine("good", slots=1)]) == "good"
    assert name([machine("bad", slots=9), machine("good", slots=1, slots_held=1)]) == "bad"


def test_memory_is_kept_too() -> None:
    box = machine(memory_gib=64.0, memory_held_gib=40.0)
    given = placed([("big", Needs(memory_gib=32.0)), ("small", Needs(memory_gib=8.0)), ("none", CPU)], [box])
    assert [run_id for run_id, placement in given.items() if placement.capacity] == ["none"]


NEEDS = st.builds(
    Needs,
    gpus=st.integers(0, 4),
    gpus_optional=st.booleans(),
    memory_gib=st.sampled_from([0.0, 8.0, 40.0]),
    gpu_memory_gib=st.sampled_from([None, 24.0, 80.0]),
    cluster_gpus=st.just(0),
)
MACHINES = st.lists(
    st.builds(
        Machine,
        id=st.integers(0, 99).map(str),
        name=st.just("m"),
        host=st.just("h"),
        slots=st.integers(1, 4),
        gpus=st.lists(st.sampled_from([None, 24.0, 80.0]), max_size=5).map(
            lambda sizes: tuple(Gpu(index, size) for index, size in enumerate(sizes))
        ),
        memory_gib=st.sampled_from([None, 48.0, 96.0]),
        slots_held=st.just(0),
        gpus_held=st.just(frozenset()),
        memory_held_gib=st.just(0.0),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda each: each.id,
)


@given(st.lists(NEEDS, max_size=15), MACHINES)
def test_nothing_is_given_twice(needs: list[Needs], machines: list[Machine]) -> None:
    given = placed([(str(index), each) for index, each in enumerate(needs)], machines)
    for box in machines:
        capacities = [
            (needs[int(run_id)], placement.capacity)
            for run_id, placement in given.items()
            if placement.capacity is not None and placement.capacity.machine.id == box.id
        ]
        held = [index for _, capacity in capacities for index in capacity.gpus]
        assert len(capacities) <= box.slots
        assert len(held) == len(set(held))
        assert set(held) <= {gpu.index for gpu in box.gpus}
        assert box.memory_gib is None or sum(each.memory_gib for each, _ in capacities) <= box.memory_gib
        for each, capacity in capacities:
            assert len(capacity.gpus) == (0 if each.gpus_optional and not box.gpus else each.gpus)
            assert all((box.gpus[index].memory_gib or 0.0) >= (each.gpu_memory_gib or 0.0) for index in capacity.gpus)
    assert all((placement.capacity is None) != (placement.reason is None) for placement in given.values())


@given(NEEDS, MACHINES, st.lists(NEEDS, max_size=10))
def test_what_keeps_room_starts_when_those_that_are_there_have_ended(
    first: Needs, machines: list[Machine], later: list[Needs]
) -> None:
    """Whatever later runs take beside a reservation, there is capacity as soon as the earlier runs are gone."""
    full = [
        box._replace(
            slots_held=box.slots - 1,
            gpus_held=frozenset(gpu.index for gpu in box.gpus),
            memory_held_gib=0.0,
        )
        for box in machines
    ]
    reservation = reserve(first, full)
    if reservation is None or capacity_on(first, next(each for each in full if each.id == reservation.machine_id)):
        return
    kept = next(each for each in full if each.id == reservation.machine_id)
    newcomers = []
    for needs in later:
        capacity = capacity_on(needs, kept)
        if capacity is not None and Reservation(kept.id, first).admits(capacity, needs):
            kept = taken(capacity, needs)
            newcomers.append((needs, capacity))
    empty = next(each for each in machines if each.id == kept.id)
    after = empty._replace(
        slots_held=len(newcomers),
        gpus_held=frozenset(index for _, capacity in newcomers for index in capacity.gpus),
        memory_held_gib=sum(needs.memory_gib for needs, _ in newcomers),
    )
    assert capacity_on(first, after) is not None
