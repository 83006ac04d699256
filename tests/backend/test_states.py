"""The table of legal moves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backend.runs.states import ACTIVE, LEGAL_MOVES, IllegalMoveError, actions, check_move
from bapo.api.runs import TERMINAL_STATUSES, RunStatus

S = RunStatus


@pytest.mark.parametrize(
    "life",
    [
        [S.DRAFT, S.QUEUED, S.STARTING, S.RUNNING, S.SUCCEEDED],
        [S.QUEUED, S.STARTING, S.RUNNING, S.FAILED],
        [S.RUNNING, S.PAUSING, S.PAUSED, S.QUEUED],
        [S.RUNNING, S.STOPPING, S.CANCELLED],
        [S.RUNNING, S.LOST, S.QUEUED],
        [S.QUEUED, S.CANCELLED],
    ],
)
def test_the_lives_of_a_run_are_legal(life: list[RunStatus]) -> None:
    for before, after in pairwise(life):
        check_move(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (S.DRAFT, S.RUNNING),
        (S.QUEUED, S.SUCCEEDED),
        (S.PAUSED, S.RUNNING),
        (S.SUCCEEDED, S.QUEUED),
        (S.RUNNING, S.RUNNING),
    ],
)
def test_other_moves_are_refused(before: RunStatus, after: RunStatus) -> None:
    with pytest.raises(IllegalMoveError, match=f"a {before.value} run cannot become {after.value}"):
        check_move(before, after)


def test_every_state_is_in_the_table_and_only_ended_ones_are_final() -> None:
    assert set(LEGAL_MOVES) == set(RunStatus)
    # A failed one can be tried again by hand.
    assert {status for status, moves in LEGAL_MOVES.items() if moves <= {S.QUEUED}} == TERMINAL_STATUSES | {S.DRAFT}
    assert {status for status, moves in LEGAL_MOVES.items() if not moves} == {S.SUCCEEDED, S.CANCELLED}


def test_every_state_is_reached_from_a_draft() -> None:
    reached, new = {S.DRAFT}, {S.DRAFT}
    while new:
        new = {after for before in new for after in LEGAL_MOVES[before]} - reached
        reached |= new
    assert reached == set(RunStatus)


def test_what_a_worker_holds_can_end_in_every_way() -> None:
    for status in ACTIVE:
        assert {S.SUCCEEDED, S.FAILED, S.LOST} <= LEGAL_MOVES[status]


def test_every_action_is_possible_in_some_state_and_cloning_in_all() -> None:
    offered = {action for status in RunStatus for action in actions(status)}
    assert offered == {
        "start",
        "stop",
        "pause",
        "resume",
        "retry",
        "hold",
        "release",
        "change",
        "clone",
        "fork",
        "delete",
    }
    assert all("clone" in actions(status) for status in RunStatus)


def test_only_drafts_and_ended_runs_can_be_deleted() -> None:
    assert {status for status in RunStatus if "delete" in actions(status)} == TERMINAL_STATUSES | {S.DRAFT}
