"""Applies one action to several runs; a run that refuses does not hold up the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sqlalchemy.orm import Session

from backend.fleet.control import edits, transitions
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.kit.project_scope import show_trash
from backend.models import Run
from backend.runs import access, repository
from backend.runs.listing import matching_ids
from backend.settings.environment import Settings
from bapo.api.runs import MAX_TAGS, BulkAction, BulkAnswer, BulkRequest, BulkResult, Matching, RunUpdate

_Steer = Callable[[Session, Run, Principal], None]


_STEERING: Mapping[BulkAction, _Steer] = {
    "start": transitions.start,
    "resume": transitions.resume,
    "retry": transitions.retry,
    "hold": transitions.hold,
    "release": transitions.release,
    "archive": partial(edits.archive, is_archived=True),
    "unarchive": partial(edits.archive, is_archived=False),
    "purge": edits.purge,
}


def perform(session: Session, request: BulkRequest, caller: Principal, settings: Settings) -> BulkAnswer:
    """Do it to each run that allows it; every refusal comes before anything of that run has changed."""
    if request.action in ("restore", "purge") or (request.matching and request.matching.filters.trash == "only"):
        show_trash(session)
    run_ids = list(dict.fromkeys(request.run_ids)) or _matching(session, request.matching, caller)
    results: dict[str, BulkResult] = {}
    # Locks are taken in one order, so that two requests never wait for each other.
    for run_id in sorted(run_ids):
        try:
            _perform(session, run_id, request, caller, settings)
            results[run_id] = BulkResult(run_id=run_id, done=True)
        except Problem as problem:
            results[run_id] = BulkResult(run_id=run_id, done=False, code=problem.code, reason=problem.remedy)
    ordered = [results[run_id] for run_id in run_ids]
    return BulkAnswer(results=ordered, num_done=sum(result.done for result in ordered))


def _matching(session: Session, matching: Matching | None, caller: Principal) -> list[str]:
    """Return all runs that the filter finds. Raises Problem 409 if there are not as many as the user confirmed."""
    assert matching is not None, "a request names runs or a filter"
    found = matching_ids(session, matching.filters, "id", caller.id)
    if len(found) != matching.expected:
        remedy = f"{len(found):,} runs match by now: look at them, and ask again with that number"
        raise Problem(409, "other_number", remedy, field="matching.expected", value=matching.expected)
    return found


def _perform(session: Session, run_id: str, request: BulkRequest, caller: Principal, settings: Settings) -> None:
    if request.action in ("star", "unstar"):
        # A star belongs to the caller, regardless of the run's owner.
        repository.get(session, run_id)
        repository.set_star(session, run_id, caller.id, is_starred=request.action == "star")
        return
    run = access.lock_own(session, run_id, caller)
    if request.action == "delete":
        edits.trash(session, run, caller, settings)
        return
    if request.action == "restore":
        edits.restore(session, run, caller)
        return
    if request.action == "stop":
        transitions.stop(session, run, caller, request.when)
        return
    if request.action == "pause":
        transitions.pause(session, run, caller, request.when)
        return
    if request.tag is None:
        _STEERING[request.action](session, run, caller)
        return
    others = [tag for tag in run.tags if tag != request.tag]
    if request.action == "untag":
        edits.update(session, run, RunUpdate(tags=others), caller)
    elif len(others) >= MAX_TAGS:
        raise Problem(422, "too_many_tags", f"the run has {MAX_TAGS} tags already: remove one first", field="tag")
    elif len(others) == len(run.tags):
        edits.update(session, run, RunUpdate(tags=[*others, request.tag]), caller)
