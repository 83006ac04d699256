"""Moves runs in the queue on request."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from backend.fleet.control import transitions
from backend.fleet.queue import placements
from backend.fleet.queue.repository import Candidate, lock_waiting
from backend.identity.audit.repository import add_audit
from backend.kit.errors import Problem
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.runs import access
from backend.runs import repository as runs
from backend.settings.environment import Settings
from bapo.api.queue import QueueMove
from bapo.api.runs import RunStatus


def move(session: Session, run_id: str, request: QueueMove, caller: Principal, settings: Settings) -> None:
    """Move a waiting run.

    Raises Problem 404 and 403 for a run that the caller may not change, 409 for one that is not in the line, 422 for a
    place that is none.
    """
    run = runs.get(session, run_id)
    reordered = [
        each.id
        for each in placements.line(session, settings)[0]
        if caller.role == "admin" or each.owner_id == run.owner_id
    ]
    lock_waiting(session, reordered, waits=True)
    run = access.lock_own(session, run_id, caller)
    if run.status is not RunStatus.QUEUED or run.held_at is not None:
        state = "held" if run.held_at is not None else run.status.value
        remedy = f"a {state} run has no place in the queue: only queued runs do"
        raise Problem(409, "not_in_the_queue", remedy, field="status", value=state)
    line, _ = placements.line(session, settings)
    owned = [each for each in line if each.owner_id == run.owner_id]
    # For an administrator, top and bottom are those of the whole queue; for others, of their own runs.
    others = [each for each in (line if caller.role == "admin" else owned) if each.id != run.id]
    target, is_before = _target(session, request, others, line, run.id)
    if target is None:
        return
    if target.owner_id != run.owner_id and caller.role != "admin":
        remedy = f"you may reorder only your own runs, and this one is {target.owner}'s: name one of yours"
        raise Problem(403, "not_your_run", remedy, field="before" if is_before else "after", value=target.id)
    transitions.set_priority(session, run, target.priority, caller)
    # With its new priority it is in another part of the line.
    session.flush()
    line = [each for each in placements.line(session, settings)[0] if each.priority == target.priority]
    passes_others = any(each.owner_id != run.owner_id for each in _between(line, run.id, target.id))
    if caller.role != "admin" or not passes_others:
        _exchange(session, _moved([each for each in line if each.owner_id == run.owner_id], run.id, target, is_before))
    else:
        _fix(session, _moved(line, run.id, target, is_before), run.id)
    add_audit(session, run.id, caller.name, "moved", {"before" if is_before else "after": target.id})
    announce_status(session, run)


def _target(
    session: Session, request: QueueMove, others: Sequence[Candidate], line: Sequence[Candidate], run_id: str
) -> tuple[Candidate | None, bool]:
    """Return the run to be moved to, and whether before it; None where there is no other to be moved past."""
    if request.to is not None:
        is_before = request.to == "top"
        return (None if not others else others[0 if is_before else -1]), is_before
    named = request.before or request.after or ""
    field = "before" if request.before is not None else "after"
    # What the caller does not see does not exist for them.
    runs.get(session, named)
    target = next((each for each in line if each.id == named and each.id != run_id), None)
    if target is None:
        raise Problem(422, "not_in_the_queue", "name another queued run", field=field, value=named)
    return target, field == "before"


def _between(line: Sequence[Candidate], run_id: str, target_id: str) -> Sequence[Candidate]:
    """Return the runs from one to the other, inclusive."""
    places = sorted(index for index, each in enumerate(line) if each.id in (run_id, target_id))
    return line[places[0] : places[-1] + 1]


def _moved(line: Sequence[Candidate], run_id: str, target: Candidate, is_before: bool) -> list[Candidate]:
    rest = [each for each in line if each.id != run_id]
    index = next(index for index, each in enumerate(rest) if each.id == target.id)
    (moving,) = [each for each in line if each.id == run_id]
    rest.insert(index if is_before else index + 1, moving)
    return rest


def _exchange(session: Session, order: Sequence[Candidate]) -> None:
    """Reorder an owner's runs among their own places, so that other users' places do not change."""
    rows = {row.id: row for row in lock_waiting(session, [each.id for each in order], waits=True)}
    moving = [rows[each.id] for each in order if each.id in rows]
    places = sorted(
        ((row.queue_place, row.queue_order) for row in moving),
        key=lambda place: (place[0] is None, place[0] or 0, place[1]),
    )
    for row, (place, since) in zip(moving, places, strict=True):
        row.queue_place, row.queue_order = place, since


def _fix(session: Session, order: Sequence[Candidate], run_id: str) -> None:
    """Store the places of all runs from the beginning to the moved run, so that they no longer change by themselves."""
    last = next(index for index, each in enumerate(order) if each.id == run_id)
    places = {each.id: index for index, each in enumerate(order) if index <= last or each.place is not None}
    for row in lock_waiting(session, list(places), waits=True):
        row.queue_place = places[row.id]
