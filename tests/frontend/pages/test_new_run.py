"""What the form works out: where a problem belongs, what a link fills in."""

from __future__ import annotations

import pytest

from bapo.api import FieldProblem
from frontend.pages.new_run import SECTIONS
from frontend.pages.new_run.inputs import by_field, typed_values


def test_a_problem_belongs_to_its_field_also_when_it_lies_inside() -> None:
    problems = [
        FieldProblem(field="method.c2", remedy="a"),
        FieldProblem(field="method.c2.1", remedy="b"),
        FieldProblem(field="methodical", remedy="c"),
    ]
    placed, others = by_field(problems, ["method.c1", "method.c2"])
    assert placed == {"method.c2": "a; b"}
    assert [problem.field for problem in others] == ["methodical"]


def test_the_two_inputs_of_a_range_stay_in_order() -> None:
    ids = [{"path": "c2", "part": 1}, {"path": "c1", "part": 0}, {"path": "c2", "part": 0}]
    assert typed_values(ids, ["high", "x", "low"]) == {"c1": ["x"], "c2": ["low", "high"]}


@pytest.mark.parametrize(
    "path",
    [
        "method.type",
        "method.c1",
        "method.c2",
        "method.c3",
        "method.v",
        "method.m",
        "method.max_reevaluated_prompts",
        "rollout.group_size",
        "training.batch_size",
        "training.steps",
        "training.seed",
        "training.learning_rate",
    ],
)
def test_the_fields_that_most_runs_are_about_stand_first(path: str) -> None:
    assert any(path in paths for _, _, paths in SECTIONS)
