"""SQL of the responses kept as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError
from sqlalchemy import delete, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.models import Sample
from bapo.records import SampleRecord

if TYPE_CHECKING:
    from backend.records.ingest import Line


def store(session: Session, run_id: str, attempt: int, lines: Sequence[Line]) -> None:
    """Store groups with their responses; a later attempt's groups of a step replace an earlier one's."""
    rows = [row for line in lines if (row := _row(run_id, attempt, line)) is not None]
    steps = {row["step"] for row in rows}
    known = _newest_attempts(session, run_id, steps)
    rows = [row for row in rows if known.get(row["step"], 0) <= attempt]
    if not rows:
        return
    session.execute(delete(Sample).where(Sample.run_id == run_id, Sample.step.in_(steps), Sample.attempt < attempt))
    session.connection().execute(insert(Sample).on_conflict_do_nothing(), rows)


def _row(run_id: str, attempt: int, line: Line) -> dict[str, Any] | None:
    try:
        sample = SampleRecord.model_validate_json(line.text)
        content = orjson.loads(line.text)
    except (ValidationError, orjson.JSONDecodeError):
        # A line that is none, in a file that is only looked at: nothing depends on it.
        return None
    return {
        "run_id": run_id,
        "step": sample.step,
        "position": line.position,
        "attempt": attempt,
        "prompt_id": sample.prompt_id,
        "source": sample.source.value,
        "record": content,
    }


def _newest_attempts(session: Session, run_id: str, steps: set[int]) -> dict[int, int]:
    query = (
        select(Sample.step, func.max(Sample.attempt))
        .where(Sample.run_id == run_id, Sample.step.in_(steps))
        .group_by(Sample.step)
    )
    return dict(session.execute(query).all())


def page(
    session: Session,
    run_id: str,
    *,
    step: int | None,
    prompt_id: str | None,
    after: tuple[int, int] | None,
    limit: int,
) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    """Groups, newest step first, with their places (step, position)."""
    query = (
        select(Sample.step, Sample.position, Sample.record)
        .where(Sample.run_id == run_id)
        .order_by(Sample.step.desc(), Sample.position.desc())
        .limit(limit)
    )
    if step is not None:
        query = query.where(Sample.step == step)
    if prompt_id is not None:
        query = query.where(Sample.prompt_id == prompt_id)
    if after is not None:
        query = query.where(tuple_(Sample.step, Sample.position) < after)
    return [((number, position), record) for number, position, record in session.execute(query)]
