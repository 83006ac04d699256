"""Each story, on both sides of each of its boundaries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bapo.analysis.prompt_outcomes import prompt_columns, thinned
from bapo.analysis.stories import STORY_TEXTS, Story
from bapo.analysis.visits import Visits, visits_of
from bapo.records import PromptVisit
from bapo.rollout import BatchSource
from tests.support.journals import step as step_record

FRESH, REEVALUATED, REUSED = BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED

Course = Sequence[tuple[int, int] | tuple[int, int, BatchSource]]
"""A prompt's visits: step, correct responses of 8, source (fresh where there is none)."""


def visits_from(courses: dict[str, Course], last_step: int | None = None) -> Visits:
    """Visits of these prompts; the run has steps up to `last_step`."""
    last = last_step or max(visit[0] for course in courses.values() for visit in course)
    by_step: dict[int, list[PromptVisit]] = {number: [] for number in range(1, last + 1)}
    # Another prompt in each step, so that the run reaches its last one.
    by_step[last].append(PromptVisit("filler", FRESH, 4, last - 1, in_batch=True))
    for prompt_id, course in courses.items():
        for number, correct, *source in course:
            by_step[number].append(PromptVisit(prompt_id, (source or [FRESH])[0], correct, number - 1, in_batch=True))
    return visits_of(
        [step_record(number).model_copy(update={"prompts": prompts}) for number, prompts in by_step.items()], 8
    )


def stories_of(course: Course, last_step: int | None = None) -> set[str]:
    visits = visits_from({"p": course}, last_step)
    columns = prompt_columns(visits)
    index = visits.prompt_ids.index("p")
    return {story.value for story, flags in columns.stories.items() if flags[index]}


@pytest.mark.parametrize(
    ("course", "expected"),
    [
        ([(1, 0), (5, 1)], {"unlocked"}),
        # 3/8 < 1/2 ≤ 4/8.
        ([(1, 0), (5, 3)], {"unlocked"}),
        ([(1, 0), (5, 4)], {"unlocked", "solved_later"}),
        ([(1, 1), (5, 8)], set()),
        ([(1, 0), (3, 4), (5, 0)], {"forgotten"}),
        # 3/8 was never half.
        ([(1, 0), (3, 3), (5, 0)], set()),
        ([(1, 4), (5, 0)], {"forgotten"}),
        ([(1, 4), (5, 1)], set()),
        ([(1, 3), (5, 0)], set()),
        ([(1, 0), (3, 4), (5, 1)], {"unlocked"}),
        ([(1, 0), (3, 0)], set()),
        ([(1, 0), (3, 0), (5, 0)], {"stuck"}),
        ([(1, 0), (3, 1), (5, 0)], set()),
        ([(1, 8), (3, 2), (5, 8)], {"mastered", "oscillating"}),
        ([(1, 8), (5, 7)], set()),
        ([(1, 8), (5, 8)], {"mastered"}),
        # Low, high, low: 2/8 = 1/4 and 6/8 = 3/4 still count, 3/8 and 5/8 do not.
        ([(1, 2), (3, 6), (5, 2)], {"oscillating"}),
        ([(1, 3), (3, 6), (5, 2)], set()),
        ([(1, 2), (3, 5), (5, 2)], set()),
        # What lies between does not end a swing: 0, (4), 8, (4), 0.
        ([(1, 0), (2, 4), (3, 8), (4, 4), (5, 0)], {"oscillating", "forgotten"}),
        ([(1, 0), (5, 8)], {"unlocked", "solved_later"}),
    ],
)
def test_a_story_tells_what_its_definition_says(course: Course, expected: set[str]) -> None:
    assert stories_of(course) == expected


def test_a_reuse_is_no_evaluation() -> None:
    # Answered twice with 0 correct; the reuses repeat 0/8 and make it neither stuck nor anything else.
    assert stories_of([(1, 0), (2, 0, REUSED), (3, 0, REUSED), (4, 0)]) == set()
    assert stories_of([(1, 0), (2, 0, REUSED), (3, 0, REEVALUATED), (4, 0)]) == {"stuck"}
    columns = prompt_columns(visits_from({"p": [(1, 3), (2, 3, REUSED), (3, 5, REEVALUATED)]}))
    prompt = 0
    assert (columns.num_visits[prompt], columns.num_evaluations[prompt]) == (3, 2)
    assert columns.seen_from[prompt].tolist() == [True, True, True]
    # (3/8 - 4/8)² = (5/8 - 4/8)² = 1/64.
    assert columns.variance[prompt] == pytest.approx(1 / 64)


def test_never_seen_again_needs_as_many_steps_after_the_visit_as_up_to_it() -> None:
    assert stories_of([(5, 3)], last_step=10) == {"never_seen_again"}
    assert stories_of([(6, 3)], last_step=10) == set()
    assert stories_of([(4, 3), (5, 3, REUSED)], last_step=10) == set()


def test_a_prompt_of_which_only_reuses_are_recorded_counts_by_them() -> None:
    columns = prompt_columns(visits_from({"p": [(2, 3, REUSED), (4, 3, REUSED)]}))
    assert (columns.first_correct[0], columns.last_correct[0], columns.num_evaluations[0]) == (3, 3, 2)


def test_rows_lead_from_a_prompt_to_its_visits_by_step() -> None:
    visits = visits_from({"a": [(1, 0), (4, 2)], "b": [(2, 5), (3, 6), (4, 7)]})
    columns = prompt_columns(visits)
    assert list(visits.prompt_ids) == ["a", "b", "filler"]
    assert visits.step[columns.visits_of(0)].tolist() == [1, 4]
    assert visits.num_correct[columns.visits_of(1)].tolist() == [5, 6, 7]
    assert (columns.first_step.tolist(), columns.last_step.tolist()) == ([1, 2, 4], [4, 4, 4])
    assert (columns.first_correct.tolist(), columns.last_correct.tolist()) == ([0, 5, 4], [2, 7, 4])


def test_a_run_without_visits_has_no_prompts() -> None:
    columns = prompt_columns(visits_of([], 8))
    assert len(columns.num_visits) == 0
    assert all(len(flags) == 0 for flags in columns.stories.values())


def test_every_story_is_explained() -> None:
    assert set(STORY_TEXTS) == set(Story)


def test_thinning_keeps_the_ends() -> None:
    rows = np.arange(10)
    assert thinned(rows, 10).tolist() == rows.tolist()
    # 0, 3, 6, 9.
    assert thinned(rows, 4).tolist() == [0, 3, 6, 9]
