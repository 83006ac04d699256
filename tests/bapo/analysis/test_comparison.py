"""Groups, intervals over seeds, equal budgets, paired differences and the cost of an accuracy, on worked numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bapo.analysis.comparison import (
    ComparedRun,
    Curve,
    common_positions,
    cumulative_at,
    curve,
    cut,
    differences,
    estimate,
    first_reaching,
    flattened,
    groups_of,
    is_material,
    mean_by_stretches,
    mean_curve,
    over_replicates,
    paired_difference,
    replicate_keys,
    seed_in,
    spread,
    t_quantile,
    value_at,
    value_text,
)
from bapo.analysis.result import CostSpread, MeanEstimate


def line(*points: tuple[float, float]) -> Curve:
    x, y = zip(*points, strict=True)
    return Curve(np.array(x, float), np.array(y, float))


def config(**changes: Any) -> dict[str, Any]:
    return {"method.type": "bapo", "method.c1": 0.125, "training.seed": 1, "loss.clip_low": 0.2} | {
        name.replace("__", "."): value for name, value in changes.items()
    }


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.706), (2, 4.303), (30, 2.042), (31, 2.040), (40, 2.021), (60, 2.000), (120, 1.980)]
)
def test_quantiles_are_those_of_the_published_table(degrees: int, quantile: float) -> None:
    assert round(float(t_quantile(degrees)), 3) == quantile


def test_an_interval_over_three_seeds() -> None:
    # Mean 0.4; deviations −0.1, 0, 0.1: s = sqrt(0.02 / 2) = 0.1; t(2) = 4.30265: ± 4.30265 · 0.1 / sqrt(3) = 0.24841.
    result = estimate([0.3, 0.4, 0.5])
    assert result is not None
    assert (result.value, result.n) == (pytest.approx(0.4), 3)
    assert result.high == pytest.approx(0.4 + 0.24841, abs=1e-5)
    assert result.low == pytest.approx(0.4 - 0.24841, abs=1e-5)


def test_one_run_has_no_interval_and_none_no_mean() -> None:
    assert estimate([0.3]) == MeanEstimate(value=0.3, low=None, high=None, n=1)
    assert estimate([]) is None


def test_a_cost_has_a_median_and_a_range() -> None:
    assert spread([300, 100, 200, 900]) == CostSpread(median=250, low=100, high=900)
    assert spread([]) is None


def test_a_paired_difference_takes_the_seeds_that_both_have() -> None:
    first = [(1, 0.30), (2, 0.40), (3, 0.99)]
    # Two runs of seed 2 count as their mean, 0.50.
    second = [(2, 0.48), (2, 0.52), (1, 0.32), (4, 0.0)]
    # Differences 0.02 and 0.10: mean 0.06, s = 0.056569, t(1) = 12.706: ± 12.706 · 0.056569 / sqrt(2) = 0.50824.
    result = paired_difference(first, second)
    assert result is not None
    assert (result.value, result.n) == (pytest.approx(0.06), 2)
    assert result.high == pytest.approx(0.06 + 0.50824, abs=1e-5)
    assert paired_difference(first, [(5, 0.5)]) is None
    # Runs whose seed is not known are paired with none.
    assert paired_difference([(None, 0.3)], [(None, 0.5)]) is None


@pytest.mark.parametrize(
    ("config", "seed"),
    [
        ({"training": {"seed": 3}, "method": {"config": {"seed": 4}}}, 3),
        ({"training": {}, "method": {"type": "observed", "config": {"seed": 4}}}, 4),
        ({"method": {"type": "observed", "config": {"data.seed": 5}}}, 5),
        ({"method": {"type": "observed", "config": {"data.seed": None, "lr": 1.0}}}, None),
    ],
)
def test_a_run_has_the_seed_that_its_trainer_names(config: dict[str, Any], seed: int | None) -> None:
    flat = flattened(config)
    assert seed_in(flat) == seed
    assert not any(is_material(field) for field in flat if field.endswith("seed"))


# ---------------------------------------------------------------- configs and groups


def test_a_config_is_flattened_but_not_its_lists() -> None:
    assert flattened({"method": {"type": "bapo", "c2": [0.125, 0.5]}, "a": {"b": {"c": None}}}) == {
        "method.type": "bapo",
        "method.c2": [0.125, 0.5],
        "a.b.c": None,
    }


def test_only_what_differs_is_a_difference() -> None:
    unlike = {"method.type": "grpo", "training.seed": 1, "loss.clip_low": 0.2}
    found = differences([config(), config(training__seed=2), unlike])
    assert [each.field for each in found] == ["method.type", "method.c1", "training.seed"]
    assert found[1].values == (0.125, 0.125, None)
    assert found[1].known == (True, True, False)
    assert differences([config(), config()]) == []


def test_none_differs_from_a_field_that_is_not_there() -> None:
    assert [each.field for each in differences([{"a": None}, {}])] == ["a"]


def runs(*configs: dict[str, Any]) -> list[ComparedRun]:
    return [ComparedRun(f"run {index}", each) for index, each in enumerate(configs)]


def test_everything_but_the_seed_puts_seeds_together() -> None:
    grpo = {"method.type": "grpo", "training.seed": 1, "loss.clip_low": 0.1}
    groups = groups_of(runs(config(), grpo, config(training__seed=2), grpo | {"training.seed": 2}), "config")
    # c1 and clip_low follow from the method, so that its name says it all.
    assert [(group.label, group.members) for group in groups] == [("bapo", (0, 2)), ("grpo", (1, 3))]


@pytest.mark.parametrize("by", ["config", "method.type"])
def test_an_ablation_is_named_by_the_parts_it_leaves_out(by: str) -> None:
    left_out: tuple[list[str], ...] = ([], ["reused"], ["reused", "reevaluated"])
    groups = groups_of(runs(*(config(method__without=parts) for parts in left_out)), by)
    assert [group.label for group in groups] == ["bapo", "bapo w/o X3", "bapo w/o X2, X3"]


def test_configs_of_one_method_are_told_apart_by_their_fields() -> None:
    groups = groups_of(runs(config(), config(method__c1=0.25), config(training__seed=3)), "config")
    assert [(group.label, group.members) for group in groups] == [("bapo · c1 0.125", (0, 2)), ("bapo · c1 0.25", (1,))]


def test_names_say_what_sets_the_training_apart() -> None:
    side = {"task.num_test": 200, "evaluation.interval": 25, "tracking.interval": 10}
    fast, slow = config(**side | {"training.checkpoint_interval": 5}), config(**side | {"tracking.interval": 50})
    other = config(**side | {"method.c1": 0.25, "training.seed": 2})
    # Checkpoints change no result, and how a run is measured is named where nothing else sets two apart.
    assert [group.label for group in groups_of(runs(slow, other), "config")] == ["bapo · c1 0.125", "bapo · c1 0.25"]
    labels = [group.label for group in groups_of(runs(fast, slow, config(**side)), "config")]
    assert labels == ["bapo · tracking interval 10", "bapo · tracking interval 50"]


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("method", ["bapo", "grpo"]),
        ("method.type", ["bapo", "grpo"]),
        ("method.c1", ["c1 0.125", "no c1"]),
        ("tags", ["a, b", "no tags"]),
        ("group", ["night", "no group"]),
    ],
)
def test_groups_by_field_tags_and_name(by: str, labels: list[str]) -> None:
    three = [
        ComparedRun("x", config(), ("b", "a"), "night"),
        ComparedRun("y", {"method.type": "grpo"}, (), None),
        ComparedRun("z", config(training__seed=9), ("a", "b"), "night"),
    ]
    groups = groups_of(three, by)
    assert [group.label for group in groups] == labels
    assert [group.members for group in groups] == [(0, 2), (1,)]


def test_runs_of_one_name_stay_apart() -> None:
    twins = [ComparedRun("twin", config()), ComparedRun("twin", config())]
    assert [(group.label, group.members) for group in groups_of(twins, "run")] == [("twin", (0,)), ("twin", (1,))]


def test_a_field_that_no_run_has_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no run has the config field 'method\.c9'"):
        groups_of(runs(config()), "method.c9")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1 + 0.2, "0.3"), ([0.125, 0.5], "[0.125, 0.5]"), (True, "true"), (None, "none"), (8, "8"), ("auto", "auto")],
)
def test_values_read_as_one_writes_them(value: Any, text: str) -> None:
    assert value_text(value) == text


# ---------------------------------------------------------------- curves


def test_a_curve_has_no_gaps_and_one_value_a_position() -> None:
    found = curve(np.array([0.0, 1, 1, 2, 3]), np.array([5.0, 6, 7, math.nan, 8]))
    assert (found.x.tolist(), found.y.tolist()) == ([0, 1, 3], [5, 7, 8])
    assert len(curve(np.empty(0), np.empty(0)).x) == 0


@pytest.mark.parametrize(
    ("until", "x", "y"),
    [
        (30, [0, 10, 20], [0, 1, 3]),
        (20, [0, 10, 20], [0, 1, 3]),
        # Half-way from 1 to 3.
        (15, [0, 10, 15], [0, 1, 2]),
        (10, [0, 10], [0, 1]),
        (0, [0], [0]),
    ],
)
def test_a_curve_is_cut_exactly_at_the_budget(until: float, x: list[float], y: list[float]) -> None:
    found = cut(line((0, 0), (10, 1), (20, 3)), until)
    assert (found.x.tolist(), found.y.tolist()) == (x, y)


def test_nothing_is_left_of_a_curve_that_begins_after_the_budget() -> None:
    assert len(cut(line((10, 1), (20, 3)), 9).x) == 0
    assert cut(line((10, 1), (20, 3)), 10).y.tolist() == [1]


def test_values_between_measurements_are_interpolated_and_none_invented() -> None:
    points = line((10, 1), (20, 3))
    assert [value_at(points, position) for position in (9.9, 10, 12.5, 20, 20.1)] == [None, 1, 1.5, 3, None]


def test_positions_are_those_that_were_measured_unless_there_are_too_many() -> None:
    curves = [line((0, 1), (4, 1)), line((2, 1), (4, 1), (6, 1))]
    assert common_positions(curves, 4).tolist() == [0, 2, 4, 6]
    assert common_positions(curves, 3).tolist() == [0, 3, 6]
    assert len(common_positions([])) == 0


def test_a_mean_counts_each_run_where_it_was_measured() -> None:
    # At 0: 1 and 3; at 1: 2 and (3 + 7) / 2 = 5; at 2: 7 alone.
    found = mean_curve([line((0, 1), (1, 2)), line((0, 3), (2, 7))], np.array([0.0, 1, 2, 3]))
    assert found.n.tolist() == [2, 2, 1, 0]
    assert found.mean[:3].tolist() == [2, 3.5, 7]
    # s = sqrt(2) at 0: ± 12.7062 · sqrt(2) / sqrt(2) = 12.7062; s = 3 / sqrt(2) at 1: ± 12.7062 · 1.5 = 19.0593.
    assert found.high[:2] - found.mean[:2] == pytest.approx([12.7062, 19.0593])
    assert found.mean[:2] - found.low[:2] == pytest.approx([12.7062, 19.0593])
    assert np.isnan(found.low[2:]).all()
    assert math.isnan(found.mean[3])


@pytest.mark.parametrize(("target", "position"), [(0.2, 0), (0.3, 50), (0.31, 150), (0.35, 150), (0.351, None)])
def test_an_accuracy_is_reached_at_the_first_evaluation_that_has_it(target: float, position: float | None) -> None:
    # It falls again at 100.
    assert first_reaching(line((0, 0.2), (50, 0.3), (100, 0.25), (150, 0.35)), target) == position


def test_what_was_spent_after_a_step() -> None:
    steps, totals = np.array([1, 2, 4]), np.array([256.0, 600, 900])
    assert cumulative_at(steps, totals, np.array([0, 1, 2, 3, 4, 9])).tolist() == [0, 256, 600, 600, 900, 900]
    assert cumulative_at(steps[:0], totals[:0], np.array([0, 5])).tolist() == [0, 0]


def test_over_an_axis_that_does_not_rise_each_run_counts_once_in_a_stretch() -> None:
    # Four values in the shorter run: two stretches, below and from the median 2 of all x on.
    first = (np.array([4.0, 1.0, 3.0, 2.0]), np.array([40.0, 10.0, 30.0, 20.0]))
    second = (np.array([1.0, 1.0, 1.0, 5.0, 6.0]), np.array([2.0, 4.0, 6.0, 50.0, 70.0]))
    found = mean_by_stretches([first, second])
    # Below 2 lie 10 of the first run, and of the second (2 + 4 + 6) / 3; above, (20 + 30 + 40) / 3 and (50 + 70) / 2.
    assert found.x.tolist() == [1.0, (3.0 + 5.5) / 2]
    assert found.mean.tolist() == [(10.0 + 4.0) / 2, (30.0 + 60.0) / 2]
    assert found.n.tolist() == [2, 2]


def test_a_stretch_without_a_value_of_a_run_is_the_mean_of_the_others() -> None:
    low, high = (np.array([1.0, 1.0, 2.0, 2.0]), np.full(4, 1.0)), (np.array([7.0, 7.0, 8.0, 8.0]), np.full(4, 3.0))
    found = mean_by_stretches([low, high])
    assert (found.mean.tolist(), found.n.tolist()) == ([1.0, 3.0], [1, 1])
    assert np.isnan(found.low).all()
    # One value throughout is one stretch, and nothing measured none.
    assert mean_by_stretches([(np.full(4, 2.0), np.arange(4.0))] * 2).mean.tolist() == [1.5]
    assert len(mean_by_stretches([(np.array([np.nan]), np.array([1.0]))]).x) == 0


# ---------------------------------------------------------------- replicates


def test_identical_runs_of_one_seed_are_one_replicate() -> None:
    config = {"training.seed": 1, "method.c1": 0.125, "training.steps": 150, "evaluation.interval": 25}
    same = {**config, "evaluation.interval": 50, "engine.threads": 2}
    seed, setting = {**config, "training.seed": 2}, {**config, "method.c1": 0.25}
    keys = replicate_keys([config, same, seed, setting])
    # How a run is measured or how fast it is makes no other replicate; its seed and its settings do.
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    # Runs whose seed is not known may have different ones.
    assert len(set(replicate_keys([{"method.c1": 0.125}] * 2))) == 2


def test_a_replicate_counts_once_with_the_mean_of_its_runs() -> None:
    # (1 + 3) / 2 = 2, and 4.
    assert over_replicates([("a", 1.0), ("b", 4.0), ("a", 3.0)]) == [2.0, 4.0]


def test_equal_values_have_no_interval() -> None:
    assert estimate([0.291, 0.291]) == MeanEstimate(value=0.291, low=None, high=None, n=2)
    assert estimate([1.0, 1.0, 1.0]) == MeanEstimate(value=1.0, low=None, high=None, n=3)


def test_curves_of_one_replicate_have_no_band() -> None:
    curves = [line((1, 1), (2, 2)), line((1, 3), (2, 4)), line((1, 2), (2, 9))]
    found = mean_curve(curves, np.array([1.0, 2.0]), ["a", "a", "b"])
    # Replicates: 2 and 2 at x = 1, which have no spread; 3 and 9 at x = 2, 6 ± 12.706 · 3.
    assert found.n.tolist() == [2, 2]
    assert found.mean.tolist() == [2, 6]
    assert found.low == pytest.approx([math.nan, 6 - 38.1186], nan_ok=True, abs=1e-3)
    alone = mean_curve(curves[:2], np.array([1.0, 2.0]), ["a", "a"])
    assert (alone.n.tolist(), alone.mean.tolist()) == ([1, 1], [2, 3])
    assert np.isnan(alone.low).all()


def test_stretches_count_replicates() -> None:
    ways = [(np.array([0.0, 1.0]), np.array(values)) for values in ([1.0, 2.0], [3.0, 4.0])]
    assert mean_by_stretches(ways).n.tolist() == [2]
    found = mean_by_stretches(ways, replicates=["a", "a"])
    # One stretch: 1.5 and 3.5, one replicate of 2.5.
    assert (found.n.tolist(), found.mean.tolist(), np.isnan(found.low).all()) == ([1], [2.5], True)
