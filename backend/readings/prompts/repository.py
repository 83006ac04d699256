"""SQL of prompts: texts, reasons for not being trained on, tracked accuracies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Integer, LargeBinary, any_, func, literal, select, text, type_coerce
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from backend.models import PromptText, StepRow
from backend.models.packed_json import unpack

_STEPS_AT_ONCE = 500


def whole_text(session: Session, run_id: str, prompt_id: str) -> PromptText | None:
    """Return a prompt's text and answer, if a group of it was stored."""
    return session.get(PromptText, (run_id, prompt_id))


def saying(session: Session, run_id: str, part: str) -> frozenset[str]:
    """Return the prompts whose text contains this, ignoring case. Scans the run's texts, one per prompt."""
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
    policy_version: int | None
    in_batch: bool
    reason: str | None


def visits(session: Session, run_id: str, prompt_id: str, steps: Sequence[int]) -> list[VisitRow]:
    """Return a prompt's visits in these steps."""
    is_wanted = StepRow.step == any_(literal(list(steps), ARRAY(Integer)))
    return list(_visits(session, run_id, prompt_id, is_wanted))


def all_visits(session: Session, run_id: str, prompt_id: str) -> Iterator[VisitRow]:
    """Yield all of a prompt's visits. A look at each step of the run."""
    return _visits(session, run_id, prompt_id)


def _visits(session: Session, run_id: str, prompt_id: str, *conditions: ColumnElement[bool]) -> Iterator[VisitRow]:
    # As bytes: most steps have not visited the prompt and need not be read as JSON.
    query = (
        select(StepRow.step, type_coerce(StepRow.visits, LargeBinary))
        .where(StepRow.run_id == run_id, *conditions)
        .order_by(StepRow.step)
        .execution_options(yield_per=_STEPS_AT_ONCE)
    )
    wanted = orjson.dumps(prompt_id)
    for step, packed in session.execute(query):
        content = unpack(packed)
        if wanted in content:
            for visited, *visit in zip(*orjson.loads(content), strict=True):
                if visited == prompt_id:
                    yield VisitRow(step, *visit)


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
    """Return a prompt's samplings apart from training; none where it is not tracked."""
    rows = session.execute(_TRACKINGS, {"run_id": run_id, "prompt_id": prompt_id})
    return [TrackingRow(*row) for row in rows]
