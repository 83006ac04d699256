"""SQL of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, case, delete, func, or_, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, defer

from backend.kit import events
from backend.kit.errors import Problem, existing
from backend.kit.principal import Principal
from backend.models import (
    Attempt,
    Control,
    Project,
    Run,
    RunFindings,
    RunGroup,
    RunStar,
    RunStorage,
    StudyRun,
    User,
    Worker,
)
from backend.runs.usage import Usage, usage_of
from bapo.analysis.result import AppliedChange
from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunStatus
from bapo.config import RunConfig
from bapo.config.resolve import config_digest


class RunRow(NamedTuple):
    """A run with the names that its identifiers stand for, and what other tables know of it."""

    run: Run
    owner: str
    group: str | None
    project: str
    usage: Usage = Usage()
    is_starred: bool = False
    """By the caller."""
    storage_bytes: int | None = None
    """Size of folder and records, in bytes; `None` before they were measured."""
    num_findings: int | None = None
    """Number of findings; `None` before the run was checked."""
    gravest_finding: str | None = None
    values: Mapping[str, Any] = MappingProxyType({})
    """Config fields and metrics that were asked for, by column."""


def rows(*, with_config: bool = True) -> Select[Run, str, str | None, str]:
    """Return the query of runs with their names, to be filtered; without their configs, which lists do not need."""
    # NULL where the outer join finds no group, which the column's own type does not say.
    group_name = cast(ColumnElement[str | None], RunGroup.name.expression)
    unread = [] if with_config else [Run.config, Run.explicit, Run.diff]
    return (
        select(Run, User.name, group_name, Project.name)
        .join(User, Run.owner_id == User.id)
        .join(Project, Run.project_id == Project.id)
        .join(RunGroup, Run.group_id == RunGroup.id, isouter=True)
        .options(*(defer(column, raiseload=True) for column in unread), defer(Run.search_text))
    )


def completed(session: Session, found: Sequence[RunRow], viewer_id: str) -> list[RunRow]:
    """Return the rows with their compute hours, their size, their last findings and this caller's stars."""
    run_ids = [row.run.id for row in found]
    used = usage_of(session, run_ids)
    starred = set(
        session.scalars(select(RunStar.run_id).where(RunStar.user_id == viewer_id, RunStar.run_id.in_(run_ids)))
    )
    sizes = _bytes_of(session, run_ids)
    found_in = _found_in(session, run_ids)
    return [
        row._replace(
            usage=used.get(row.run.id, Usage()),
            is_starred=row.run.id in starred,
            storage_bytes=sizes.get(row.run.id),
            num_findings=len(found_in[row.run.id]) if row.run.id in found_in else None,
            gravest_finding=next((each["severity"] for each in found_in.get(row.run.id, ())), None),
        )
        for row in found
    ]


def _found_in(session: Session, run_ids: Sequence[str]) -> dict[str, Sequence[dict[str, str]]]:
    """Return the findings of these runs when they were last checked, most severe first."""
    query = select(RunFindings.run_id, RunFindings.found).where(RunFindings.run_id.in_(run_ids))
    return dict(session.execute(query).all())


def row(session: Session, run_id: str, viewer_id: str) -> RunRow:
    """Return one run for this caller. Raises Problem 404."""
    found = session.execute(rows().where(Run.id == run_id)).one_or_none()
    if found is None and is_in_trash(session, run_id):
        remedy = "this run is in the trash: restore it to see it"
        raise Problem(404, "in_trash", remedy, field="id", value=run_id)
    return completed(session, [RunRow(*existing(found, "run", run_id))], viewer_id)[0]


def set_star(session: Session, run_id: str, user_id: str, *, is_starred: bool) -> None:
    """Star a run for a user, or remove the star."""
    if is_starred:
        session.execute(insert(RunStar).values(run_id=run_id, user_id=user_id).on_conflict_do_nothing())
    else:
        session.execute(delete(RunStar).where(RunStar.run_id == run_id, RunStar.user_id == user_id))


def get(session: Session, run_id: str) -> Run:
    """Return one run without its names. Raises Problem 404."""
    return existing(session.get(Run, run_id), "run", run_id)


def parent_of(session: Session, draft: ConfigDraft) -> Run | None:
    """Return the run that a draft starts from; `None` if it starts from a recipe. Raises Problem 404."""
    # Both a recipe and a parent are refused by the check of the draft.
    return None if draft.parent_id is None or draft.recipe is not None else get(session, draft.parent_id)


def lock(session: Session, run_id: str) -> Run:
    """Return one run, held against every other change until the transaction ends. Raises Problem 404."""
    query = select(Run).where(Run.id == run_id).with_for_update(key_share=True)
    return existing(session.scalars(query.execution_options(populate_existing=True)).one_or_none(), "run", run_id)


def with_import_source(session: Session, project_id: str, source: str) -> Run | None:
    """Return the run that this folder was imported into."""
    query = select(Run).where(Run.project_id == project_id, Run.import_source == source)
    return session.scalars(query.execution_options(with_trash=True)).one_or_none()


def is_in_trash(session: Session, run_id: str) -> bool:
    """Return whether a run that this session does not find waits in the trash."""
    query = select(Run.id).where(Run.id == run_id, Run.trashed_at.is_not(None))
    return session.scalars(query.execution_options(with_trash=True)).one_or_none() is not None


