"""SQL of what findings read besides visits and metrics: sampled responses and texts of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from backend.models import IngestOffset, PromptText, Sample, SparseRecord

_GROUPS_AT_ONCE = 200
_MOST_TEXTS = 200_000
_MOST_LETTERS = 4_000


def revision(session: Session, run_id: str) -> int:
    """Return a number that grows with every stored record and every stored sample."""
    query = select(func.sum(IngestOffset.next_offset)).where(
        IngestOffset.run_id == run_id, IngestOffset.kind.in_(("records", "samples"))
    )
    return int(session.scalar(query) or 0)


def newest_samples(session: Session, run_id: str, most_groups: int, most_bytes: int) -> list[Mapping[str, Any]]:
    """Return the lines of groups with their responses, by step: the newest groups, up to both limits."""
    size = func.sum(func.pg_column_size(Sample.record)).over(order_by=(Sample.step.desc(), Sample.position.desc()))
    ranked = (
        select(Sample.step, Sample.position, size.label("size"))
        .where(Sample.run_id == run_id)
        .order_by(Sample.step.desc(), Sample.position.desc())
        .limit(most_groups)
        .subquery()
    )
    query = (
        select(Sample.record)
        .join(ranked, (Sample.step == ranked.c.step) & (Sample.position == ranked.c.position))
        .where(Sample.run_id == run_id, ranked.c.size <= most_bytes)
        .order_by(Sample.step, Sample.position)
        .execution_options(yield_per=_GROUPS_AT_ONCE)
    )
    return list(session.scalars(query))


def prompt_texts(session: Session, run_id: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Return identity, text and answer of prompts, in a fixed order; very long texts are cut."""
    query = (
        select(PromptText.prompt_id, func.left(PromptText.content, _MOST_LETTERS), PromptText.answer)
        .where(PromptText.run_id == run_id)
        .order_by(PromptText.prompt_id)
        .limit(_MOST_TEXTS)
    )
    return [tuple(row) for row in session.execute(query)]


def evaluation_metrics(session: Session, run_id: str) -> list[tuple[int, dict[str, float]]]:
    """Step and metrics of each evaluation on a held-out set, by step."""
    query = (
        select(SparseRecord.step, SparseRecord.metrics)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "evaluation")
        .order_by(SparseRecord.step)
    )
    return [(step, values) for step, values in session.execute(query)]


def latest_evaluations(session: Session, run_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and record of the latest evaluation on each held-out set."""
    query = (
        select(SparseRecord.identity, SparseRecord.record)
        .where(SparseRecord.run_id == run_id, SparseRecord.type == "evaluation")
        .ext(distinct_on(SparseRecord.identity))
        .order_by(SparseRecord.identity, SparseRecord.step.desc())
    )
    return [tuple(row) for row in session.execute(query)]
