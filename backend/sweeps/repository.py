"""SQL of sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, defer

from backend.models import Run, RunGroup, Sweep, User
from bapo.api.runs import RunStatus


class SweepRow(NamedTuple):
    """A sweep with the names that its identifiers stand for."""

    sweep: Sweep
    name: str
    owner: str


def _visible() -> Select[Sweep, str, str]:
    """Sweeps with at least one run that the caller may see."""
    members = select(Run.id).where(Run.group_id == Sweep.id, Run.sweep_point.is_not(None))
    return (
        select(Sweep, RunGroup.name, User.name)
        .join(RunGroup, RunGroup.id == Sweep.id)
        .join(User, User.id == Sweep.owner_id)
        .where(members.exists())
    )


def page(session: Session, limit: int, after: tuple[str, str] | None) -> list[SweepRow]:
    """Newest first; `after` is moment and identifier of the last one of the page before."""
    query = _visible().order_by(Sweep.created_at.desc(), Sweep.id.desc()).limit(limit)
    if after is not None:
        moment, identifier = after
        is_older = (func.to_char(Sweep.created_at, MOMENT) < moment) | (
            (func.to_char(Sweep.created_at, MOMENT) == moment) & (Sweep.id < identifier)
        )
        query = query.where(is_older)
    return [SweepRow(*row) for row in session.execute(query)]


MOMENT = "YYYY-MM-DD HH24:MI:SS.US"
"""Sorts as time does."""


def get(session: Session, sweep_id: str) -> SweepRow | None:
    """One sweep, where the caller may see it."""
    found = session.execute(_visible().where(Sweep.id == sweep_id)).one_or_none()
    return None if found is None else SweepRow(*found)


def with_idempotency_key(session: Session, owner_id: str, key: str) -> Sweep | None:
    """The sweep that an earlier request with this key made."""
    return session.scalars(select(Sweep).where(Sweep.owner_id == owner_id, Sweep.idempotency_key == key)).one_or_none()


def add_group(session: Session, project_id: str, name: str) -> str | None:
    """Make the group of a sweep; None where the project has one of that name."""
    query = (
        insert(RunGroup)
        .values(project_id=project_id, name=name, kind="sweep")
        .on_conflict_do_nothing(constraint="uq_run_groups_project_id_name")
        .returning(RunGroup.id)
    )
    return session.scalars(query).one_or_none()


def runs(session: Session, sweep_id: str) -> Sequence[Run]:
    """The runs of a sweep in the order of its plan."""
    query = (
        select(Run)
        .where(Run.group_id == sweep_id, Run.sweep_point.is_not(None))
        .order_by(Run.sweep_position, Run.id)
        .options(defer(Run.config), defer(Run.explicit), defer(Run.diff), defer(Run.search_text))
    )
    return session.scalars(query).all()


class Progress(NamedTuple):
    """How far the runs of a sweep in one state are."""

    status: RunStatus
    num_runs: int
    steps_done: int
    steps_planned: int


def progress(session: Session, sweep_ids: Sequence[str]) -> dict[str, list[Progress]]:
    """By sweep."""
    query = (
        select(Run.group_id, Run.status, func.count(), func.sum(Run.step), func.sum(Run.num_steps))
        .where(Run.group_id.in_(sweep_ids), Run.sweep_point.is_not(None))
        .group_by(Run.group_id, Run.status)
    )
    found: dict[str, list[Progress]] = {}
    for sweep_id, status, num_runs, done, planned in session.execute(query):
        assert sweep_id is not None, "the query asks for these groups"
        found.setdefault(sweep_id, []).append(Progress(status, num_runs, int(done), int(planned)))
    return found
