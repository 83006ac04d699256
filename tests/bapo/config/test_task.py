from __future__ import annotations

import pytest

from bapo.config import ConfigError, apply_changes, resolve


@pytest.mark.parametrize("template", ["{nums}", "{target}", "solve it"])
def test_a_template_without_numbers_or_target_is_refused(template: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve(apply_changes({"training": {"steps": 1}}, {"task.prompt_template": template}))
    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("task.prompt_template", template)
    assert "add it" in problem.remedy


def test_the_smallest_number_may_equal_the_largest_but_not_exceed_it() -> None:
    explicit = {"training": {"steps": 1}, "task": {"max_number": 5}}
    resolve(apply_changes(explicit, {"task.min_number": 5}))
    with pytest.raises(ConfigError, match=r"task.min_number = 6: 6 is above task.max_number = 5: lower it"):
        resolve(apply_changes(explicit, {"task.min_number": 6}))


@pytest.mark.parametrize("num_operands", [[1], [9], 3])
def test_problems_have_two_to_eight_numbers(num_operands: object) -> None:
    with pytest.raises(ConfigError, match=r"task\.num_operands"):
        resolve({"training": {"steps": 1}, "task": {"num_operands": num_operands}})
