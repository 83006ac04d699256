"""Creates runs from configs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from backend.files.resources.repository import note_use
from backend.identity.projects import choice
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.launch.configs import service as configs
from backend.models import Run
from backend.runs import lifecycle, repository
from backend.runs.access import require_out_of_trash
from bapo.api.runs import RunCreate


@dataclass(frozen=True)
class Submission:
    """A request for a run, and the key that makes it safe to send twice."""

    body: RunCreate
    idempotency_key: str | None

    @property
    def digest(self) -> str:
        """Tells whether a second request with the key is the same."""
        return hashlib.sha256(self.body.model_dump_json().encode()).hexdigest()


def submit(session: Session, submission: Submission, caller: Principal) -> Run:
    """Make a run, queued or as a draft; with a known idempotency key, find the one made before.

    Raises ConfigError for a config that cannot run, Problem 409 for a key that came with another body.
    """
    return once(
        session,
        caller,
        submission.idempotency_key,
        submission.digest,
        lambda: create(session, submission.body, caller),
    )


def once(session: Session, caller: Principal, key: str | None, digest: str, create: Callable[[], Run]) -> Run:
    """Create a run, or find the one that an earlier request with this key created.

    `digest` tells whether it was the same request. Raises Problem 409 where it was not.
    """
    if key is None:
        return create()
    if (known := repository.with_idempotency_key(session, caller.id, key)) is not None:
        return _same(known, key, digest, caller)
    try:
        with session.begin_nested():
            run = create()
            run.idempotency_key, run.request_hash = key, digest
            session.flush()
            return run
    except IntegrityError:
        # Another request with the key was quicker.
        known = repository.with_idempotency_key(session, caller.id, key)
        if known is None:
            raise
        return _same(known, key, digest, caller)


def _same(run: Run, key: str, digest: str, caller: Principal) -> Run:
    if not caller.sees(run.project_id):
        remedy = "this key was used for a run in a project that you have left: use a new key"
        raise Problem(409, "idempotency_key_reused", remedy, field="Idempotency-Key", value=key)
    if run.request_hash != digest:
        remedy = f"this key was used for run {run.id} with a different body: use a new key"
        raise Problem(409, "idempotency_key_reused", remedy, field="Idempotency-Key", value=key)
    require_out_of_trash(run, "Idempotency-Key", key)
    return run


def create(session: Session, body: RunCreate, caller: Principal) -> Run:
    """Make a run. Raises ConfigError for a config that cannot run."""
    parent = repository.parent_of(session, body)
    beside = None if parent is None else parent.project_id
    project = choice.for_new(session, caller, body.project, beside=beside)
    checked = configs.check(session, body, parent, project.id, for_run=True)
    config = checked.resolved.config
    run = repository.new_run(session, body.name, config, caller, project_id=project.id, group=body.group)
    run.recipe, run.parent_id = checked.recipe, body.parent_id
    run.explicit, run.diff = checked.resolved.explicit, checked.diff
    run.tags, run.notes, run.priority = list(body.tags), body.notes, body.priority
    session.add(run)
    session.flush()
    note_use(session, run.id, checked.uses)
    detail = {"recipe": run.recipe, "parent_id": run.parent_id, "changes": body.changes}
    lifecycle.begin(session, run, "created", author=caller.name, detail=detail, start=body.start)
    return run
