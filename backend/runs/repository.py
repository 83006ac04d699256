"""SQL of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Select, delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.errors import not_found
from backend.models import Attempt, AuditRow, Control, Project, Run, RunGroup, User, Worker


class RunRow(NamedTuple):
    """A run with the names that its identifiers stand for."""

    run: Run
    owner: str
    group: str | None


def rows() -> Select[Run, str, str | None]:
    """The query of `RunRow`s, to be filtered."""
    # NULL where the outer join finds no group, which the column's own type does not say.
    group_name = cast(ColumnElement[str | None], RunGroup.name.expression)
    return (
        select(Run, User.name, group_name)
        .join(User, Run.owner_id == User.id)
        .join(RunGroup, Run.group_id == RunGroup.id, isouter=True)
    )


def row(session: Session, run_id: str) -> RunRow:
    """One run. Raises Problem 404."""
    found = session.execute(rows().where(Run.id == run_id)).one_or_none()
    if found is None:
        raise not_found("run", run_id)
    run, owner, group = found
    return RunRow(run, owner, group)


def get(session: Session, run_id: str) -> Run:
    """One run without its names. Raises Problem 404."""
    run = session.get(Run, run_id)
    if run is None:
        raise not_found("run", run_id)
    return run


def lock(session: Session, run_id: str) -> Run:
    """One run, held against every other change until the transaction ends. Raises Problem 404."""
    query = select(Run).where(Run.id == run_id).with_for_update(key_share=True)
    run = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    if run is None:
        raise not_found("run", run_id)
    return run


def with_idempotency_key(session: Session, owner_id: str, key: str) -> Run | None:
    """The run that an earlier request with this key made."""
    query = select(Run).where(Run.owner_id == owner_id, Run.idempotency_key == key)
    return session.scalars(query).one_or_none()


def with_import_source(session: Session, project_id: str, source: str) -> Run | None:
    """The run that this folder was imported into."""
    query = select(Run).where(Run.project_id == project_id, Run.import_source == source)
    return session.scalars(query).one_or_none()


def default_project_id(session: Session) -> str:
    """The project that runs go to as long as there is one only."""
    return session.scalars(select(Project.id).order_by(Project.created_at).limit(1)).one()


def ensure_group(session: Session, project_id: str, name: str) -> str:
    """Identifier of the group of that name, made where missing."""
    values = {"project_id": project_id, "name": name}
    session.execute(insert(RunGroup).values(values).on_conflict_do_nothing(constraint="uq_run_groups_project_id_name"))
    query = select(RunGroup.id).where(RunGroup.project_id == project_id, RunGroup.name == name)
    return session.scalars(query).one()


def delete_run(session: Session, run: Run) -> None:
    """Forget a run with everything that it recorded."""
    session.execute(delete(Run).where(Run.id == run.id))


# ---------------------------------------------------------------- attempts


def attempt(session: Session, run: Run) -> Attempt | None:
    """The newest claimed attempt."""
    return session.get(Attempt, (run.id, run.attempt))


def assigned_attempt(session: Session, run: Run) -> Attempt | None:
    """The attempt that a worker was promised and has not claimed."""
    query = select(Attempt).where(Attempt.run_id == run.id, Attempt.state == "assigned")
    return session.scalars(query).one_or_none()


def worker_name(session: Session, run: Run) -> str | None:
    """The worker of the newest attempt, claimed or promised."""
    query = (
        select(Worker.name)
        .join(Attempt, Attempt.worker_id == Worker.id)
        .where(Attempt.run_id == run.id)
        .order_by(Attempt.number.desc())
        .limit(1)
    )
    return session.scalars(query).one_or_none()


# ---------------------------------------------------------------- controls and audit


def controls(session: Session, run_id: str) -> Sequence[Control]:
    """All requests, oldest first."""
    query = select(Control).where(Control.run_id == run_id).order_by(Control.created_at, Control.id)
    return session.scalars(query).all()


def open_changes(session: Session, run_id: str) -> Sequence[Control]:
    """Parameter changes that hold, or may come to hold, in the order in which they do."""
    query = (
        select(Control)
        .where(Control.run_id == run_id, Control.kind == "change", Control.state != "refused")
        .order_by(Control.created_at, Control.id)
    )
    return session.scalars(query).all()


def pending_stops(session: Session, run_id: str) -> Sequence[Control]:
    """Stops and pauses without an answer."""
    query = select(Control).where(
        Control.run_id == run_id, Control.kind.in_(("stop", "pause")), Control.state == "pending"
    )
    return session.scalars(query).all()


def pending_controls(session: Session, run_ids: Sequence[str]) -> Sequence[Control]:
    """Requests that the trainers have not answered."""
    query = (
        select(Control)
        .where(Control.run_id.in_(run_ids), Control.state == "pending")
        .order_by(Control.created_at, Control.id)
    )
    return session.scalars(query).all()


def add_audit(session: Session, run_id: str | None, author: str, action: str, detail: dict[str, Any]) -> None:
    """Note who did what."""
    session.add(AuditRow(run_id=run_id, author=author, action=action, detail=detail))


def audit(session: Session, run_id: str) -> Sequence[AuditRow]:
    """What was done to a run, oldest first."""
    return session.scalars(select(AuditRow).where(AuditRow.run_id == run_id).order_by(AuditRow.id)).all()


_RECORDED_TIMES = text("""
    SELECT to_timestamp(min(at)), to_timestamp(max(at)) FROM (
        SELECT (record #>> '{timing,unix_time}')::float8 AS at FROM sparse_records WHERE run_id = :run_id
        UNION ALL SELECT (record #>> '{timing,unix_time}')::float8 FROM steps WHERE run_id = :run_id
    ) AS times
""")


def recorded_times(session: Session, run: Run) -> tuple[datetime | None, datetime | None]:
    """When a run began and ended by its own records."""
    first, last = session.execute(_RECORDED_TIMES, {"run_id": run.id}).one()
    return first, last


def clock(session: Session) -> datetime:
    """The database's clock, the only one that is compared with."""
    return session.scalars(select(func.now())).one()
