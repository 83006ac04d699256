"""Keeps the totals of runs, and the sums over each project, in step with what is recorded.

One thread of all servers does this. A run's row holds what was added to the sums for it, so that the next time, or when
the run is gone, exactly that is taken out again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Text, any_, func, literal, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from backend.models import ProjectPrompt, PromptTotals, Run
from bapo.analysis.across_runs import run_totals
from bapo.analysis.visits import Visits

MOST_GONE = 100
"""Runs that are taken out in a round."""
CONTENT_LETTERS = 500

Sums = NDArray[np.int64]
"""Runs, visits, responses, correct ones, runs never solved, always solved, suspected: one row per prompt."""
_SUMS = ("num_runs", "num_visits", "num_responses", "num_correct", "num_never_solved", "num_always_solved", "num_suspected")
_ADD = text(
    "UPDATE project_prompts AS prompt SET "
    + ", ".join(f"{name} = prompt.{name} + added.{name}" for name in _SUMS)
    + " FROM unnest("
    + ", ".join(f"CAST(:{name} AS bigint[])" for name in ("id", *_SUMS))
    + f") AS added(id, {', '.join(_SUMS)}) WHERE prompt.id = added.id"
)


def keep(
    session: Session, run: Run, visits: Visits, suspected: Collection[str], texts: Mapping[str, str]
) -> None:
    """Keep what a run has recorded by now in place of what was kept of it.

    `suspected`: prompts whose label or verifier its findings doubt. `texts`: what prompts say, as far as stored.
    """
    totals = run_totals(visits)
    numbers = _numbers(session, run.project_id, visits.prompt_ids, texts)
    values = {
        "project_id": run.project_id,
        "group_size": visits.group_size,
        "numbers": numbers,
        **{name: column.tolist() for name, column in totals._asdict().items()},
        "is_suspected": [prompt_id in suspected for prompt_id in visits.prompt_ids],
    }
    known = session.get(PromptTotals, run.id)
    new = PromptTotals(run_id=run.id, **values)
    _add(session, _change([] if known is None else [known], [new]))
    if known is None:
        session.add(new)
    else:
        for name, value in values.items():
            if getattr(known, name) != value:
                setattr(known, name, value)
    session.flush()


def _numbers(session: Session, project_id: str, prompt_ids: Collection[str], texts: Mapping[str, str]) -> list[int]:
    ids = list(prompt_ids)
    is_one = ProjectPrompt.prompt_id == any_(literal(ids, ARRAY(Text)))
    query = select(ProjectPrompt.prompt_id, ProjectPrompt.id, ProjectPrompt.content.is_(None)).where(
        ProjectPrompt.project_id == project_id, is_one
    )
    found = {prompt_id: (number, is_bare) for prompt_id, number, is_bare in session.execute(query)}
    wanted = [
        {
            "project_id": project_id,
            "prompt_id": prompt_id,
            "content": texts[prompt_id][:CONTENT_LETTERS] if prompt_id in texts else None,
        }
        for prompt_id in ids
        if prompt_id not in found or (found[prompt_id][1] and prompt_id in texts)
    ]
    if wanted:
        query = insert(ProjectPrompt)
        content = func.coalesce(ProjectPrompt.content, query.excluded.content)
        session.execute(
            query.on_conflict_do_update(index_elements=["project_id", "prompt_id"], set_={"content": content}), wanted
        )
        return _numbers(session, project_id, prompt_ids, {})
    return [found[prompt_id][0] for prompt_id in ids]


def _sums(row: PromptTotals) -> Sums:
    evaluations, correct = np.array(row.num_evaluations, np.int64), np.array(row.num_correct, np.int64)
    responses = evaluations * row.group_size
    return np.column_stack(
        [
            np.ones(len(evaluations), np.int64),
            np.array(row.num_visits, np.int64),
            responses,
            correct,
            correct == 0,
            correct == responses,
            np.array(row.is_suspected, np.int64),
        ]
    ).reshape(-1, len(_SUMS))


def _change(old: Collection[PromptTotals], new: Collection[PromptTotals]) -> dict[int, NDArray[np.int64]]:
    """Number of a prompt → what its sums change by."""
    change: dict[int, NDArray[np.int64]] = {}
    for sign, rows in ((-1, old), (1, new)):
        for row in rows:
            for number, sums in zip(row.numbers, _sums(row), strict=True):
                change[number] = change.get(number, 0) + sign * sums
    return {number: sums for number, sums in change.items() if sums.any()}


def _add(session: Session, change: Mapping[int, NDArray[np.int64]]) -> None:
    if change:
        # In one order, so that two servers never wait for each other.
        numbers = sorted(change)
        columns = np.array([change[number] for number in numbers]).T.tolist()
        given: dict[str, Any] = dict(zip(_SUMS, columns, strict=True))
        session.execute(_ADD, {"id": numbers, **given})


def take_out_gone(session: Session) -> int:
    """Take runs that are deleted, or in the trash, out of the sums; the number of runs."""
    query = (
        select(PromptTotals)
        .join(Run, Run.id == PromptTotals.run_id, isouter=True)
        .where(or_(Run.id.is_(None), Run.trashed_at.is_not(None)))
        .limit(MOST_GONE)
    )
    gone = list(session.scalars(query))
    _add(session, _change(gone, []))
    for row in gone:
        session.delete(row)
    session.flush()
    return len(gone)
