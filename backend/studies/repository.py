"""SQL of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Select, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.models import Project, Run, RunGroup, SparseRecord, Study, StudyRun, User


class StudyRow(NamedTuple):
    """A study with the names that its identifiers stand for."""

    study: Study
    owner: str
    project: str


def _visible() -> Select[Study, str, str]:
    return (
        select(Study, User.name, Project.name)
        .join(User, User.id == Study.owner_id)
        .join(Project, Project.id == Study.project_id)
    )


def page(session: Session, limit: int, after: str | None) -> list[StudyRow]:
    """Newest first; `after` is the last one of the page before."""
    query = _visible().order_by(Study.created_at.desc(), Study.id.desc()).limit(limit)
    if after is not None:
        last = select(Study.created_at).where(Study.id == after).scalar_subquery()
        query = query.where((Study.created_at < last) | ((Study.created_at == last) & (Study.id < after)))
    return [StudyRow(*row) for row in session.execute(query)]


def get(session: Session, study_id: str) -> StudyRow | None:
    """One study, where the caller may see it."""
    found = session.execute(_visible().where(Study.id == study_id)).one_or_none()
    return None if found is None else StudyRow(*found)


def add_group(session: Session, project_id: str, name: str) -> str | None:
    """Make the group of a study; None where the project has one of that name."""
    query = (
        insert(RunGroup)
        .values(project_id=project_id, name=name, kind="study")
        .on_conflict_do_nothing(constraint="uq_run_groups_project_id_name")
        .returning(RunGroup.id)
    )
    return session.scalars(query).one_or_none()


class MadeRun(NamedTuple):
    """A run of a study; None for one that is not submitted, or was deleted."""

    name: str
    run: Run | None
    was_submitted: bool


def made_runs(session: Session, study_ids: Sequence[str]) -> dict[str, list[MadeRun]]:
    """By study, in the order of the plan."""
    query = (
        select(StudyRun.study_id, StudyRun.name, Run, StudyRun.was_submitted)
        .join(Run, Run.id == StudyRun.run_id, isouter=True)
        .where(StudyRun.study_id.in_(study_ids))
        .order_by(StudyRun.study_id, StudyRun.position)
    )
    found: dict[str, list[MadeRun]] = {study_id: [] for study_id in study_ids}
    for study_id, name, run, was_submitted in session.execute(query):
        found[study_id].append(MadeRun(name, run, was_submitted))
    return found


def unfinished(session: Session) -> Sequence[str]:
    """Studies that wait for what tuning chooses."""
    return session.scalars(select(Study.id).where(Study.choices.is_(None)).order_by(Study.created_at)).all()


def lock(session: Session, study_id: str) -> StudyRow | None:
    """A study that nobody else changes meanwhile."""
    query = _visible().where(Study.id == study_id).with_for_update(of=Study)
    found = session.execute(query).one_or_none()
    return None if found is None else StudyRow(*found)


def rows(session: Session, study_id: str) -> dict[str, StudyRun]:
    """The rows of a study's runs by name."""
    return {row.name: row for row in session.scalars(select(StudyRun).where(StudyRun.study_id == study_id))}


def assessments(session: Session, run_ids: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """Evaluation and tracking records of runs, as they were recorded, by step."""
    query = (
        select(SparseRecord.run_id, SparseRecord.record)
        .where(SparseRecord.run_id.in_(run_ids), SparseRecord.type.in_(("evaluation", "tracking")))
        .order_by(SparseRecord.run_id, SparseRecord.step, SparseRecord.type, SparseRecord.identity)
    )
    found: dict[str, list[dict[str, object]]] = {run_id: [] for run_id in run_ids}
    for run_id, record in session.execute(query):
        found[run_id].append(record)
    return found
