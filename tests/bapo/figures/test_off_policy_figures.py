"""Ratios, ages, distances and timings: worked numbers."""

from __future__ import annotations

import pytest

from bapo.api.records import RatioSeries, Series, StalenessSeries
from bapo.figures.axes import XAxis
from bapo.figures.lines import Line, lines_figure
from bapo.figures.metric_charts import DIFFICULT_TURNOVER, OBSERVED_LOGPROB_GAP, VERL_PHASES
from bapo.figures.ratio_distribution import bin_names, ratio_distribution_data, ratio_distribution_figure
from bapo.figures.staleness import staleness_course, staleness_totals, staleness_totals_figure
from bapo.figures.theme import LIGHT
from bapo.figures.timings import timings_data, timings_figure
from bapo.figures.tv_bounds import bound_data, bound_figure, penalties_data
from frontend.pages.run.charts import is_empty

AXIS = XAxis("step", [1, 2], [1, 2], 0)


def test_bins_are_named_by_their_edges() -> None:
    assert bin_names([0.5, 1.02, 2.0]) == ["< 0.5", "0.5 – 1.02", "1.02 – 2", "≥ 2"]
    assert bin_names([]) == []


def test_ratios_are_shares_of_each_columns_tokens() -> None:
    ratios = RatioSeries(edges=[0.9], first_steps=[1, 2], steps=[1, 2], counts=[[1, 3], [0, 0]])
    data = ratio_distribution_data(ratios, AXIS)
    # 1 and 3 of 4 tokens; a skipped step has none.
    assert data.shares == [[0.25, None], [0.75, None]]
    heat = ratio_distribution_figure(data, LIGHT).data[0]
    # Powers of ten above 1e-4, so that a column with all tokens in one bin shows something: log10(2,500), and 4.
    assert heat.z[0][0] == pytest.approx(3.39794)
    everything = ratio_distribution_data(ratios.model_copy(update={"counts": [[0, 4], [0, 0]]}), AXIS)
    assert not is_empty(ratio_distribution_figure(everything, LIGHT))
    assert heat.customdata[1][0] == 75


def test_ages_are_summed_by_source_and_gaps_count_zero() -> None:
    staleness = StalenessSeries(
        ages=[0, 2], first_steps=[1, 2], steps=[1, 2], counts={"fresh": [[3, 0], [1, 0]], "reused": [[0, 1], [0, 3]]}
    )
    totals = staleness_totals(staleness)
    assert (totals.ages, totals.counts) == ([0, 1, 2], {"fresh": [4, 0, 0], "reused": [0, 0, 4]})
    bars = staleness_totals_figure(totals, LIGHT).data
    # 4 of 8 groups; no re-evaluated group was trained on.
    assert bars[0].customdata[0] == 50
    assert list(bars[1].y) == []
    course = staleness_course(staleness, AXIS)
    # Step 1: 3 of 4 at age 0; step 2: 1 of 4.
    assert course.shares == [[0.75, 0.25], [0.25, 0.75]]


def test_penalties_follow_the_reuse_window() -> None:
    columns = {
        "bapo/tv/sequences/fresh": [0.1, None],
        "bapo/tv/sequences/reused": [0.2, 0.2],
        "bapo/thresholds/c2": [0.2, 0.5],
        "bapo/thresholds/c3": [0.5, 0.5],
    }
    data = penalties_data(Series(steps=[1, 2], columns=columns), AXIS, k1=2.0, k2=None)
    # 2·K·TV + 2·TV: 2·(2 + 1)·0.1.
    assert list(data.values[0]) == [pytest.approx(0.6), None]
    assert list(data.values[1]) == [None, None]
    # K3 = (1 - s) / s; s = sqrt(0.16) = 0.4 gives 1.5, s = sqrt(0.25) = 0.5 gives 1.
    assert list(data.constants[2]) == pytest.approx([1.5, 1.0], rel=1e-4)
    assert list(data.values[2]) == pytest.approx([2 * 2.5 * 0.2, 2 * 2 * 0.2], rel=1e-4)


