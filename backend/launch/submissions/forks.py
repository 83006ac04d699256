"""Creates runs that start from another run's checkpoint."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.resources.repository import note_use
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.launch.configs import service as configs
from backend.launch.submissions import inheritance
from backend.models import Run, RunStorage
from backend.runs import lifecycle, repository
from backend.runs.access import require
from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunFork
from bapo.config import RunConfig
from bapo.config.resolve import difference


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
    run.tags, run.notes, run.priority = list(body.tags), body.notes, body.priority
    run.num_steps = run.num_steps or parent.num_steps
    # A worker of this machine copies the checkpoint out of the parent's folder, now rather than when the run starts: a
    # parent that trains on takes its oldest checkpoints away.
    run.host = parent.host
    session.add(run)
    session.flush()
    session.add(RunStorage(run_id=run.id, is_folder_due=True))
    note_use(session, run.id, checked.uses)
    inheritance.inherit(session, run, parent, body.step)
    detail = {"parent_id": parent.id, "step": body.step, "changes": body.changes}
    lifecycle.begin(session, run, "forked", author=caller.name, detail=detail, start=body.start)
    return run
