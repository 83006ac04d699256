"""Creates runs from configs, and forks, which start from another run's checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.orm import Session

from backend.files.resources.repository import note_use
from backend.identity.projects import choice
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.launch.configs import service as configs
from backend.launch.submissions import inheritance
from backend.models import Run, RunStorage
from backend.runs import lifecycle, repository
from backend.runs.access import require
from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunCreate, RunFork
from bapo.config import RunConfig
from bapo.config.resolve import difference


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
    _add(session, run, body, checked.uses)
    detail = {"recipe": run.recipe, "parent_id": run.parent_id, "changes": body.changes}
    lifecycle.begin(session, run, "created", author=caller.name, detail=detail, start=body.start)
    return run


def fork(session: Session, parent: Run, body: RunFork, caller: Principal) -> Run:
    """Make the run.

    Raises Problem 404 where the parent keeps no such checkpoint, ConfigError naming the fields that the checkpoint
    cannot continue with.
    """
    if parent.import_source is not None:
        remedy = "an imported run has no checkpoints here: clone it instead"
        raise Problem(409, "no_checkpoints", remedy, field="id", value=parent.id)
    require(parent, "fork")
    if not caller.may_write_in(parent.project_id):
        raise Problem(
            403, "forbidden", "you have read access only to this run's project: ask its administrators", field="id"
        )
    draft = ConfigDraft(parent_id=parent.id, changes=body.changes)
    checked = configs.check(session, draft, parent, parent.project_id, fork_step=body.step, for_run=True)
    config = checked.resolved.config
    run = repository.new_run(session, body.name, config, caller, project_id=parent.project_id, group=body.group)
    run.recipe, run.parent_id = parent.recipe, parent.id
    run.forked_from, run.fork_step = parent.id, body.step
    run.explicit, run.diff = checked.resolved.explicit, difference(config, RunConfig.model_validate(parent.config))
    run.num_steps = run.num_steps or parent.num_steps
    # A worker of this machine copies the checkpoint out of the parent's folder, now rather than when the run starts: a
    # parent that trains on takes its oldest checkpoints away.
    run.host = parent.host
    _add(session, run, body, checked.uses)
    session.add(RunStorage(run_id=run.id, is_folder_due=True))
    inheritance.inherit(session, run, parent, body.step)
    detail = {"parent_id": parent.id, "step": body.step, "changes": body.changes}
    lifecycle.begin(session, run, "forked", author=caller.name, detail=detail, start=body.start)
    return run


def _add(session: Session, run: Run, body: RunCreate | RunFork, uses: Mapping[str, str]) -> None:
    run.tags, run.notes, run.priority = list(body.tags), body.notes, body.priority
    session.add(run)
    session.flush()
    note_use(session, run.id, uses)