def test_both_sides_of_the_bound_are_drawn_for_each_source() -> None:
    columns = {
        "bapo/bound/improvement/fresh": [0.02, None],
        "bapo/bound/surrogate/fresh": [0.1, None],
        "bapo/bound/tv/fresh": [0.15, None],
        "bapo/tv/sequences/fresh": [0.05, 0.06],
        "bapo/bound/improvement/reused": [0.01, None],
        "bapo/bound/surrogate/reused": [0.3, None],
        "bapo/bound/tv/reused": [0.2, None],
        "bapo/tv/sequences/reused": [0.25, 0.2],
        "bapo/thresholds/c2": [0.5, 0.5],
        "bapo/thresholds/c3": [0.5, 0.5],
    }
    data = bound_data(Series(steps=[1, 2], columns=columns), AXIS, k1=2.0, k2=1.5)
    # L - 2·K·TV - 2·TV_t: 0.1 - 2·2·0.15 - 2·0.05.
    assert list(data.bounds[0]) == [pytest.approx(-0.6), None]
    assert list(data.bounds[1]) == [None, None]
    # K3 = 1: 0.3 - 2·0.2 - 2·0.25.
    assert list(data.bounds[2]) == [pytest.approx(-0.6, rel=1e-4), None]
    solid, dashed = bound_figure(data, LIGHT).data[:2]
    assert (list(solid.y), solid.line.dash, dashed.name, dashed.line.dash) == (
        [0.02, None],
        "solid",
        "X1 fresh, bound",
        "dash",
    )
    assert solid.mode == "lines+markers", "a lone point is seen"
    assert all(line.connectgaps for line in (solid, dashed))


def test_phases_add_up_to_the_step() -> None:
    columns = {"timing_s/gen": [0.5, 0.25], "timing_s/update": [0.25, None], "timing_s/step": [1.0, None]}
    data = timings_data(Series(steps=[1, 2], columns=columns), AXIS)
    # Rest of step 1: 1 - 0.5 - 0.25.
    assert [phase[0] for phase in data.phases] == [0.5, 0.0, 0.0, 0.25, 0.25]
    assert data.phases[4][1] is None
    assert {trace.stackgroup for trace in timings_figure(data, LIGHT).data} == {"step"}


def test_of_verls_phases_those_are_drawn_that_the_run_has() -> None:
    columns = {"timing_s/verl/gen": [0.5, 0.25], "timing_s/verl/update_weights": [None, 0.125]}
    figure = VERL_PHASES.figure(Series(steps=[1, 2], columns=columns), AXIS, LIGHT)
    shown = {trace.name: list(trace.y) for trace in figure.data}
    assert shown == {"weights to vLLM": [None, 0.125], "generating": [0.5, 0.25]}


def test_the_gap_of_other_trainers_is_drawn_in_the_quantity_that_they_log() -> None:
    columns = {"training/rollout_probs_diff_mean": [1e-3, 2e-3], "training/rollout_probs_diff_max": [0.1, 0.2]}
    figure = OBSERVED_LOGPROB_GAP.figure(Series(steps=[1, 2], columns=columns), AXIS, LIGHT)
    # Probabilities, not their logarithms, which ours and TRL's are.
    assert [trace.name for trace in figure.data] == ["mean |Δp|, as verl logs it", "largest |Δp|, as verl logs it"]


def test_colours_that_come_round_again_are_dotted() -> None:
    series = Series(steps=[1], columns={key: [1.0] for key in VERL_PHASES.keys})
    figure = VERL_PHASES.figure(series, XAxis("step", [1], [1], 0), LIGHT)
    lines = [(trace.line.color, trace.line.dash) for trace in figure.data]
    assert len(set(lines)) == len(VERL_PHASES.keys) == 8


def test_what_leaves_a_buffer_stands_below_zero() -> None:
    columns = {"bapo/buffer/difficult/entered": [3, 1], "bapo/buffer/difficult/evicted": [2, None]}
    figure = DIFFICULT_TURNOVER.figure(Series(steps=[1, 2], columns=columns), AXIS, LIGHT)
    shown = {trace.name: list(trace.y) for trace in figure.data}
    assert shown["entered"] == [3, 1]
    assert shown["evicted, no room"] == [-2, None]


def test_a_point_between_two_gaps_is_marked() -> None:
    axis = XAxis("step", [1, 2, 3, 4], [1, 2, 3, 4], 0)
    sparse = Line("X2", [None, 0.1, None, 0.2], "#000000")
    dense = Line("X1", [0.1, 0.2, None, None], "#000000")
    figure = lines_figure([sparse, dense], axis, hover="%{y}", yaxis={})
    assert [trace.mode for trace in figure.data] == ["lines+markers", "lines"]
