"""The states of a run and the legal moves between them: one table, read by everything else."""

from __future__ import annotations

from collections.abc import Mapping

from backend.models import Run
from bapo.api.runs import TERMINAL_STATUSES, RunAction, RunStatus
from bapo.config.method import is_trainable

S = RunStatus
Action = RunAction

LEGAL_MOVES: Mapping[RunStatus, frozenset[RunStatus]] = {
    S.DRAFT: frozenset({S.QUEUED}),
    # Claimed by a worker; or cancelled before that. A worker that was given up and comes back continues (see LOST).
    S.QUEUED: frozenset({S.STARTING, S.CANCELLED, S.RUNNING}),
    # A trainer may be done before its worker says that it is up.
    S.STARTING: frozenset({S.RUNNING, S.PAUSING, S.STOPPING, S.QUEUED, S.SUCCEEDED, S.FAILED, S.LOST}),
    # Back to the queue if the machine asked the trainer to end, and no user did.
    S.RUNNING: frozenset({S.PAUSING, S.STOPPING, S.QUEUED, S.PAUSED, S.SUCCEEDED, S.FAILED, S.LOST}),
    # The last step may be done before the request is read.
    S.PAUSING: frozenset({S.PAUSED, S.STOPPING, S.SUCCEEDED, S.FAILED, S.LOST}),
    S.PAUSED: frozenset({S.QUEUED, S.CANCELLED}),
    S.STOPPING: frozenset({S.CANCELLED, S.SUCCEEDED, S.FAILED, S.LOST}),
    # Lost while it should stop or pause: it has stopped, or is paused.
    S.LOST: frozenset({S.QUEUED, S.PAUSED, S.CANCELLED, S.FAILED}),
    S.SUCCEEDED: frozenset(),
    # Tried again by hand, from its last checkpoint.
    S.FAILED: frozenset({S.QUEUED}),
    S.CANCELLED: frozenset(),
}

ACTIVE = frozenset({S.STARTING, S.RUNNING, S.PAUSING, S.STOPPING})
"""A worker holds the run."""

ARCHIVABLE = frozenset({S.DRAFT, S.PAUSED, *TERMINAL_STATUSES})
"""Statuses in which the run does not change by itself, so that a list can leave it out."""

_ACTIONS: Mapping[RunStatus, tuple[Action, ...]] = {
    S.DRAFT: ("start", "clone", "delete"),
    # Of hold and release, the one that changes something.
    S.QUEUED: ("stop", "hold", "release", "change", "clone", "fork"),
    S.STARTING: ("stop", "pause", "change", "clone", "fork"),
    S.RUNNING: ("stop", "pause", "change", "clone", "fork"),
    # Again: sooner than was asked for.
    S.PAUSING: ("stop", "pause", "clone", "fork"),
    S.PAUSED: ("resume", "stop", "change", "clone", "fork"),
    S.STOPPING: ("stop", "clone", "fork"),
    S.LOST: ("stop", "clone", "fork"),
    S.SUCCEEDED: ("clone", "fork", "delete"),
    S.FAILED: ("retry", "clone", "fork", "delete"),
    S.CANCELLED: ("clone", "fork", "delete"),
}


class IllegalMoveError(Exception):
    """A run in this state cannot move to that one."""

    def __init__(self, before: RunStatus, after: RunStatus) -> None:
        self.before = before
        self.after = after
        super().__init__(f"a {before.value} run cannot become {after.value}")


def check_move(before: RunStatus, after: RunStatus) -> None:
    """Raise IllegalMoveError unless the table has the move."""
    if after not in LEGAL_MOVES[before]:
        raise IllegalMoveError(before, after)


def actions(status: RunStatus) -> tuple[Action, ...]:
    """Return the actions that the state allows."""
    return _ACTIONS[status]


def actions_of(run: Run) -> tuple[Action, ...]:
    """Return the actions that make sense in the run's state: a run of another trainer can only be deleted here."""
    possible = actions(run.status)
    return possible if is_trainable(run.method) else tuple(action for action in possible if action == "delete")


def is_terminal(status: RunStatus) -> bool:
    """Return whether nothing happens to the run any more by itself."""
    return status in TERMINAL_STATUSES
