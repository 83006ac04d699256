"""Numbers in the texts of boards: which columns and conditions they may name, and what they are now."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import orjson
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from backend.boards import selection
from backend.kit.errors import Problem
from backend.kit.response_cache import Answer, AnswerCache
from backend.models import Board, Run
from backend.readings.compare import series
from backend.readings.compare.series import of_one_set
from backend.runs import where
from backend.runs.columns import REPLICATE
from backend.runs.groups import number_of
from backend.runs.held_out import num_sets
from bapo.analysis.live_numbers import (
    METRIC,
    OVER_STEPS,
    LiveNumber,
    LiveNumberError,
    escaped,
    filled,
    live_number,
    placeholders,
    written,
)
from bapo.api.boards import MOST_RUNS, TextData, TextPanel

MOST_NUMBERS = 50
MOST_COUNTED = 10_000
"""Runs whose newest values are averaged."""
NOT_SHOWN = "–"


def check_text(text: str, field: str) -> None:
    """Raise Problem 422 naming the first placeholder that does not parse."""
    found = placeholders(text)
    if len(found) > MOST_NUMBERS:
        remedy = f"{len(found)} numbers are more than a text takes: at most {MOST_NUMBERS}, use several texts"
        raise Problem(422, "invalid_request", remedy, field=field)
    for source in found:
        try:
            _checked(source)
        except LiveNumberError as error:
            raise Problem(422, "invalid_placeholder", error.remedy, field=field, value=source) from None


def _checked(source: str) -> LiveNumber:
    number = live_number(source)
    try:
        for condition in number.where:
            where.condition(condition)
        if number.column is not None:
            number_of(number.column, "column")
    except Problem as problem:
        value = "" if problem.value in (None, source) else f"{problem.value}: "
        raise LiveNumberError(source, f"{value}{problem.remedy}") from None
    return number


def text_data(session: Session, answers: AnswerCache, board: Board, panel: TextPanel, *, is_public: bool) -> TextData:
    """Return the text with its numbers; outside the team, what cannot be shown is not explained either."""
    problems: list[str] = []

    def value_of(source: str) -> str:
        try:
            number = _checked(source)
            return escaped(written(number, _values(session, answers, board, panel, number)))
        except LiveNumberError as error:
            problems.append(str(error))
            return NOT_SHOWN if is_public else f"**{escaped(source)}**"

    values = {source: value_of(source) for source in placeholders(panel.text)[:MOST_NUMBERS]}
    text = filled(panel.text, lambda source: values.get(source, NOT_SHOWN))
    return TextData(text=text, problems=[] if is_public else problems)


def _values(
    session: Session, answers: AnswerCache, board: Board, panel: TextPanel, number: LiveNumber
) -> Sequence[tuple[str, float]]:
    """Return the value of each run with the key of its replicate."""
    conditions = selection.conditions(session, board, panel, number.where)
    if number.column is None:
        return [(run_id, 0.0) for run_id in session.scalars(select(Run.id).where(*conditions))]
    if number.figure not in OVER_STEPS:
        _refuse_several_sets(session, number, number.column, conditions)
        of_run = number_of(number.column, "column")
        query = select(REPLICATE, of_run).where(*conditions).order_by(Run.created_at.desc()).limit(MOST_COUNTED)
        return [(key, float(value)) for key, value in session.execute(query) if value is not None]
    of_runs = session.execute(select(Run.id, REPLICATE.label("replicate")).where(*conditions).limit(MOST_RUNS + 1))
    replicates = {run.id: run.replicate for run in of_runs}
    ids = list(replicates)
    if len(ids) > MOST_RUNS:
        remedy = f"{number.figure} reads every step of at most {MOST_RUNS} runs, and more match: narrow them with “of”"
        raise LiveNumberError(number.source, remedy)
    key = number.column.removeprefix(METRIC)

    def work_out() -> Answer:
        columns, _ = of_one_set(session, series.read(session, ids, [key]), [key])
        found = zip(replicates.values(), columns.values(), strict=True)
        return Answer.of(
            [(each, _reduced(number.figure, column[key].values)) for each, column in found if len(column[key].values)]
        )

    # Every step of every run: worked out again when one of them has recorded more.
    question = f"live number {number.figure} {key} {ids}"
    found: list[tuple[str, float]] = orjson.loads(answers.answer(session, question, ids, work_out).content)
    return [(each, value) for each, value in found]


def _refuse_several_sets(
    session: Session, number: LiveNumber, column: str, conditions: Sequence[ColumnElement[bool]]
) -> None:
    """Raise LiveNumberError if the runs were evaluated on different held-out sets."""
    number_of_sets = num_sets(session, column, conditions)
    if number_of_sets > 1:
        remedy = f"the runs were evaluated on {number_of_sets} different held-out sets: narrow them with “of” to one"
        raise LiveNumberError(number.source, remedy)


def _reduced(figure: str, values: NDArray[np.float64]) -> float:
    match figure:
        case "max":
            return float(values.max())
        case "min":
            return float(values.min())
    return float(values.mean())
