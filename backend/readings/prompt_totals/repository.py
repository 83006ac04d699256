"""SQL of totals: prompts of a project, and one prompt in its runs. None of it reads a visit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Float, Select, cast, func, or_, select
from sqlalchemy.orm import Session

from backend.models import ProjectPrompt, PromptTotals, Run
from bapo.api.prompts import ProjectPromptFilter


def _matching(project_id: str, wanted: ProjectPromptFilter) -> Select[ProjectPrompt]:
    prompt = ProjectPrompt
    query = select(prompt).where(prompt.project_id == project_id, prompt.num_runs >= wanted.min_runs)
    some = prompt.num_responses > 0
    match wanted.show:
        case "never_solved":
            query = query.where(some, prompt.num_correct == 0)
        case "always_solved":
            query = query.where(some, prompt.num_correct == prompt.num_responses)
        case "mixed":
            query = query.where(prompt.num_correct > 0, prompt.num_correct < prompt.num_responses)
        case "suspected":
            query = query.where(prompt.num_suspected > 0)
        case "disputed":
            query = query.where(prompt.num_never_solved > 0, prompt.num_always_solved > 0)
    if wanted.search:
        part = wanted.search.lower()
        # Folding the case of all languages takes three times as long, and an English word needs none of it.
        content = prompt.content.collate("C") if wanted.search.isascii() else prompt.content
        said = (func.lower(prompt.prompt_id), func.lower(content))
        query = query.where(or_(*(func.strpos(each, part) > 0 for each in said)))
    return query


def _order(wanted: ProjectPromptFilter) -> Sequence[ColumnElement[Any]]:
    prompt = ProjectPrompt
    key: ColumnElement[Any] = (
        cast(prompt.num_correct, Float) / func.nullif(prompt.num_responses, 0)
        if wanted.sort == "accuracy"
        else getattr(prompt, wanted.sort)
    )
    directed = key.desc() if wanted.descending else key.asc()
    return directed.nulls_last(), prompt.num_responses.desc(), prompt.id.asc()


def prompts(
    session: Session, project_id: str, wanted: ProjectPromptFilter, offset: int, limit: int
) -> tuple[Sequence[ProjectPrompt], int]:
    """Return a page of a project's prompts, and how many match on all pages."""
    query = _matching(project_id, wanted)
    total = session.scalars(select(func.count()).select_from(query.subquery())).one()
    return session.scalars(query.order_by(*_order(wanted)).offset(offset).limit(limit)).all(), total


def num_waiting(session: Session, project_id: str) -> int:
    """Return the number of runs of a project that have trained and are not counted yet."""
    counted = select(PromptTotals.run_id).where(PromptTotals.run_id == Run.id).exists()
    query = select(func.count()).select_from(Run).where(Run.project_id == project_id, Run.step > 0, ~counted)
    return session.scalars(query).one()


def one(session: Session, project_id: str, prompt_id: str) -> ProjectPrompt | None:
    """Return a prompt of a project, if a counted run visited it."""
    query = select(ProjectPrompt).where(
        ProjectPrompt.project_id == project_id, ProjectPrompt.prompt_id == prompt_id, ProjectPrompt.num_runs > 0
    )
    return session.scalars(query).one_or_none()


class InRun(NamedTuple):
    """A prompt's totals in a run, inherited steps included."""

    run_id: str
    run_name: str
    status: str
    method: str
    model_path: str | None
    created_at: datetime
    group_size: int
    inherited_steps: Sequence[int]
    """Steps that count in an older run."""
    num_visits: int
    own_visits: int
    num_evaluations: int
    num_correct: int
    first_correct: int
    last_correct: int
    last_step: int
    is_suspected: bool


def _holding(prompt: ProjectPrompt) -> Select[str]:
    totals = PromptTotals
    return select(totals.run_id).where(totals.project_id == prompt.project_id, totals.numbers.contains([prompt.id]))


def _place(prompt: ProjectPrompt) -> ColumnElement[int]:
    return func.array_position(PromptTotals.numbers, cast(prompt.id, BigInteger))


def num_holding(session: Session, prompt: ProjectPrompt) -> int:
    """Count the runs that visited the prompt or inherited visits of it."""
    return session.scalars(select(func.count()).select_from(_holding(prompt).subquery())).one()


def in_runs(
    session: Session, prompt: ProjectPrompt, offset: int, limit: int, *, answering: bool = False
) -> list[InRun]:
    """Return the prompt in its runs, the newest first; `answering` leaves out those that inherited all answers."""
    totals = PromptTotals
    place = _place(prompt)
    columns = (
        *("num_visits", "own_visits", "num_evaluations", "num_correct"),
        *("first_correct", "last_correct", "last_step"),
    )
    holding = _holding(prompt)
    newest = (
        (holding.where(totals.own_evaluations[place] > 0) if answering else holding)
        .join(Run, Run.id == totals.run_id)
        .order_by(Run.created_at.desc(), Run.id)
        .offset(offset)
        .limit(limit)
        .subquery()
    )
    query = (
        select(
            Run.id,
            Run.name,
            Run.status,
            Run.method,
            Run.config["model", "path"].as_string(),
            Run.created_at,
            totals.group_size,
            totals.inherited_steps,
            *(getattr(totals, name)[place] for name in columns),
            totals.is_suspected[place],
        )
        .join(totals, totals.run_id == Run.id)
        # Only the arrays of the runs that are shown are read.
        .where(totals.run_id.in_(select(newest.c.run_id)))
        .order_by(Run.created_at.desc(), Run.id)
    )
    return [InRun(*row) for row in session.execute(query)]
