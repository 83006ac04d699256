"""Evaluations record which problems, with which answers, they are of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bapo.records import EvaluationRecord
from bapo.rollout import problems_digest
from bapo.run.journal import merged_records
from bapo.tasks import build_task
from tests.support.simulated_trainer import train
from tests.support.small_runs import config


def evaluated(folder: Path, **changes: Any) -> EvaluationRecord:
    """The first evaluation of a run that has trained."""
    train(folder, config(**{"training__steps": 1, **changes}))
    return next(record for record in merged_records(folder) if isinstance(record, EvaluationRecord))


def test_an_evaluation_has_the_digest_of_its_problems_and_answers(tmp_path: Path) -> None:
    found = evaluated(tmp_path / "run")
    problems = build_task(config().task).evaluation_sets[found.dataset]
    ids = [problem.prompt_id for problem in problems]
    assert found.problem_set == problems_digest(ids, {each.prompt_id: each.answer for each in problems})
    # Another seed trains on the same set; another size of it is another set.
    assert evaluated(tmp_path / "seed", training__seed=2).problem_set == found.problem_set
    assert evaluated(tmp_path / "size", task__num_test=3).problem_set != found.problem_set


def test_a_record_without_the_answers_is_known_by_its_problems(tmp_path: Path) -> None:
    found = evaluated(tmp_path / "run")
    before = EvaluationRecord.model_validate(found.model_dump(by_alias=True, exclude={"problems"}))
    assert found.problem_set.startswith(f"{before.problem_set}-")
