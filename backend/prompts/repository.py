"""SQL of prompts: texts, reasons for not being trained on, tracked accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from backend.models import PromptText, Run


def beginnings(session: Session, run_id: str, prompt_ids: Sequence[str], num_letters: int) -> dict[str, str]:
    """Beginnings of the stored texts of these prompts."""
    query = select(PromptText.prompt_id, func.left(PromptText.content, num_letters)).where(
        PromptText.run_id == run_id, PromptText.prompt_id.in_(prompt_ids)
    )
    return dict(session.execute(query).all())


def whole_text(session: Session, run_id: str, prompt_id: str) -> PromptText | None:
    """A prompt's text and answer, if a group of it was stored."""
    return session.get(PromptText, (run_id, prompt_id))


def saying(session: Session, run_id: str, part: str) -> frozenset[str]:
    """Prompts whose text contains this, whatever its case. A scan of the run's texts, which are one per prompt."""
    # Folding the case of all languages takes three times as long, and an English word needs none of it.
    content = PromptText.content.collate("C") if part.isascii() else PromptText.content
    query = select(PromptText.prompt_id).where(
        PromptText.run_id == run_id, func.strpos(func.lower(content), func.lower(part)) > 0
    )
    return frozenset(session.scalars(query))


class VisitRow(NamedTuple):
    """A visit as the trainer recorded it."""

    step: int
    source: str
    num_correct: int
    policy_version: int
    in_batch: bool
    reason: str | None


_VISITS = text("""
    SELECT steps.step, visit.source, visit.num_correct, visit.policy_version, visit.in_batch, visit.reason
    FROM steps, unnest(steps.prompt_ids, steps.prompt_sources, steps.prompt_num_correct, steps.prompt_policy_versions,
                       steps.prompt_in_batch, steps.prompt_reasons) WITH ORDINALITY
                AS visit(prompt_id, source, num_correct, policy_version, in_batch, reason, place)
    WHERE steps.run_id = :run_id AND steps.step = ANY(:steps) AND visit.prompt_id = :prompt_id
    ORDER BY steps.step, visit.place
""")


def visits(session: Session, run_id: str, prompt_id: str, steps: Sequence[int]) -> list[VisitRow]:
    """A prompt's visits in these steps."""
    rows = session.execute(_VISITS, {"run_id": run_id, "prompt_id": prompt_id, "steps": list(steps)})
    return [VisitRow(*row) for row in rows]


class TrackingRow(NamedTuple):
    """A prompt sampled apart from training."""

    step: int
    replicate: int
    num_correct: int
    group_size: int


_TRACKINGS = text("""
    SELECT step, CAST(record ->> 'replicate' AS integer),
           CAST(record -> 'num_correct' ->> CAST(tracked.place - 1 AS integer) AS integer),
           CAST(record ->> 'group_size' AS integer)
    FROM sparse_records, jsonb_array_elements_text(record -> 'prompt_ids') WITH ORDINALITY AS tracked(prompt_id, place)
    WHERE run_id = :run_id AND type = 'tracking' AND record -> 'prompt_ids' ? :prompt_id
          AND tracked.prompt_id = :prompt_id
    ORDER BY 1, 2
""")


def trackings(session: Session, run_id: str, prompt_id: str) -> list[TrackingRow]:
    """A prompt's samplings apart from training; none where it is not tracked."""
    rows = session.execute(_TRACKINGS, {"run_id": run_id, "prompt_id": prompt_id})
    return [TrackingRow(*row) for row in rows]


class CourseRow(NamedTuple):
    """A prompt in a run."""

    run_id: str
    num_visits: int
    evaluated: list[int] | None
    """Correct responses at each evaluation, by step; None without any."""
    known: list[int]
    """The same of each visit."""
    last_step: int


_COURSES = text("""
    SELECT steps.run_id, count(*),
           array_agg(visit.num_correct ORDER BY steps.step, visit.place) FILTER (WHERE visit.source <> 'reused'),
           array_agg(visit.num_correct ORDER BY steps.step, visit.place), max(steps.step)
    FROM steps, unnest(steps.prompt_ids, steps.prompt_sources, steps.prompt_num_correct) WITH ORDINALITY
                AS visit(prompt_id, source, num_correct, place)
    WHERE steps.run_id = ANY(:run_ids) AND :prompt_id = ANY(steps.prompt_ids) AND visit.prompt_id = :prompt_id
    GROUP BY steps.run_id
""")


def newest_runs(session: Session, limit: int) -> list[Run]:
    """Runs that have trained, newest first."""
    query = select(Run).where(Run.step > 0).order_by(Run.created_at.desc(), Run.id).limit(limit)
    return list(session.scalars(query))


def courses(session: Session, run_ids: Sequence[str], prompt_id: str) -> dict[str, CourseRow]:
    """Summaries of a prompt in the runs that visited it."""
    rows = session.execute(_COURSES, {"run_ids": list(run_ids), "prompt_id": prompt_id})
    return {row[0]: CourseRow(*row) for row in rows}
