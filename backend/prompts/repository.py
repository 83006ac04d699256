"""SQL of prompts: their visits lie in the steps' rows."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.orm import Session


class Visits(NamedTuple):
    """All visits of a prompt, by step."""

    prompt_id: str
    steps: list[int]
    num_correct: list[int]
    sources: list[str]


_VISITS = """
    SELECT visit.prompt_id, array_agg(steps.step ORDER BY steps.step),
           array_agg(visit.num_correct ORDER BY steps.step), array_agg(visit.source ORDER BY steps.step)
    FROM steps, unnest(steps.prompt_ids, steps.prompt_num_correct, steps.prompt_sources)
                AS visit(prompt_id, num_correct, source)
    WHERE steps.run_id = :run_id {condition}
    GROUP BY visit.prompt_id ORDER BY visit.prompt_id LIMIT :limit
"""
_PAGE = text(
    _VISITS.format(
        condition="""
        AND (CAST(:after AS text) IS NULL OR visit.prompt_id > :after)
        AND (CAST(:search AS text) IS NULL OR position(lower(:search) IN lower(visit.prompt_id)) > 0)"""
    )
)
_ONE = text(_VISITS.format(condition="AND visit.prompt_id = :prompt_id"))


def page(session: Session, run_id: str, *, search: str | None, after: str | None, limit: int) -> list[Visits]:
    """Prompts by identifier, after one."""
    parameters = {"run_id": run_id, "search": search, "after": after, "limit": limit}
    return [Visits(*row) for row in session.execute(_PAGE, parameters)]


def one(session: Session, run_id: str, prompt_id: str) -> Visits | None:
    """One prompt."""
    row = session.execute(_ONE, {"run_id": run_id, "prompt_id": prompt_id, "limit": 1}).one_or_none()
    return None if row is None else Visits(*row)
