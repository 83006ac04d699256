"""The order of waiting runs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from backend.fleet.queue.order import WaitingPlace, in_order
from tests.support.drawing import examples

PATIENCE = 3_600.0
NOW = 1_000_000.0


def run(
    name: str, owner: str, age: float = 0.0, *, priority: int = 50, share: int = 1, place: int | None = None
) -> WaitingPlace:
    return WaitingPlace(name, owner, priority, NOW - age, share, place)


def names(waiting: Sequence[WaitingPlace], **held: int) -> str:
    return " ".join(each.id for each in in_order(waiting, held, now=NOW, patience_seconds=PATIENCE))


def test_the_older_run_comes_first() -> None:
    assert names([run("young", "ada", 1), run("old", "ada", 2)]) == "old young"


def test_priority_comes_before_age_and_before_shares() -> None:
    assert names([run("old", "ada", 9, priority=49), run("urgent", "bob", 1)], bob=8) == "urgent old"


def test_who_has_least_comes_first_and_what_comes_earlier_counts() -> None:
    waiting = [run("a1", "ada", 9), run("a2", "ada", 8), run("b1", "bob", 2), run("b2", "bob", 1)]
    # ada has 2 slots, bob none: b1 (bob 0 → 1), b2 (1 → 2), then both have 2 and the oldest is a1 (ada 3), then a2.
    assert names(waiting, ada=2) == "b1 b2 a1 a2"
    # Both have none: a1 (ada 1), b1 (bob 1), then the older a2 (ada 2), b2.
    assert names(waiting) == "a1 b1 a2 b2"


def test_gpus_weigh_more_than_slots() -> None:
    waiting = [run("a1", "ada", 9, share=4), run("a2", "ada", 8), run("b1", "bob", 2), run("b2", "bob", 1)]
    # a1 gives ada 4; both of bob's runs come before she has another.
    assert names(waiting) == "a1 b1 b2 a2"


def test_shares_of_a_higher_priority_count_in_the_lower() -> None:
    waiting = [run("a9", "ada", 1, priority=90), run("a1", "ada", 9), run("b1", "bob", 1)]
    # a9 gives ada 1, so bob with 0 comes first of priority 50.
    assert names(waiting) == "a9 b1 a1"


def test_who_has_waited_for_the_patience_comes_before_fair_shares() -> None:
    waiting = [run("a1", "ada", PATIENCE), run("b1", "bob", 1)]
    assert names(waiting, ada=8) == "a1 b1"
    almost = [run("a1", "ada", PATIENCE - 0.001), run("b1", "bob", 1)]
    assert names(almost, ada=8) == "b1 a1"


def test_a_place_that_an_administrator_gave_comes_before_everything_of_its_priority() -> None:
    waiting = [
        run("overdue", "ada", 2 * PATIENCE),
        run("second", "bob", 1, place=1),
        run("first", "bob", 0, place=0),
        run("urgent", "ada", 0, priority=60),
    ]
    assert names(waiting) == "urgent first second overdue"


RUNS = st.lists(
    st.builds(
        WaitingPlace,
        id=st.integers(0, 10_000).map(str),
        owner_id=st.sampled_from(["ada", "bob", "eve"]),
        priority=st.sampled_from([0, 50, 100]),
        since=st.floats(NOW - 2 * PATIENCE, NOW),
        share=st.integers(1, 8),
        place=st.none() | st.integers(0, 5),
    ),
    max_size=30,
    unique_by=lambda each: each.id,
)
HELD = st.dictionaries(st.sampled_from(["ada", "bob", "eve"]), st.integers(0, 16))


@given(RUNS, HELD)
def test_every_run_has_one_place_and_the_order_is_the_same_however_they_come(
    waiting: list[WaitingPlace], held: dict[str, int]
) -> None:
    ordered = in_order(waiting, held, now=NOW, patience_seconds=PATIENCE)
    assert sorted(ordered) == sorted(waiting)
    assert in_order(waiting[::-1], held, now=NOW, patience_seconds=PATIENCE) == ordered
    assert [each.priority for each in ordered] == sorted((each.priority for each in waiting), reverse=True)


@given(RUNS, HELD)
def test_no_run_is_overtaken_for_ever(waiting: list[WaitingPlace], held: dict[str, int]) -> None:
    """Before a run that has waited for the patience come only older ones of its priority, or given places."""
    ordered = in_order(waiting, held, now=NOW, patience_seconds=PATIENCE)
    for index, each in enumerate(ordered):
        if NOW - each.since >= PATIENCE:
            earlier = [other for other in ordered[:index] if other.priority == each.priority and other.place is None]
            assert all((other.since, other.id) < (each.since, each.id) or each.place is not None for other in earlier)


@given(RUNS)
@examples(0.3)
def test_an_owners_runs_keep_their_order(waiting: list[WaitingPlace]) -> None:
    plain = [each._replace(place=None) for each in waiting]
    ordered = in_order(plain, {}, now=NOW, patience_seconds=PATIENCE)
    for owner in ("ada", "bob", "eve"):
        ages = [(-each.priority, each.since, each.id) for each in ordered if each.owner_id == owner]
        assert ages == sorted(ages)


def test_five_hundred_runs_are_put_in_order_at_once() -> None:
    waiting = [run(str(number), f"u{number % 20}", number) for number in range(500)]
    began = time.process_time()
    in_order(waiting, {}, now=NOW, patience_seconds=PATIENCE)
    # About 2 ms; the bound is for a busy machine.
    assert time.process_time() - began < 0.1