def new_run(
    session: Session, name: str, config: RunConfig, caller: Principal, *, project_id: str, group: str | None
) -> Run:
    """Return a draft that is not in the session yet."""
    needs, values = config.needs, config.model_dump(mode="json")
    return Run(
        project_id=project_id,
        owner_id=caller.id,
        group_id=None if group is None else ensure_group(session, project_id, group),
        name=name,
        status=RunStatus.DRAFT,
        method=config.method.type,
        config=values,
        config_digest=config_digest(values),
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


def ensure_group(session: Session, project_id: str, name: str) -> str:
    """Return the ID of the group of that name, made if missing."""
    values = {"project_id": project_id, "name": name}
    session.execute(insert(RunGroup).values(values).on_conflict_do_nothing(constraint="uq_run_groups_project_id_name"))
    query = select(RunGroup.id).where(RunGroup.project_id == project_id, RunGroup.name == name)
    return session.scalars(query).one()


def study_of(session: Session, run_id: str) -> str | None:
    """Return the ID of the study that a run is a part of."""
    return session.scalars(select(StudyRun.study_id).where(StudyRun.run_id == run_id)).one_or_none()


def delete_run(session: Session, run: Run) -> None:
    """Delete a run and its records; announced to every server process on commit."""
    session.execute(delete(Run).where(Run.id == run.id))
    events.announce_deletion(session, run.id)


# ---------------------------------------------------------------- attempts


def attempt(session: Session, run: Run) -> Attempt | None:
    """Return the newest claimed attempt."""
    return session.get(Attempt, (run.id, run.attempt))


def assigned_attempt(session: Session, run: Run) -> Attempt | None:
    """Return the attempt that a worker was promised and has not claimed."""
    query = select(Attempt).where(Attempt.run_id == run.id, Attempt.state == "assigned")
    return session.scalars(query).one_or_none()


def newest_worker(session: Session, run: Run) -> tuple[str | None, float | None]:
    """Return the worker of the newest attempt, claimed or promised, and about how long that takes to stop while it
    trains."""
    query = (
        select(Worker.name, case((Attempt.state != "ended", Attempt.stop_seconds)))
        .join(Attempt, Attempt.worker_id == Worker.id)
        .where(Attempt.run_id == run.id)
        .order_by(Attempt.number.desc())
        .limit(1)
    )
    found = session.execute(query).one_or_none()
    return (None, None) if found is None else (found[0], found[1])


# ---------------------------------------------------------------- controls


def controls(session: Session, run_id: str) -> Sequence[Control]:
    """Return all requests, oldest first."""
    query = select(Control).where(Control.run_id == run_id).order_by(Control.created_at, Control.id)
    return session.scalars(query).all()


def applied_changes(session: Session, run_ids: Sequence[str]) -> dict[str, list[AppliedChange]]:
    """Return the parameter changes that trainers applied, by run, in the order in which they took effect."""
    query = (
        select(Control)
        .where(Control.run_id.in_(run_ids), Control.kind == "change", Control.state == "applied")
        .order_by(Control.applied_step, Control.created_at, Control.id)
    )
    found: dict[str, list[AppliedChange]] = {run_id: [] for run_id in run_ids}
    for row in session.scalars(query):
        found[row.run_id].append(AppliedChange(step=row.applied_step or 0, set=row.changes, author=row.author))
    return found


def open_changes(session: Session, run_id: str) -> Sequence[Control]:
    """Return the parameter changes that are or may become effective, in that order."""
    query = (
        select(Control)
        .where(Control.run_id == run_id, Control.kind == "change", Control.state.not_in(("refused", "withdrawn")))
        .order_by(Control.created_at, Control.id)
    )
    return session.scalars(query).all()


def pending_stops(session: Session, run_id: str) -> Sequence[Control]:
    """Return the stops and pauses without an answer."""
    query = select(Control).where(
        Control.run_id == run_id, Control.kind.in_(("stop", "pause")), Control.state == "pending"
    )
    return session.scalars(query).all()


def settled_controls(session: Session, run_id: str) -> Sequence[str]:
    """Return the IDs of the requests that no trainer needs to answer: the run has stopped, or they were withdrawn."""
    is_over = Control.kind.in_(("stop", "pause")) & (Control.state != "pending")
    query = select(Control.id).where(Control.run_id == run_id, is_over | (Control.state == "withdrawn"))
    return session.scalars(query.order_by(Control.created_at, Control.id)).all()


def pending_controls(session: Session, run_ids: Sequence[str]) -> Sequence[Control]:
    """Return the requests that the trainers have not answered."""
    query = (
        select(Control)
        .where(Control.run_id.in_(run_ids), Control.state == "pending")
        .order_by(Control.created_at, Control.id)
    )
    return session.scalars(query).all()


_RECORDED_TIMES = text("""
    SELECT to_timestamp(min(at)), to_timestamp(max(at)) FROM (
        SELECT (record #>> '{timing,unix_time}')::float8 AS at FROM sparse_records WHERE run_id = :run_id
        UNION ALL SELECT unix_time FROM steps WHERE run_id = :run_id
    ) AS times
""")


def recorded_times(session: Session, run: Run) -> tuple[datetime | None, datetime | None]:
    """Start and end of a run by its own records."""
    first, last = session.execute(_RECORDED_TIMES, {"run_id": run.id}).one()
    return first, last


def _bytes_of(session: Session, run_ids: Sequence[str]) -> dict[str, int]:
    """Return the measured sizes of these runs' folders and records."""
    size = func.coalesce(RunStorage.folder_bytes, 0) + func.coalesce(RunStorage.database_bytes, 0)
    query = select(RunStorage.run_id, size).where(RunStorage.run_id.in_(run_ids))
    query = query.where(or_(RunStorage.folder_bytes.is_not(None), RunStorage.database_bytes.is_not(None)))
    return {run_id: int(num_bytes) for run_id, num_bytes in session.execute(query)}
