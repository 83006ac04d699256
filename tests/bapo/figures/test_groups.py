"""Runs are put together when only the seed sets them apart, and what else differs is said."""

from __future__ import annotations

import pytest

from bapo.analysis.result import AppliedChange
from bapo.config.method import method_label
from bapo.figures.groups import fields_between, grouped
from bapo.figures.looks import styles_of
from bapo.figures.theme import LIGHT
from tests.support.figure_runs import config, run


def test_runs_that_differ_in_the_seed_alone_are_one_group() -> None:
    groups = grouped([run("a", seed=1), run("b", seed=2), run("c", "grpo", seed=1)])
    assert [(group.label, len(group.runs)) for group in groups] == [("BAPO", 2), ("GRPO", 1)]
    assert [group.differs_in for group in groups] == [[], []]


def test_the_plain_name_belongs_to_the_usual_config_and_labels_name_what_differs() -> None:
    runs = [run("odd", changes={"method__v": 1}), run("a", seed=1), run("b", seed=2)]
    assert [group.label for group in grouped(runs)] == ["BAPO · v 1", "BAPO"]


def test_a_steered_run_is_no_replicate() -> None:
    change = AppliedChange(step=53, set={"method.v": 1}, author="admin")
    steered = run("c", seed=3)._replace(applied_changes=[change])
    labels = [group.label for group in grouped([run("a", seed=1), run("b", seed=2), steered])]
    assert labels == ["BAPO", "BAPO · v 5 → 1 from step 53"]


def test_a_filter_is_named_by_its_kind() -> None:
    runs = [run("a"), run("b", seed=2), run("c", changes={"method__filter": {"type": "gaussian"}})]
    assert [group.label for group in grouped(runs)] == ["BAPO", "BAPO · filter gaussian"]


def test_grouping_by_method_says_in_what_else_the_members_differ() -> None:
    groups = grouped([run("a"), run("b", changes={"method__v": 1})], "method")
    assert [(group.label, group.differs_in) for group in groups] == [("BAPO", ["method.v"])]


def test_grouping_by_a_config_field() -> None:
    groups = grouped([run("a"), run("b", changes={"training__learning_rate": 0.2})], "training.learning_rate")
    assert [group.label for group in groups] == ["learning_rate 0.1", "learning_rate 0.2"]


def test_grouping_by_a_field_that_no_run_has_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing"):
        grouped([run("a")], "method.nothing")


def test_runs_of_one_seed_are_named_for_they_are_not_independent() -> None:
    (group,) = grouped([run("a", seed=7), run("b", seed=7), run("c", seed=8)])
    assert group.shared_seeds == [7]


def test_what_sets_groups_apart_beside_their_method() -> None:
    runs = [run("a"), run("b", "grpo", changes={"training__learning_rate": 0.2})]
    assert fields_between(grouped(runs)) == ["training.learning_rate"]
    assert fields_between(grouped(runs[:1])) == []


def test_a_field_that_a_label_names_is_not_named_again() -> None:
    runs = [run("a"), run("b", seed=2), run("c", changes={"training__learning_rate": 0.2})]
    groups = grouped(runs)
    assert [group.label for group in groups] == ["BAPO", "BAPO · learning_rate 0.2"]
    assert fields_between(groups) == []


def test_methods_are_called_as_in_the_paper() -> None:
    assert method_label(config("grpo")["method"]) == "GRPO"
    assert method_label(config(method__type="bapo", method__without=["reused"])["method"]) == "BAPO w/o X3"
    assert method_label(config(method__without=["reused", "reevaluated"])["method"]) == "BAPO w/o X2, X3"
    assert method_label({"type": "brand_new"}) == "brand_new"


def test_a_methods_look_does_not_depend_on_what_stands_beside_it() -> None:
    alone = styles_of(["GRPO"], LIGHT)["GRPO"]
    assert styles_of(["something", "BAPO", "GRPO"], LIGHT)["GRPO"] == alone
    others = styles_of(["BAPO", "GRPO", "one", "two"], LIGHT)
    assert len({(style.colour, style.dash) for style in others.values()}) == 4


def test_more_labels_than_looks_share_them() -> None:
    assert len(styles_of([f"run {index}" for index in range(50)], LIGHT)) == 50
