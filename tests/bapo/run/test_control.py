from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from bapo.config import ConfigError, RunConfig, resolve
from bapo.methods.bapo import BapoConfig
from bapo.run.control import CONTROL_FILE, ControlRequest, append_request, changed_config, read_requests


def request(**fields: Any) -> ControlRequest:
    return ControlRequest.model_validate({"id": "r1", "author": "ada", **fields})


def config(method: str = "bapo") -> RunConfig:
    return resolve({"method": {"type": method}, "training": {"steps": 9}}).config


def test_requests_come_back_in_the_order_of_the_file(tmp_path: Path) -> None:
    asked = [request(set={"method.c1": "1/4"}), request(id="r2", at_step=7, stop=True)]
    for each in asked:
        append_request(tmp_path, each)
    assert read_requests(tmp_path) == (asked, [])


def test_no_file_holds_no_requests(tmp_path: Path) -> None:
    assert read_requests(tmp_path) == ([], [])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"stop": True, "set": {"method.c1": 0.25}},
        {"stop": True, "at_step": 0},
        {"stop": True, "id": ""},
        {"stop": True, "author": ""},
        {"stop": True, "id": "x" * 101},
        {"stop": True, "novel": 1},
    ],
)
def test_a_request_either_stops_or_sets_something(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        request(**fields)


def test_lines_that_are_no_requests_are_named_by_their_number(tmp_path: Path) -> None:
    append_request(tmp_path, request(stop=True))
    with (tmp_path / CONTROL_FILE).open("ab") as file:
        file.write(b'{"id": "r2"\n\xff\n{"id": "r3", "author": "ada"}\n')
    append_request(tmp_path, request(id="r4", stop=True))
    requests, rejected = read_requests(tmp_path)
    assert [each.id for each in requests] == ["r1", "r4"]
    assert [message.partition(":")[0] for message in rejected] == [f"{CONTROL_FILE} line {n}" for n in (2, 3, 4)]
    assert "give one of these" in rejected[2]


def test_a_request_still_being_written_is_not_read(tmp_path: Path) -> None:
    append_request(tmp_path, request(stop=True))
    with (tmp_path / CONTROL_FILE).open("ab") as file:
        file.write(b'{"id": "r2", "auth')
    assert read_requests(tmp_path) == ([request(stop=True)], [])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method.c1", 0.25),
        ("method.c2", [0, 0.125]),
        ("method.c3", ["3/8", "5/8"]),
        ("method.v", 2),
        ("method.m", 3),
        ("method.max_reevaluated_prompts", 0),
    ],
)
def test_these_fields_can_change_while_the_run_goes_on(field: str, value: Any) -> None:
    changed = changed_config(config(), {field: value})
    method = changed.method.model_dump(mode="json")
    assert method[field.removeprefix("method.")] == pytest.approx(
        [0.375, 0.625] if field == "method.c3" else value, abs=0
    )


@pytest.mark.parametrize(
    "field", ["training.learning_rate", "method.type", "rollout.group_size", "method.cl", "method"]
)
def test_no_other_field_can(field: str) -> None:
    with pytest.raises(ConfigError, match=r"cannot change while the run is training: only method.c1, .* can") as caught:
        changed_config(config(), {"method.c1": 0.25, field: 1})
    assert [problem.field for problem in caught.value.problems] == [field]


def test_a_changed_config_is_checked_as_a_whole() -> None:
    with pytest.raises(ConfigError, match=r"c2 = 0.5 is above c3 = 0.25 at r_tot = 0"):
        changed_config(config(), {"method.c2": [0.5, 0.5]})
    with pytest.raises(ConfigError, match="must be at least 1"):
        changed_config(config(), {"method.v": 0})


def test_two_thresholds_can_only_change_together_where_each_alone_is_illegal() -> None:
    both = {"method.c2": [0.5, 0.5], "method.c3": [0.75, 0.75]}
    method = changed_config(config(), both).method
    assert isinstance(method, BapoConfig)
    assert [float(bound) for bound in (*method.c2, *method.c3)] == [0.5, 0.5, 0.75, 0.75]


def test_a_method_without_the_field_refuses_it() -> None:
    with pytest.raises(ConfigError, match=r"method\.c1 = 0\.25: cannot change .*: nothing of grpo can"):
        changed_config(config("grpo"), {"method.c1": 0.25})


def test_a_change_may_bring_a_warning() -> None:
    narrow = {"method.c2": ["1/16", "1/2"], "method.c3": ["1/16", "1/2"]}
    assert changed_config(config(), narrow).warnings
