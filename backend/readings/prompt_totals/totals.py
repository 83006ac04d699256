"""Keeps the totals of runs, and the sums over each project, in step with what is recorded.

One thread of all servers does this. A run's row holds what was added to the sums for it, so that the next time, or when
the run is gone, exactly that is taken out again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Text, any_, func, literal, or_, select, text
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import InstrumentedAttribute, Session

from backend.models import ProjectPrompt, PromptText, PromptTotals, Run
from backend.readings.prompt_totals import families
from backend.readings.visits.columns import RunColumns
from bapo.analysis.across_runs import RunTotals, run_totals

MOST_GONE = 100
"""Runs that are taken out in a round."""
CONTENT_LETTERS = 500

Sums = NDArray[np.int64]
"""Runs, visits, responses, correct ones, runs never solved, always solved, suspected: one row per prompt."""
_SUMS = (
    *("num_runs", "num_visits", "num_responses", "num_correct"),
    *("num_never_solved", "num_always_solved", "num_suspected"),
)
_ADD = text("""
    UPDATE project_prompts AS prompt SET
        num_runs = prompt.num_runs + added.num_runs,
        num_visits = prompt.num_visits + added.num_visits,
        num_responses = prompt.num_responses + added.num_responses,
        num_correct = prompt.num_correct + added.num_correct,
        num_never_solved = prompt.num_never_solved + added.num_never_solved,
        num_always_solved = prompt.num_always_solved + added.num_always_solved,
        num_suspected = prompt.num_suspected + added.num_suspected
    FROM unnest(
        CAST(:id AS bigint[]), CAST(:num_runs AS bigint[]), CAST(:num_visits AS bigint[]),
        CAST(:num_responses AS bigint[]), CAST(:num_correct AS bigint[]), CAST(:num_never_solved AS bigint[]),
        CAST(:num_always_solved AS bigint[]), CAST(:num_suspected AS bigint[])
    ) AS added(
        id, num_runs, num_visits, num_responses, num_correct, num_never_solved, num_always_solved, num_suspected
    )
    WHERE prompt.id = added.id
""")


def keep(session: Session, run: Run, columns: RunColumns, suspected: Collection[str]) -> None:
    """Keep what a run has recorded by now in place of what was kept of it.

    `suspected`: prompts whose label or verifier its findings doubt.
    """
    visits = columns.visits
    inherited_steps = families.inherited_steps(session, run, columns)
    totals = run_totals(visits, inherited_steps)
    numbers = _numbers(session, run, visits.prompt_ids)
    values = {
        "project_id": run.project_id,
        "is_due": False,
        "digests": columns.digests.tolist(),
        "first_digest": families.first_digest(columns),
        "inherited_steps": inherited_steps,
        "group_size": visits.group_size,
        "numbers": numbers,
        **{name: column.tolist() for name, column in totals._asdict().items()},
        "is_suspected": [prompt_id in suspected for prompt_id in visits.prompt_ids],
    }
    known = session.get(PromptTotals, run.id)
    changed = {(run.project_id, values["first_digest"])}
    if known is not None:
        changed.add((known.project_id, known.first_digest))
    new = PromptTotals(run_id=run.id, **values)
    _add(session, _change([] if known is None else [known], [new]))
    if known is None:
        session.add(new)
    else:
        for name, value in values.items():
            if getattr(known, name) != value:
                setattr(known, name, value)
    session.flush()
    families.note_change(session, changed)


def _numbers(session: Session, run: Run, prompt_ids: Sequence[str]) -> list[int]:
    """Return the project's numbers of prompts; new ones are added, with what they say if the run has stored it."""
    found, without_text = _known(session, run.project_id, prompt_ids)
    wanted = [prompt_id for prompt_id in prompt_ids if prompt_id not in found or prompt_id in without_text]
    texts = _texts(session, run.id, wanted)
    rows = [
        {"project_id": run.project_id, "prompt_id": prompt_id, "content": texts.get(prompt_id)}
        for prompt_id in wanted
        if prompt_id not in found or prompt_id in texts
    ]
    if rows:
        query = insert(ProjectPrompt)
        said = {"content": func.coalesce(ProjectPrompt.content, query.excluded.content)}
        session.execute(query.on_conflict_do_update(index_elements=["project_id", "prompt_id"], set_=said), rows)
        found, _ = _known(session, run.project_id, prompt_ids)
    return [found[prompt_id] for prompt_id in prompt_ids]


def _known(session: Session, project_id: str, prompt_ids: Sequence[str]) -> tuple[dict[str, int], set[str]]:
    query = select(ProjectPrompt.prompt_id, ProjectPrompt.id, ProjectPrompt.content.is_(None)).where(
        ProjectPrompt.project_id == project_id, _is_one(ProjectPrompt.prompt_id, prompt_ids)
    )
    rows = session.execute(query).all()
    return (
        {prompt_id: number for prompt_id, number, _ in rows},
        {prompt_id for prompt_id, _, is_without in rows if is_without},
    )


def _texts(session: Session, run_id: str, prompt_ids: Sequence[str]) -> dict[str, str]:
    query = select(PromptText.prompt_id, func.left(PromptText.content, CONTENT_LETTERS)).where(
        PromptText.run_id == run_id, _is_one(PromptText.prompt_id, prompt_ids)
    )
    return dict(session.execute(query).all()) if prompt_ids else {}


def _is_one(column: InstrumentedAttribute[str], prompt_ids: Sequence[str]) -> ColumnElement[bool]:
    return column == any_(literal(list(prompt_ids), ARRAY(Text)))


def keep_nothing(session: Session, run: Run) -> None:
    """Store empty totals for a run that cannot be read, so that it is not retried."""
    if session.get(PromptTotals, run.id) is None:
        names = ("digests", "inherited_steps", "numbers", *RunTotals._fields)
        columns: dict[str, list[int]] = {name: [] for name in names}
        session.add(PromptTotals(run_id=run.id, project_id=run.project_id, group_size=1, is_suspected=[], **columns))


def _sums(row: PromptTotals) -> Sums:
    correct, responses = np.array(row.own_correct, np.int64), np.array(row.own_evaluations, np.int64) * row.group_size
    is_answered = responses > 0
    return np.column_stack(
        [
            is_answered,
            np.array(row.own_visits, np.int64),
            responses,
            correct,
            is_answered & (correct == 0),
            is_answered & (correct == responses),
            is_answered & np.array(row.is_suspected, np.bool_),
        ]
    ).reshape(-1, len(_SUMS))


def _change(old: Collection[PromptTotals], new: Collection[PromptTotals]) -> dict[int, NDArray[np.int64]]:
    """Return the changes of the sums by number of the prompt."""
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
    families.note_change(session, {(row.project_id, row.first_digest) for row in gone})
    return len(gone)
