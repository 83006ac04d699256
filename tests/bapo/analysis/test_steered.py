"""What is in force in a run whose parameters were changed, and since which step."""

from __future__ import annotations

from typing import Any

from bapo.analysis.result import AppliedChange
from bapo.analysis.steered import config_in_force, course_text, courses, steered_config, values_in_force

CONFIG = {"method.c1": 0.125, "method.v": 5}


def change(step: int, **values: Any) -> AppliedChange:
    fields = {f"method.{name}": value for name, value in values.items()}
    return AppliedChange(step=step, set=fields, author="admin")


def test_the_last_change_is_in_force() -> None:
    changes = [change(10, c1="1/4", v=7), change(20, c1="3/8")]
    assert values_in_force(CONFIG, changes) == {"method.c1": "3/8", "method.v": 7}
    assert config_in_force({"method": {"c1": 0.125, "m": 5}}, changes) == {"method": {"c1": "3/8", "m": 5, "v": 7}}
    assert values_in_force(CONFIG, []) == CONFIG


def test_a_field_keeps_its_whole_course() -> None:
    found = courses(CONFIG, [change(10, c1="1/4"), change(1200, c1=0.5)])
    assert found == {"method.c1": [(0, 0.125), (10, "1/4"), (1200, 0.5)]}
    assert course_text(found["method.c1"]) == "0.125 → 1/4 from step 10 → 0.5 from step 1,200"
    assert steered_config(CONFIG, [change(10, c1="1/4")]) == CONFIG | {"method.c1": "0.125 → 1/4 from step 10"}


def test_what_changes_nothing_is_no_change() -> None:
    # 1/8 is 0.125; of two changes at one step the later one holds.
    assert courses(CONFIG, [change(10, c1="1/8")]) == {}
    assert courses(CONFIG, [change(10, c1="1/4"), change(10, c1="1/8")]) == {}
    assert courses(CONFIG, [change(10, c1="1/4"), change(10, c1="1/2")]) == {"method.c1": [(0, 0.125), (10, "1/2")]}
