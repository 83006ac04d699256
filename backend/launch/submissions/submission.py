"""Creates runs from configs."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.resources.repository import note_use
from backend.identity.projects import choice
from backend.kit.principal import Principal
from backend.launch.configs import service as configs
from backend.models import Run
from backend.runs import lifecycle, repository
from bapo.api.runs import RunCreate


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
