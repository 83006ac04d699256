"""Creates runs from configs."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.files.resources.references import uses
from backend.files.resources.repository import note_use
from backend.identity.audit.repository import add_audit
from backend.identity.projects import choice
from backend.kit.events import announce_status
from backend.kit.principal import Principal
from backend.launch.configs import service as configs
from backend.models import Run
from backend.readings.prompt_lists import references as prompt_lists
from backend.runs import lifecycle, repository
from bapo.api.runs import RunCreate, RunStatus
from bapo.config import RunConfig


def create(session: Session, body: RunCreate, caller: Principal) -> Run:
    """Make a run, queued or as a draft. Raises ConfigError for a config that cannot run."""
    project = choice.for_new(session, caller, body.project, beside=configs.parent_project(session, body))
    checked = configs.check(session, body, project.id)
    # The run's own config has the list's entries; what it was made from, and what differs, names the list.
    config = prompt_lists.written_in(session, checked.resolution.config, project.id)
    run = new_run(session, body.name, config, caller, project_id=project.id, group=body.group)
    run.recipe = checked.recipe
    run.parent_id = checked.parent_id
    run.explicit = checked.resolution.explicit
    run.diff = dict(checked.diff)
    run.tags = list(body.tags)
    run.notes = body.notes
    run.priority = body.priority
    session.add(run)
    session.flush()
    note_use(session, run.id, {**uses(config), **prompt_lists.uses(config)})
    detail = {"recipe": run.recipe, "parent_id": run.parent_id, "changes": body.changes}
    add_audit(session, run.id, caller.name, "created", detail)
    if body.start:
        lifecycle.move(session, run, RunStatus.QUEUED, author=caller.name)
    else:
        announce_status(session, run)
    return run


def new_run(
    session: Session, name: str, config: RunConfig, caller: Principal, *, project_id: str, group: str | None
) -> Run:
    """Return a draft that is not in the session yet."""
    needs = config.needs
    return Run(
        project_id=project_id,
        owner_id=caller.id,
        group_id=None if group is None else repository.ensure_group(session, project_id, group),
        name=name,
        status=RunStatus.DRAFT,
        method=config.method.type,
        config=config.model_dump(mode="json"),
        explicit={},
        diff={},
        # With epochs the trainer says how many steps they are.
        num_steps=config.training.steps or 0,
        num_gpus_needed=needs.gpus,
        gpus_optional=needs.gpus_optional,
        memory_gib=needs.memory_gib,
        gpu_memory_gib=needs.gpu_memory_gib,
        num_cluster_gpus=needs.cluster_gpus,
        max_retries=config.resources.retries,
    )
