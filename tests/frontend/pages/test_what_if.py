"""What moving the controls means, and what the answer says in words."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.analysis.what_if.answer import WhatIfTotal
from bapo.analysis.what_if.forecast import what_if
from bapo.config import RunConfig, apply_changes, resolve
from bapo.figures.theme import LIGHT
from frontend.pages.run.what_if import figures
from frontend.pages.run.what_if_controls import changes_of, control_kinds, control_values
from frontend.pages.run.what_if_summary import total_row, totals, words
from tests.support.replayed import config as small_config
from tests.support.replayed import recording


def config(**changes: Any) -> RunConfig:
    return resolve(apply_changes({}, {path.replace("__", "."): value for path, value in changes.items()})).config


def test_controls_stand_where_the_config_is() -> None:
    values = control_values(config(method__c1="0.3", training__batch_size=64, method__without=["reused"]))
    # 0.3 · 8 = 2.4: the largest count within is 2.
    assert (values["method.c1"], values["training.batch_size"], values["parts"]) == (2, 64, ["reevaluated"])
    assert values["reuse.0"] == [1, 2]
    assert values["reuse.1"] == [4, 5]
    assert values["method.difficult_buffer.capacity"] == ""


def test_controls_that_nobody_moved_change_nothing() -> None:
    for run in (config(), config(method__c1="0.3"), config(method__type="grpo")):
        start = control_values(run)
        assert changes_of(start, dict(start), run) == {}


@pytest.mark.parametrize(
    ("moved", "changes"),
    [
        ({"method.c1": 2}, {"method.c1": "1/4"}),
        ({"reuse.0": [0, 2]}, {"method.c2": ["0", "1/2"]}),
        ({"reuse.1": [4, 7]}, {"method.c3": ["1/4", "7/8"]}),
        ({"reuse.0": [0, 3]}, {"method.c2": ["0", "1/2"], "method.c3": ["3/8", "5/8"]}),
        ({"method.m": 2, "training.batch_size": 16}, {"method.m": 2, "training.batch_size": 16}),
        ({"method.difficult_buffer.capacity": 9}, {"method.difficult_buffer.capacity": 9}),
        ({"parts": ["reused"]}, {"method.without": ["reevaluated"]}),
        ({"parts": []}, {"method.without": ["reevaluated", "reused"]}),
        ({"method.type": "ba_ppo", "method.c1": 2}, {"method.type": "ba_ppo", "method.c1": "1/4"}),
        ({"method.type": "ppo", "method.c1": 2, "parts": []}, {"method.type": "ppo"}),
        # GRPO has no c1.
        ({"method.type": "grpo", "method.c1": 3}, {"method.type": "grpo"}),
        ({"method.type": "bapo_mini", "method.m": 3, "method.c1": 3}, {"method.type": "bapo_mini", "method.m": 3}),
        ({"method.type": "dapo", "method.max_rounds": 2}, {"method.type": "dapo", "method.max_rounds": 2}),
        # BAPO has no rounds.
        ({"rollout.group_size": 16, "method.max_rounds": 2}, {"rollout.group_size": 16}),
    ],
)
def test_moving_a_control_changes_its_field(moved: dict[str, Any], changes: dict[str, Any]) -> None:
    run = config()
    start = control_values(run)
    assert changes_of(start, start | moved, run) == changes


def test_what_was_not_moved_of_a_range_keeps_its_exact_value() -> None:
    run = config(method__c2=["0.11", "0.5"])
    start = control_values(run)
    assert start["reuse.0"][0] == pytest.approx(0.88)
    assert changes_of(start, start | {"reuse.1": [3, 5]}, run) == {"method.c2": ["11/100", "3/8"]}


def test_a_grpo_run_moves_to_bapo_by_its_defaults_and_what_is_moved() -> None:
    run = config(method__type="grpo")
    start = control_values(run)
    moved = start | {"method.type": "bapo", "method.m": 2}
    assert changes_of(start, moved, run) == {"method.type": "bapo", "method.m": 2}


def test_totals_carry_their_interval_or_say_that_they_are_exact() -> None:
    answer = what_if(recording(small_config()), {"method.m": 1})
    sure = WhatIfTotal(recorded=0.5, forecast=0.5, low=0.5, high=0.5, estimated=True)
    unsure = WhatIfTotal(recorded=100, forecast=140, low=120, high=160, estimated=True)
    answer = answer.model_copy(
        update={"totals": answer.totals.model_copy(update={"fill_rate": sure, "rollouts": unsure})}
    )
    by_name = {total.name: total for total in totals(answer)}
    assert (by_name["fill-rate"].interval, by_name["fill-rate"].change) == ("the same in all draws", "")
    assert (by_name["rollouts"].interval, by_name["rollouts"].change) == ("estimate, 90 %: 120 to 160", "+40")
    assert len(total_row(totals(answer))) == 9
    exact = totals(what_if(recording(small_config()), {}))
    assert {total.interval for total in exact} == {"exact"}


def test_the_words_say_what_is_estimated_and_what_is_not_simulated() -> None:
    run = recording(small_config())
    exact, estimated = (str(words(what_if(run, changes))) for changes in ({}, {"method.m": 1}))
    assert "Exact, given the recorded accuracies" in exact
    assert "never happened" in estimated
    assert all("not simulated" in text for text in (exact, estimated))


def test_exact_and_estimated_parts_are_drawn_apart() -> None:
    answer = what_if(recording(small_config()), {"method.m": 1})
    drawn = figures(answer, LIGHT)["what-if-composition"]
    solid, hatched = (
        next(trace for trace in drawn.data if trace.name == name and trace.yaxis == "y2")
        for name in ("X2 re-evaluated", "X2 re-evaluated, estimate")
    )
    assert hatched.fillpattern.shape == "/"
    for row, exact in enumerate(answer.forecast.x2.is_exact):
        mean = answer.forecast.x2.mean[row]
        assert (solid.y[row], hatched.y[row]) == ((mean, 0) if exact else (0, mean))
    # X1, X2 and X3 make the batch in both panels.
    for axis, fill, size in (
        ("y", answer.recorded.fill_rate, answer.batch_size_recorded),
        ("y2", answer.forecast.fill_rate.mean, answer.batch_size),
    ):
        layers = [trace.y for trace in drawn.data if trace.yaxis == axis and trace.stackgroup]
        assert [sum(column) / size for column in zip(*layers, strict=True)] == pytest.approx(list(fill), abs=1e-3)


def test_a_band_is_drawn_only_where_something_is_estimated() -> None:
    run = recording(small_config())
    exact, estimated = (figures(what_if(run, changes), LIGHT)["what-if-difficult"] for changes in ({}, {"method.m": 1}))
    by_name = {trace.name: trace for trace in exact.data}
    assert set(by_name["estimate, 90 % interval"].y) == {None}
    assert None not in by_name["exact"].y
    shown = {trace.name: trace.y for trace in estimated.data}
    first = next(row for row, value in enumerate(shown["exact"]) if value is None)
    assert all(value is None for value in shown["high"][: first - 1])
    assert all(low <= high for low, high in zip(shown["low"][first:], shown["high"][first:], strict=True))


def test_a_run_is_replayed_as_what_makes_batches_by_a_rule_and_as_itself() -> None:
    offered = ["bapo", "ba_ppo", "bapo_mini", "dapo", "grpo", "grpo_delayed", "gspo", "luffy", "ppo", "relift"]
    assert [*control_kinds("grpo")] == [*control_kinds()] == offered
    assert [*control_kinds("observed")] == [*offered, "observed"]


def test_controls_of_rounds_are_those_of_dapo() -> None:
    kinds = control_kinds()
    assert [method for method, found in kinds.items() if "rounds" in found] == ["dapo"]
    assert control_values(config(method__type="dapo", method__max_rounds=6))["method.max_rounds"] == 6
    assert control_values(config())["method.max_rounds"] == 4


def test_another_group_size_and_further_rounds_are_called_estimates() -> None:
    run = recording(small_config())
    sizes, rounds = (what_if(run, changes) for changes in ({"rollout.group_size": 16}, {"method.type": "dapo"}))
    assert "With 16 responses to each prompt instead of 8, all answers are estimates" in str(words(sizes))
    assert "groups of further rounds were never rolled out" in str(words(rounds))
    by_name = {total.name: total for total in totals(rounds)}
    assert by_name["rollouts"].interval.startswith("estimate, 90 %: ")
    assert by_name["x2-share"].interval == "exact"
    drawn = figures(rounds, LIGHT)
    (hatched,) = (trace for trace in drawn["what-if-composition"].data if trace.name == "X1 fresh, estimate")
    x1 = rounds.forecast.x1
    assert list(hatched.y) == [0 if exact else mean for mean, exact in zip(x1.mean, x1.is_exact, strict=True)]
    # Over ten steps, of which the first already is an estimate.
    band = {trace.name: trace.y for trace in drawn["what-if-gradient"].data}
    assert set(band["exact"]) == {None}
    assert all(low < high for low, high in zip(band["low"], band["high"], strict=True))


def test_thresholds_are_counted_in_the_recorded_group_size_whatever_the_new_one_is() -> None:
    run = config(method__c1="1/4")
    moved = control_values(config(method__c1="1/4", rollout__group_size=16), 8)
    assert (moved["method.c1"], moved["rollout.group_size"]) == (2, 16)
    assert changes_of(control_values(run), moved, run) == {"rollout.group_size": 16}
