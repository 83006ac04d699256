"""Moves of prompts between accuracies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bapo.analysis.accuracy_transitions import (
    NOT_SEEN,
    Counts,
    Flow,
    Sampling,
    accuracy_classes,
    aligned,
    flows,
    last_evaluated,
    migration_matrix,
    migration_rates,
    seen_in_both,
    tracked_matrix,
)
from bapo.analysis.visits import visits_of
from bapo.records import PromptVisit, StepRecord
from bapo.rollout import BatchSource
from tests.support.journals import step as step_record
from tests.support.journals import tracking

GROUP_SIZE = 8


def counts(*values: int) -> Counts:
    return np.array(values, dtype=np.int16)


def steps(*visits: list[PromptVisit]) -> list[StepRecord]:
    return [step_record(number).model_copy(update={"prompts": each}) for number, each in enumerate(visits, start=1)]


def visit(prompt_id: str, num_correct: int, source: BatchSource = BatchSource.FRESH) -> PromptVisit:
    return PromptVisit(prompt_id, source, num_correct, 0, in_batch=True)


def test_a_matrix_counts_prompts_by_accuracy_before_and_after() -> None:
    # Prompts: 0 → 0, 0 → 3, 0 → 3, 8 → 7, 2 → not seen, not seen → 1, never seen.
    before = counts(0, 0, 0, 8, 2, NOT_SEEN, NOT_SEEN)
    after = counts(0, 3, 3, 7, NOT_SEEN, 1, NOT_SEEN)
    matrix = migration_matrix(before, after, GROUP_SIZE)
    assert matrix.shape == (10, 10)
    cells = {(0, 0): 1, (0, 3): 2, (8, 7): 1, (2, 9): 1, (9, 1): 1, (9, 9): 1}
    assert {(int(row), int(column)): int(matrix[row, column]) for row, column in np.argwhere(matrix)} == cells
    assert seen_in_both(matrix).sum() == 4


def test_rates_by_hand() -> None:
    # At 0/8 before: 5, of which 3 are above now (3/5) and 1 at 4/8 or more (1/5). Above before: 4, of which 1 fell to 0
    # (1/4). The prompts that one side has not seen count nowhere.
    before = counts(0, 0, 0, 0, 0, 1, 4, 8, 8, 0, NOT_SEEN)
    after = counts(0, 0, 1, 3, 4, 0, 4, 8, 8, NOT_SEEN, 0)
    rates = migration_rates(migration_matrix(before, after, GROUP_SIZE))
    moved = [(rate.num_moved, rate.num_prompts, rate.value) for _, rate in rates if rate is not None]
    assert moved == [(3, 5, 0.6), (1, 5, 0.2), (1, 4, 0.25)]
    # Wilson, p = 0.2, n = 5, z = 1.96: centre (0.2 + 3.8415/10)/(1 + 3.8415/5) = 0.58415/1.76829 = 0.33034,
    # half width 1.96·√(0.2·0.8/5 + 3.8415/100)/1.76829 = 1.96·0.26536/1.76829 = 0.29412. One success is few: a Poisson
    # count reaches 1 with probability 0.05 where -ln 0.95 = 0.05129 are expected, 0.01026 of 5.
    assert rates.strictly_unlocked is not None
    interval = rates.strictly_unlocked
    assert interval.low == pytest.approx(0.01026, abs=1e-5)
    assert interval.high == pytest.approx(0.62446, abs=1e-4)


@pytest.mark.parametrize(("group_size", "below", "half"), [(8, 3, 4), (7, 3, 4), (1, 0, 1), (2, 0, 1)])
def test_a_strict_unlock_begins_at_one_half(group_size: int, below: int, half: int) -> None:
    rates = migration_rates(migration_matrix(counts(0, 0), counts(below, half), group_size))
    assert rates.strictly_unlocked is not None
    assert rates.strictly_unlocked.num_moved == 1


def test_a_rate_of_nothing_is_missing_not_zero() -> None:
    rates = migration_rates(migration_matrix(counts(0, 0), counts(0, 0), GROUP_SIZE))
    assert rates.lost is None
    assert rates.unlocked is not None
    assert rates.unlocked.value == 0.0
    nothing = migration_rates(migration_matrix(counts(), counts(), GROUP_SIZE))
    assert dict(nothing) == {"unlocked": None, "strictly_unlocked": None, "lost": None}


def test_a_prompt_stands_where_it_was_last_evaluated() -> None:
    records = steps(
        [visit("a", 0), visit("b", 4)],
        [visit("a", 2, BatchSource.REEVALUATED), visit("b", 4, BatchSource.REUSED)],
        [visit("c", 8), visit("a", 2, BatchSource.REUSED), visit("b", 5)],
    )
    visits = visits_of(records, GROUP_SIZE)
    assert visits.prompt_ids == ["a", "b", "c"]
    expected = {0: [-1, -1, -1], 1: [0, 4, -1], 2: [2, 4, -1], 3: [2, 5, 8], 99: [2, 5, 8]}
    assert {step: last_evaluated(visits, step).tolist() for step in expected} == expected


def test_samplings_of_different_prompts_are_aligned_over_all_of_them() -> None:
    before, after = aligned([Sampling(["a", "b"], [1, 2]), Sampling(["c", "b"], [3, 4])])
    assert (before.tolist(), after.tolist()) == ([1, 2, NOT_SEEN], [NOT_SEEN, 4, 3])
    same = aligned([Sampling(["a", "b"], [1, 2]), Sampling(["a", "b"], [3, 4])])
    assert [each.tolist() for each in same] == [[1, 2], [3, 4]]


def test_the_null_is_base_against_base() -> None:
    # The unchanged base model sampled twice "unlocks" one of two prompts at 0/8 and loses one of one.
    matrix = tracked_matrix(tracking(0, [0, 0, 1]), tracking(0, [0, 2, 0], replicate=1))
    rates = migration_rates(matrix)
    assert [None if rate is None else rate.value for _, rate in rates] == [0.5, 0.0, 1.0]


@pytest.mark.parametrize(
    ("group_size", "expected"),
    [
        (1, {"unsolved": (0, 0), "solved": (1, 1)}),
        (2, {"unsolved": (0, 0), "middle": (1, 1), "solved": (2, 2)}),
        (3, {"unsolved": (0, 0), "low": (1, 1), "high": (2, 2), "solved": (3, 3)}),
        # 1/3 of 8 is 2.67 and 2/3 of it 5.33.
        (8, {"unsolved": (0, 0), "low": (1, 2), "middle": (3, 5), "high": (6, 7), "solved": (8, 8)}),
    ],
)
def test_classes_are_thirds_between_the_ends(group_size: int, expected: dict[str, tuple[int, int]]) -> None:
    classes = {name: (lowest, highest) for name, lowest, highest in accuracy_classes(group_size)}
    assert classes == {**expected, "not_seen": (NOT_SEEN, NOT_SEEN)}


def test_flows_count_the_prompts_of_each_path() -> None:
    # Classes of 8: 0 unsolved, 1 low, 2 middle, 3 high, 4 solved, 5 not seen.
    samplings = [
        counts(0, 0, 0, NOT_SEEN, NOT_SEEN),
        counts(0, 1, 2, 8, NOT_SEEN),
        counts(0, 5, 3, 7, NOT_SEEN),
    ]
    assert flows(samplings, GROUP_SIZE) == [Flow((0, 1, 2), 2), Flow((0, 0, 0), 1), Flow((5, 4, 3), 1)]


ANY_COUNTS = st.integers(1, 16).flatmap(
    lambda group_size: st.tuples(
        st.just(group_size),
        st.integers(0, 50).flatmap(
            lambda length: arrays(np.int16, (3, length), elements=st.integers(NOT_SEEN, group_size))
        ),
    )
)


@given(ANY_COUNTS)
def test_the_margins_of_a_matrix_are_the_counts_per_accuracy(drawn: tuple[int, Counts]) -> None:
    group_size, (before, after, _) = drawn
    matrix = migration_matrix(before, after, group_size)
    values = [*range(group_size + 1), NOT_SEEN]
    assert matrix.sum(axis=1).tolist() == [int((before == value).sum()) for value in values]
    assert matrix.sum(axis=0).tolist() == [int((after == value).sum()) for value in values]
    # Time reversed is the matrix transposed; nothing moved is a diagonal.
    assert np.array_equal(migration_matrix(after, before, group_size), matrix.T)
    still = migration_matrix(before, before, group_size)
    assert np.array_equal(still, np.diag(matrix.sum(axis=1)))
    assert all(rate is None or rate.value in (0.0, 1.0) for _, rate in migration_rates(still))


@given(ANY_COUNTS)
def test_flows_lose_no_prompt_that_was_ever_seen(drawn: tuple[int, Counts]) -> None:
    group_size, samplings = drawn
    paths = flows(list(samplings), group_size)
    assert sum(path.num_prompts for path in paths) == int((samplings != NOT_SEEN).any(axis=0).sum())
    for place, sampled in enumerate(samplings):
        for number, each in enumerate(accuracy_classes(group_size)[:-1]):
            through = sum(path.num_prompts for path in paths if path.classes[place] == number)
            assert through == int(((sampled >= each.lowest) & (sampled <= each.highest)).sum())
