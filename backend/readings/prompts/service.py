"""Lists a run's prompts and reads one with its visits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from backend.kit.cursors import decode_texts, encode
from backend.kit.errors import Problem, existing
from backend.readings.prompts import repository
from backend.readings.prompts.selection import RunPrompts, Selection, select
from backend.readings.run_reading import RunReading
from backend.readings.samples.repository import beginnings
from bapo.analysis.prompt_outcomes import thinned
from bapo.analysis.visits import SOURCES
from bapo.api.prompts import (
    PromptDetail,
    PromptFilter,
    PromptNeighbours,
    PromptPage,
    PromptSummary,
    PromptTotals,
    PromptTrackings,
    PromptVisits,
)
from bapo.rollout import BatchSource

SPARKLINE_VISITS = 100
"""Visits that a prompt in a list shows at most."""
BEGINNING_LETTERS = 300
"""Characters of a prompt's text in a list."""


class PageOf(NamedTuple):
    """A page of a list."""

    cursor: str | None
    offset: int
    limit: int


def list_prompts(reading: RunReading, wanted: PromptFilter, page: PageOf) -> PromptPage:
    """Return a page of the prompts that a filter finds. Raises Problem 422 for a cursor of another list."""
    prompts, selection = _find(reading, wanted)
    list_name = f"prompts by {wanted.sort} {'down' if wanted.descending else 'up'}"
    rest = selection
    if page.cursor is not None:
        rest = selection.after(*_place(page.cursor, list_name))
    numbers = rest.numbers[page.offset : page.offset + page.limit]
    next_cursor = None
    if page.offset + page.limit < len(rest.numbers):
        last = page.offset + page.limit - 1
        next_cursor = encode(list_name, [repr(float(rest.keys[last])), str(rest.numbers[last])])
    ids = [prompts.visits.prompt_ids[number] for number in numbers]
    texts = beginnings(reading.session, reading.run_id, ids, BEGINNING_LETTERS)
    return PromptPage(
        items=[_summary(prompts, int(number), texts.get(ids[place])) for place, number in enumerate(numbers)],
        next_cursor=next_cursor,
        total=len(selection.numbers),
        stories=dict(selection.stories),
        totals=_totals(prompts),
    )


def _find(reading: RunReading, wanted: PromptFilter) -> tuple[RunPrompts, Selection]:
    prompts = RunPrompts.of(reading.visits)
    saying = repository.saying(reading.session, reading.run_id, wanted.search) if wanted.search else frozenset[str]()
    return prompts, select(prompts, wanted, saying)


def _place(cursor: str, list_name: str) -> tuple[float, int]:
    key, number = decode_texts(cursor, list_name, 2)
    try:
        return float(key), int(number)
    except ValueError as error:
        remedy = "use the `next_cursor` of a page of the same list in the same order"
        raise Problem(422, "invalid_request", remedy, field="cursor", value=cursor) from error


def _summary(prompts: RunPrompts, number: int, text: str | None) -> PromptSummary:
    visits, columns = prompts.visits, prompts.columns
    size = visits.group_size
    first, last = int(columns.first_correct[number]), int(columns.last_correct[number])
    rows = columns.visits_of(number)
    shown = thinned(rows, SPARKLINE_VISITS)
    return PromptSummary(
        prompt_id=visits.prompt_ids[number],
        text=text,
        num_visits=len(rows),
        num_evaluations=int(columns.num_evaluations[number]),
        first_correct=first,
        last_correct=last,
        group_size=size,
        first_accuracy=first / size,
        last_accuracy=last / size,
        gain=(last - first) / size,
        variance=float(columns.variance[number]),
        first_step=int(columns.first_step[number]),
        last_step=int(columns.last_step[number]),
        stories=[story for story, flags in columns.stories.items() if flags[number]],
        steps=visits.step[shown].tolist(),
        num_correct=visits.num_correct[shown].tolist(),
        sources=[SOURCES[source] for source in visits.source[shown]],
    )


def _totals(prompts: RunPrompts) -> PromptTotals:
    visits, columns = prompts.visits, prompts.columns
    num_prompts = len(visits.prompt_ids)

    def mean(correct: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float | None:
        return float(correct.mean()) / visits.group_size if num_prompts else None

    return PromptTotals(
        num_prompts=num_prompts,
        num_visits=len(visits.step),
        num_evaluations=int(columns.num_evaluations.sum()),
        num_never_solved=int(np.count_nonzero(columns.best_correct == 0)),
        first_accuracy=mean(columns.first_correct),
        last_accuracy=mean(columns.last_correct),
        last_step=int(visits.step.max(initial=0)),
    )


def one_prompt(reading: RunReading, prompt_id: str, wanted: PromptFilter) -> PromptDetail:
    """Return all stored data of a prompt, and its neighbours in a list. Raises Problem 404."""
    prompts, selection = _find(reading, wanted)
    number = existing(prompts.number_of(prompt_id), "prompt", prompt_id)
    steps = np.unique(prompts.visits.step[prompts.columns.visits_of(number)]).tolist()
    session, run_id = reading.session, reading.run_id
    visits = repository.visits(session, run_id, prompt_id, steps)
    trackings = repository.trackings(session, run_id, prompt_id)
    stored = repository.whole_text(session, run_id, prompt_id)
    return PromptDetail(
        **_summary(prompts, number, None if stored is None else stored.content).model_dump(),
        answer=None if stored is None else stored.answer,
        visits=PromptVisits(
            step=[visit.step for visit in visits],
            source=[BatchSource(visit.source) for visit in visits],
            num_correct=[visit.num_correct for visit in visits],
            policy_version=[visit.policy_version for visit in visits],
            staleness=[
                None if visit.policy_version is None else visit.step - 1 - visit.policy_version for visit in visits
            ],
            in_batch=[visit.in_batch for visit in visits],
            reason=[visit.reason for visit in visits],
        ),
        trackings=PromptTrackings(
            step=[tracking.step for tracking in trackings],
            replicate=[tracking.replicate for tracking in trackings],
            num_correct=[tracking.num_correct for tracking in trackings],
            group_size=[tracking.group_size for tracking in trackings],
        ),
        neighbours=_neighbours(prompts, selection, number),
    )


def _neighbours(prompts: RunPrompts, selection: Selection, number: int) -> PromptNeighbours:
    numbers, ids = selection.numbers, prompts.visits.prompt_ids
    found = np.flatnonzero(numbers == number)
    if not len(found):
        return PromptNeighbours(total=len(numbers), position=None, previous_id=None, next_id=None)
    place = int(found[0])
    return PromptNeighbours(
        total=len(numbers),
        position=place + 1,
        previous_id=ids[numbers[place - 1]] if place else None,
        next_id=ids[numbers[place + 1]] if place + 1 < len(numbers) else None,
    )
