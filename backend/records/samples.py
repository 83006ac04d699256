"""Stores responses that are kept as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from pydantic import Field, TypeAdapter, ValidationError
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from backend.models import PromptText, Sample
from backend.records.lines import Line
from bapo.records import PromptRecord, SampleRecord

_PROMPT: TypeAdapter[PromptRecord | SampleRecord] = TypeAdapter(
    Annotated[PromptRecord | SampleRecord, Field(discriminator="type")]
)


def store(session: Session, run_id: str, attempt: int, lines: Sequence[Line]) -> None:
    """Store groups with their responses, and texts of prompts; a later attempt's groups of a step replace an earlier
    one's.
    """
    _store_prompts(session, run_id, [line.text for line in lines])
    rows = [row for line in lines if (row := _row(run_id, attempt, line)) is not None]
    steps = {row["step"] for row in rows}
    known = _newest_attempts(session, run_id, steps)
    rows = [row for row in rows if known.get(row["step"], 0) <= attempt]
    if not rows:
        return
    session.execute(delete(Sample).where(Sample.run_id == run_id, Sample.step.in_(steps), Sample.attempt < attempt))
    session.connection().execute(insert(Sample).on_conflict_do_nothing(), rows)


def _store_prompts(session: Session, run_id: str, lines: Sequence[str]) -> None:
    """Store what prompts say: from lines of their own, and from groups, which is all that older trainers write."""
    texts: dict[str, dict[str, Any]] = {}
    for line in lines:
        try:
            found = _PROMPT.validate_json(line)
        except ValidationError:
            continue
        texts[found.prompt_id] = {
            "run_id": run_id,
            "prompt_id": found.prompt_id,
            "content": found.prompt,
            "answer": found.answer,
        }
    if texts:
        session.connection().execute(insert(PromptText).on_conflict_do_nothing(), list(texts.values()))


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
        "num_correct": sample.num_correct,
        "record": content,
    }


def _newest_attempts(session: Session, run_id: str, steps: set[int]) -> dict[int, int]:
    query = (
        select(Sample.step, func.max(Sample.attempt))
        .where(Sample.run_id == run_id, Sample.step.in_(steps))
        .group_by(Sample.step)
    )
    return dict(session.execute(query).all())
