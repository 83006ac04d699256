"""SQL of studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, defer

from backend.kit.errors import existing
from backend.models import Project, Run, RunGroup, SparseRecord, Study, StudyRun, User
from bapo.api.runs import RunStatus


class StudyRow(NamedTuple):
    """A study with the names that its identifiers stand for."""

    study: Study
    title: str
    owner: str
    project: str


def _visible() -> Select[Study, str, str, str]:
    return (
        select(Study, RunGroup.name, User.name, Project.name)
        .join(RunGroup, RunGroup.id == Study.id)
        .join(User, User.id == Study.owner_id)
        .join(Project, Project.id == Study.project_id)
    )


def page(session: Session, limit: int, after: str | None) -> list[StudyRow]:
    """Return a page of studies, newest first; `after` is the last one of the page before."""
    query = _visible().order_by(Study.created_at.desc(), Study.id.desc()).limit(limit)
    if after is not None:
        last = select(Study.created_at).where(Study.id == after).scalar_subquery()
        query = query.where((Study.created_at < last) | ((Study.created_at == last) & (Study.id < after)))
    return [StudyRow(*row) for row in session.execute(query)]


def get(session: Session, study_id: str) -> StudyRow:
    """Return one study, where the caller may see it. Raises Problem 404."""
    found = session.execute(_visible().where(Study.id == study_id)).one_or_none()
    return StudyRow(*existing(found, "study", study_id))


def lock(session: Session, study_id: str) -> StudyRow | None:
    """Return a study, locked."""
    query = _visible().where(Study.id == study_id).with_for_update(of=Study)
    found = session.execute(query).one_or_none()
    return None if found is None else StudyRow(*found)


def add_group(session: Session, project_id: str, name: str) -> str | None:
    """Make the group of a study; None where the project has one of that name."""
    query = (
        insert(RunGroup)
        .values(project_id=project_id, name=name)
        .on_conflict_do_nothing(constraint="uq_run_groups_project_id_name")
        .returning(RunGroup.id)
    )
    return session.scalars(query).one_or_none()


class MadeRun(NamedTuple):
    """A run of a study; None for one that is not submitted, or was deleted."""

    name: str
    point: Mapping[str, Any]
    run: Run | None
    was_submitted: bool


def made_runs(session: Session, study_id: str) -> list[MadeRun]:
    """Return the runs of a study in the order of its plan, without their configs."""
    query = (
        select(StudyRun.name, StudyRun.point, Run, StudyRun.was_submitted)
        .join(Run, Run.id == StudyRun.run_id, isouter=True)
        .where(StudyRun.study_id == study_id)
        .order_by(StudyRun.position)
        .options(*(defer(column) for column in (Run.config, Run.explicit, Run.diff, Run.search_text)))
    )
    return [MadeRun(*row) for row in session.execute(query)]


class Progress(NamedTuple):
    """Progress of a study's runs in one state."""

    status: RunStatus | None
    """`None` for runs that are not submitted, or were deleted."""
    was_submitted: bool
    num_runs: int
    steps_done: int
    steps_planned: int
    most_steps: int
    """Planned steps of the longest."""


def progress(session: Session, study_ids: Sequence[str]) -> dict[str, list[Progress]]:
    """Return the progress by study."""
    # Steps that a fork has from its parent are no work of the study.
    begun = func.coalesce(Run.fork_step, 0)
    steps = func.coalesce(Run.num_steps, 0) - begun
    sums = (func.count(), func.sum(func.coalesce(Run.step, 0) - begun), func.sum(steps), func.max(steps))
    query = (
        select(StudyRun.study_id, Run.status, StudyRun.was_submitted, *sums)
        .join(Run, Run.id == StudyRun.run_id, isouter=True)
        .where(StudyRun.study_id.in_(study_ids))
        .group_by(StudyRun.study_id, Run.status, StudyRun.was_submitted)
        .order_by(StudyRun.study_id, Run.status, StudyRun.was_submitted)
    )
    found: dict[str, list[Progress]] = {study_id: [] for study_id in study_ids}
    for study_id, status, was_submitted, num_runs, done, planned, most in session.execute(query):
        found[study_id].append(Progress(status, was_submitted, num_runs, int(done), int(planned), most))
    return found


def unfinished(session: Session) -> Sequence[str]:
    """Return the studies that wait for a choice by tuning."""
    return session.scalars(select(Study.id).where(Study.choices.is_(None)).order_by(Study.created_at)).all()


def rows(session: Session, study_id: str) -> dict[str, StudyRun]:
    """Return the rows of a study's runs by name."""
    return {row.name: row for row in session.scalars(select(StudyRun).where(StudyRun.study_id == study_id))}


def runs_of(session: Session, run_ids: Sequence[str]) -> dict[str, Run]:
    """Return those of these runs that are there, by identifier."""
    return {run.id: run for run in session.scalars(select(Run).where(Run.id.in_(run_ids)))}


def continued(session: Session, runs: Sequence[Run]) -> dict[str, list[str]]:
    """Return the forks that continue a run after its last step, by that run, oldest first."""
    ends = {run.id: run.step for run in runs if run.step}
    query = (
        select(Run.forked_from, Run.fork_step, Run.id).where(Run.forked_from.in_(ends)).order_by(Run.created_at, Run.id)
    )
    found: dict[str, list[str]] = {run_id: [] for run_id in ends}
    for run_id, step, fork_id in session.execute(query):
        if run_id is not None and step == ends[run_id]:
            found[run_id].append(fork_id)
    return found


def configs(session: Session, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the config of each run."""
    found = session.execute(select(Run.id, Run.config).where(Run.id.in_(run_ids)))
    return {row.id: row.config for row in found}


def assessments(session: Session, run_ids: Sequence[str]) -> dict[str, list[dict[str, object]]]:
    """Return the evaluation and tracking records of runs, as they were recorded, by step."""
    query = (
        select(SparseRecord.run_id, SparseRecord.record)
        .where(SparseRecord.run_id.in_(run_ids), SparseRecord.type.in_(("evaluation", "tracking")))
        .order_by(SparseRecord.run_id, SparseRecord.step, SparseRecord.type, SparseRecord.identity)
    )
    found: dict[str, list[dict[str, object]]] = {run_id: [] for run_id in run_ids}
    for run_id, record in session.execute(query):
        found[run_id].append(record)
    return found


MOST_EARLIER = 400
"""Newest runs that are looked at."""


def ended_configs(session: Session, project_id: str, recipe: str) -> dict[str, dict[str, Any]]:
    """Return the configs of a recipe's runs in a project that trained to their ends, newest first."""
    found = session.execute(
        select(Run.id, Run.config)
        .where(Run.project_id == project_id, Run.recipe == recipe, Run.status == RunStatus.SUCCEEDED)
        .order_by(Run.created_at.desc(), Run.id)
        .limit(MOST_EARLIER)
    )
    return {row.id: row.config for row in found}
