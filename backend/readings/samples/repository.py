"""SQL of the responses kept as text, and of what prompts say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVarTuple

from sqlalchemy import Select, func, select, text, tuple_
from sqlalchemy.orm import Session

from backend.models import PromptText, Sample
from bapo.rollout import BatchSource

Columns = TypeVarTuple("Columns")


class Place(NamedTuple):
    """Place of a group in the order of a run's groups."""

    step: int
    position: int


class Wanted(NamedTuple):
    """Filters of a run's groups; None matches all."""

    run_id: str
    prompt_id: str | None = None
    source: BatchSource | None = None
    min_correct: int | None = None
    max_correct: int | None = None
    first_step: int | None = None
    last_step: int | None = None


def _where(query: Select[*Columns], wanted: Wanted) -> Select[*Columns]:
    query = query.where(Sample.run_id == wanted.run_id)
    for value, matches in (
        (wanted.prompt_id, Sample.prompt_id.__eq__),
        (wanted.source, Sample.source.__eq__),
        (wanted.min_correct, Sample.num_correct.__ge__),
        (wanted.max_correct, Sample.num_correct.__le__),
        (wanted.first_step, Sample.step.__ge__),
        (wanted.last_step, Sample.step.__le__),
    ):
        if value is not None:
            query = query.where(matches(value))
    return query


def _newest_first(query: Select[*Columns], after: Place | None, limit: int) -> Select[*Columns]:
    if after is not None:
        query = query.where(tuple_(Sample.step, Sample.position) < after)
    return query.order_by(Sample.step.desc(), Sample.position.desc()).limit(limit)


def page(session: Session, wanted: Wanted, after: Place | None, limit: int) -> list[tuple[Place, dict[str, Any]]]:
    """Return a page of groups, newest step first, with their places."""
    query = _where(select(Sample.step, Sample.position, Sample.record), wanted)
    rows = session.execute(_newest_first(query, after, limit))
    return [(Place(step, position), record) for step, position, record in rows]


def count(session: Session, wanted: Wanted) -> int:
    """Return the number of matching groups."""
    return int(session.scalars(_where(select(func.count()).select_from(Sample), wanted)).one())


def sizes(session: Session, wanted: Wanted, after: Place | None, limit: int) -> list[tuple[Place, int]]:
    """Return the places of groups, newest step first, and the bytes that each takes where it is stored."""
    query = _where(select(Sample.step, Sample.position, func.pg_column_size(Sample.record)), wanted)
    return [
        (Place(step, position), size) for step, position, size in session.execute(_newest_first(query, after, limit))
    ]


_SAYS = """
    (strpos(lower((samples.record ->> 'prompt') {collation}), lower(:part)) > 0
     OR EXISTS (SELECT FROM jsonb_array_elements(samples.record -> 'responses') AS response
                WHERE strpos(lower((response ->> 'text') {collation}), lower(:part)) > 0))
"""
_SAYS_ASCII, _SAYS_ANY = (text(_SAYS.format(collation=collation)) for collation in ('COLLATE "C"', ""))
"""Folding the case of all languages takes several times as long, and an English word needs none of it."""


def saying(
    session: Session, wanted: Wanted, part: str, after: Place | None, until: Place, limit: int
) -> list[tuple[Place, dict[str, Any]]]:
    """Return the groups up to a place whose prompt or responses contain the text, in any case."""
    says = _SAYS_ASCII if part.isascii() else _SAYS_ANY
    query = _where(select(Sample.step, Sample.position, Sample.record), wanted)
    query = query.where(tuple_(Sample.step, Sample.position) >= until, says.bindparams(part=part))
    rows = session.execute(_newest_first(query, after, limit))
    return [(Place(step, position), record) for step, position, record in rows]


class Steps(NamedTuple):
    """Steps of which groups are stored; None where there is none."""

    first: int | None
    newest: int | None
    previous: int | None
    """Before the step at hand."""
    next: int | None


def steps_around(session: Session, wanted: Wanted, step: int | None) -> Steps:
    """Return the first and the last step with such groups, and the neighbours of a step, or of the newest."""
    everywhere = wanted._replace(first_step=None, last_step=None)
    ends = session.execute(_where(select(func.min(Sample.step), func.max(Sample.step)), everywhere)).one()
    here = step if step is not None else ends[1]
    if here is None:
        return Steps(None, None, None, None)
    before = _where(select(func.max(Sample.step)), everywhere).where(Sample.step < here)
    behind = _where(select(func.min(Sample.step)), everywhere).where(Sample.step > here)
    return Steps(ends[0], ends[1], session.scalars(before).one(), session.scalars(behind).one())


def beginnings(session: Session, run_id: str, prompt_ids: Sequence[str], num_letters: int) -> dict[str, str]:
    """Return the beginnings of the stored texts of these prompts."""
    query = select(PromptText.prompt_id, func.left(PromptText.content, num_letters)).where(
        PromptText.run_id == run_id, PromptText.prompt_id.in_(prompt_ids)
    )
    return dict(session.execute(query).all())
