"""Visits as columns."""

from __future__ import annotations

from bapo.analysis.accuracy_transitions import last_evaluated
from bapo.analysis.prompt_outcomes import prompt_columns
from bapo.analysis.visits import visits_of
from bapo.records import PromptVisit
from bapo.rollout import BatchSource
from tests.support.journals import step as step_record


def test_one_row_per_visit_with_prompts_numbered_as_they_come() -> None:
    first = [
        PromptVisit("b", BatchSource.FRESH, 0, 0, in_batch=False, reason="all_wrong"),
        PromptVisit("a", BatchSource.FRESH, 3, 0, in_batch=True),
    ]
    second = [
        PromptVisit("b", BatchSource.REEVALUATED, 2, 1, in_batch=True),
        PromptVisit("a", BatchSource.REUSED, 3, 0, in_batch=True),
    ]
    records = [step_record(step).model_copy(update={"prompts": prompts}) for step, prompts in ((1, first), (2, second))]
    visits = visits_of(records, 8)
    assert visits.prompt_ids == ["b", "a"]
    assert visits.step.tolist() == [1, 1, 2, 2]
    assert visits.prompt.tolist() == [0, 1, 0, 1]
    assert visits.source.tolist() == [0, 0, 1, 2]
    assert visits.num_correct.tolist() == [0, 3, 2, 3]
    assert visits.policy_version.tolist() == [0, 0, 1, 0]
    assert visits.in_batch.tolist() == [False, True, True, True]
    # The reused group was answered at step 1, where it has its own row.
    assert visits.is_evaluation.tolist() == [True, True, True, False]


def test_a_prompt_may_have_several_visits_in_one_step_of_which_only_the_fresh_one_is_an_evaluation() -> None:
    # As RePO records them: today's group, and responses of two earlier ones.
    visited = [
        PromptVisit("a", BatchSource.FRESH, 0, 6, in_batch=True),
        PromptVisit("a", BatchSource.REUSED, 5, 4, in_batch=True),
        PromptVisit("a", BatchSource.REUSED, 7, 2, in_batch=True),
    ]
    visits = visits_of([step_record(7).model_copy(update={"prompts": visited})], 8)
    assert visits.is_evaluation.tolist() == [True, False, False]
    assert last_evaluated(visits, 7).tolist() == [0]
    columns = prompt_columns(visits)
    assert columns.num_visits.tolist() == [3]
    assert (columns.num_evaluations.tolist(), columns.best_correct.tolist()) == ([1], [0])
    # Ages 0, 2 and 4 at step 7.
    assert (visits.step - 1 - visits.policy_version).tolist() == [0, 2, 4]


def test_a_run_without_a_step_has_no_visits() -> None:
    visits = visits_of([], 8)
    assert (len(visits.step), visits.prompt_ids) == (0, [])
