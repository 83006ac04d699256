"""Figures 1, 7, 13 and 15: what became of the tracked prompts, and what chance alone does."""

from __future__ import annotations

import pytest

from bapo.figures.difficulty_bins import difficulty_bins_data, difficulty_bins_figure
from bapo.figures.groups import grouped
from bapo.figures.theme import LIGHT, accuracy_ramp
from bapo.figures.tracked import common_steps, moved, moved_by_chance, pooled
from bapo.figures.unlock_comparison import unlock_comparison_data, unlock_comparison_figure
from tests.support.figure_runs import run, tracked

FIRST = [tracked(0, [0, 0, 0, 0, 2]), tracked(0, [0, 0, 0, 1, 0], replicate=1), tracked(10, [0, 0, 2, 3, 0])]
SECOND = [tracked(0, [0, 0, 0, 0, 2]), tracked(0, [0, 0, 0, 0, 2], replicate=1), tracked(10, [0, 0, 1, 0, 2])]


def test_bins_are_shares_and_the_second_bar_is_the_null() -> None:
    data = difficulty_bins_data(grouped([run("a", tracking=FIRST)]))
    (panel,) = data.panels
    assert list(panel.names) == ["base", "again", "10"]
    # 0/4: four, four and three of five prompts.
    assert panel.shares[0] == pytest.approx([0.8, 0.8, 0.6])
    assert sum(panel.shares[k][2] for k in range(5)) == pytest.approx(1)


def test_bins_of_replicates_are_means() -> None:
    runs = [run("a", seed=1, tracking=FIRST), run("b", seed=2, tracking=SECOND)]
    (panel,) = difficulty_bins_data(grouped(runs)).panels
    # At step 10: three of five and three of five.
    assert (panel.n, panel.shares[0][2]) == (2, pytest.approx(0.6))


def test_the_unsolved_are_deep_red_and_carry_their_share() -> None:
    figure = difficulty_bins_figure(difficulty_bins_data(grouped([run("a", tracking=FIRST)])), LIGHT)
    assert figure.data[0].marker.color == accuracy_ramp(LIGHT, 4)[0]
    assert list(figure.data[0].text) == ["80 %", "80 %", "60 %"]
    assert figure.layout.barmode == "stack"


def test_only_steps_that_all_runs_sampled_are_compared() -> None:
    short = run("a", tracking=[tracked(0, [0]), tracked(5, [0])])
    long = run("b", tracking=[tracked(step, [0]) for step in (0, 5, 10)])
    assert common_steps([short, long]) == [0, 5]
    assert common_steps([]) == []


def test_of_many_samplings_the_ends_and_evenly_spaced_ones_are_shown() -> None:
    many = run("a", tracking=[tracked(step, [0]) for step in range(0, 101, 10)])
    # Eleven samplings, four shown: indices 0, 3.33, 6.67 and 10.
    assert common_steps([many], 4) == [0, 30, 70, 100]


def test_rates_of_one_run_have_wilsons_interval_over_prompts() -> None:
    (group,) = unlock_comparison_data(grouped([run("a", tracking=FIRST)])).groups
    unlocked, strictly, lost = group.rates
    assert (group.step, group.n) == (10, 1)
    # Two of four prompts at 0/4 were unlocked, both to at least 2/4; the one above was lost.
    assert (unlocked.rate and unlocked.rate.value, strictly.rate and strictly.rate.value) == (0.5, 0.5)
    assert lost.rate is not None
    assert lost.rate.value == 1
    # Chance: one of four unlocked, to 1/4 only; the one above was lost as well.
    assert unlocked.chance is not None
    assert unlocked.chance.value == 0.25
    assert strictly.chance is not None
    assert strictly.chance.value == 0
    # Two of 4 are few: a Poisson count reaches 2 with probability 0.05 where 0.355 are expected, 0.0888 of 4.
    assert unlocked.rate is not None
    assert unlocked.rate.low == pytest.approx(0.0888, abs=0.0005)


def test_rates_of_several_runs_have_students_interval_over_seeds() -> None:
    runs = [run("a", seed=1, tracking=FIRST), run("b", seed=2, tracking=SECOND)]
    (group,) = unlock_comparison_data(grouped(runs)).groups
    rate = group.rates[0].rate
    assert rate is not None
    # 0.5 and 0.25: mean 0.375, s/√2 = 0.125, t = 12.7062.
    assert (rate.value, rate.high) == (0.375, pytest.approx(0.375 + 12.7062 * 0.125))


def test_every_bar_stands_beside_its_chance_level() -> None:
    figure = unlock_comparison_figure(unlock_comparison_data(grouped([run("a", tracking=FIRST)])), LIGHT)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    levels = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]
    assert [bar.y[0] for bar in bars] == [0.5, 0.5, 1]
    assert [level.y[0] for level in levels] == [0.25, 0, 1]
    # The paper's 31 % of BAPO, in the panel of unlocked prompts alone.
    (paper,) = [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "lines"]
    assert (paper.y, paper.line.dash, paper.yaxis) == ((0.31, 0.31), "dash", "y")
    assert max(axis.range[1] for axis in (figure.layout.yaxis, figure.layout.yaxis2, figure.layout.yaxis3)) <= 1


def test_a_run_that_tracks_nothing_is_left_out() -> None:
    groups = grouped([run("a"), run("b", "grpo", tracking=SECOND)])
    assert [group.label for group in unlock_comparison_data(groups).groups] == ["GRPO"]
    assert [panel.label for panel in difficulty_bins_data(groups).panels] == ["GRPO"]


def test_matrices_of_several_runs_are_counted_together() -> None:
    matrix = pooled([moved(run("a", tracking=FIRST), 10), moved(run("b", tracking=SECOND), 10)])
    assert matrix is not None
    assert matrix.num_prompts == 10
    # Of eight prompts at 0/4, five stayed, and one each reached 1/4, 2/4 and 3/4.
    assert list(matrix.counts[0][:5]) == [5, 1, 1, 1, 0]
    assert pooled([None]) is None


def test_a_base_model_sampled_once_has_no_null() -> None:
    once = run("a", tracking=[tracked(0, [0]), tracked(10, [1])])
    assert moved_by_chance(once) is None
    assert moved(once, 20) is None
    (group,) = unlock_comparison_data(grouped([once])).groups
    assert group.rates[0].chance is None
