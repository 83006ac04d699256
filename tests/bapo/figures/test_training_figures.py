"""Figures over the steps of a run assert their data, never pixels."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go
import pytest

from bapo.api.records import HistogramSeries, Series
from bapo.figures.accuracy_bins import accuracy_bins_figure, histogram_bins
from bapo.figures.axes import TIME_KEY, XAxis, x_axis
from bapo.figures.batch_composition import batch_composition_data, batch_composition_figure
from bapo.figures.evaluations import evaluations_data
from bapo.figures.lines import extension
from bapo.figures.marks import Mark, add_marks
from bapo.figures.metric_charts import BUFFER_AGES, BUFFER_SIZES, FILL_RATE, REWARDS, scalar
from bapo.figures.rollouts import rollouts_data, rollouts_figure
from bapo.figures.smoothing import moving_mean, smoothed_figure
from bapo.figures.theme import DARK, LIGHT, accuracy_ramp, faint
from bapo.figures.thresholds import thresholds_data, thresholds_figure

TWO_STEPS = Series(
    steps=[1, 2],
    columns={
        "bapo/batch/x1": [20, 24],
        "bapo/batch/x2": [0, 3],
        "bapo/batch/x3": [0, 5],
        "bapo/batch/batch_size": [32, 32],
        "bapo/batch/fill_rate": [20 / 32, 1.0],
        "critic/rewards/mean": [0.2, 0.4],
        "bapo/cost/num_rollouts": [256, 592],
        "timing_s/unix_time": [1_788_264_000.0, 1_788_264_001.5],
        "actor/entropy": [1.5, None],
    },
)
AXIS = XAxis("step", [1, 2], [1, 2], 0)


def test_batch_composition_stacks_the_sources_against_the_batch_size() -> None:
    figure = batch_composition_figure(batch_composition_data(TWO_STEPS, AXIS), LIGHT)
    assert [trace.name for trace in figure.data] == ["X1 fresh", "X2 re-evaluated", "X3 reused", "batch size B"]
    assert [list(trace.y) for trace in figure.data] == [[20, 24], [0, 3], [0, 5], [32, 32]]
    assert {trace.stackgroup for trace in figure.data[:3]} == {"batch"}
    assert figure.data[3].stackgroup is None
    assert [trace.line.color for trace in figure.data[:3]] == [LIGHT.fresh, LIGHT.reevaluated, LIGHT.reused]


def test_a_metric_that_the_run_lacks_leaves_a_gap_instead_of_a_zero() -> None:
    figure = BUFFER_SIZES.figure(TWO_STEPS, AXIS, DARK)
    assert [list(trace.y) for trace in figure.data] == [[None, None]] * 3


def test_a_mean_stands_in_front_of_what_was_measured() -> None:
    measured = FILL_RATE.figure(TWO_STEPS, AXIS, LIGHT)
    # Mean of the first step: 20/32; of both: (20/32 + 1) / 2 = 52/64.
    means = Series(steps=[1, 2], columns={"bapo/batch/fill_rate": [20 / 32, 52 / 64]})
    figure = smoothed_figure(measured, FILL_RATE.figure(means, AXIS, LIGHT), "mean of 10")
    behind, front = figure.data
    assert (list(behind.y), list(front.y)) == ([20 / 32, 1.0], [20 / 32, 52 / 64])
    assert (behind.showlegend, front.name) == (False, "fill rate, mean of 10")
    # A click in the legend hides both.
    assert behind.legendgroup == front.legendgroup
    assert behind.line.color == faint(LIGHT.series[2])


def test_stacks_show_their_means_alone_and_references_stay() -> None:
    means = Series(steps=[1, 2], columns={**TWO_STEPS.columns, "bapo/batch/x2": [0, 1.5]})
    measured, smooth = (
        batch_composition_figure(batch_composition_data(series, AXIS), LIGHT) for series in (TWO_STEPS, means)
    )
    figure = smoothed_figure(measured, smooth, "mean of 5")
    assert len(figure.data) == 4
    assert list(figure.data[1].y) == [0, 1.5]
    assert figure.data[1].hovertemplate == "%{y:,.2f} groups"
    assert figure.data[3].name == "batch size B"


@pytest.mark.parametrize(
    ("colour", "expected"),
    [
        ("#2f6fd0", "rgba(47,111,208,0.35)"),
        ("rgba(1,2,3,0.6)", "rgba(1,2,3,0.35)"),
        ("rgba(1,2,3,0.2)", "rgba(1,2,3,0.2)"),
    ],
)
def test_what_is_faint_is_not_made_stronger(colour: str, expected: str) -> None:
    assert faint(colour) == expected


def test_rollouts_reference_is_what_fresh_rollouts_alone_cost() -> None:
    data = rollouts_data(TWO_STEPS, AXIS, prompts_per_step=32, group_size=8)
    figure = rollouts_figure(data, LIGHT)
    # 32 prompts · 8 responses = 256 a step.
    assert [list(trace.y) for trace in figure.data] == [[256, 592], [256, 512]]


def test_threshold_ticks_stand_at_attainable_accuracies() -> None:
    figure = thresholds_figure(thresholds_data(TWO_STEPS, AXIS, 8), LIGHT)
    assert list(figure.layout.yaxis.ticktext) == [f"{k}/8" for k in range(9)]
    assert list(figure.layout.yaxis.tickvals) == [k / 8 for k in range(9)]
    assert thresholds_figure(thresholds_data(TWO_STEPS, AXIS, 32), LIGHT).layout.yaxis.ticktext is None


def test_accuracy_bins_are_shares_and_sum_to_one() -> None:
    # G = 2. Step 1: 4 groups, 3 at 0/2 and 1 at 1/2. Step 2: 2 groups, 1 at 1/2 and 1 at 2/2.
    data = histogram_bins([[3, 1, 0], [0, 1, 1]], AXIS, 2, window=1)
    assert data.shares == [[0.75, 0.0], [0.25, 0.5], [0.0, 0.5]]
    figure = accuracy_bins_figure(data, LIGHT)
    assert [trace.name for trace in figure.data] == ["0/2", "1/2", "2/2"]
    assert [trace.fillcolor for trace in figure.data] == list(accuracy_ramp(LIGHT, 2))


def test_accuracy_bins_leave_a_step_without_groups_out_of_the_mean() -> None:
    data = histogram_bins([[1, 0], [0, 0], [0, 1]], XAxis("step", [1, 2, 3], [1, 2, 3], 0), 1, window=2)
    # Step 2 has no group: its window holds step 1 alone; step 3's holds step 3 alone.
    assert data.shares == [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def test_ramp_runs_from_the_unsolved_red_to_the_solved_blue() -> None:
    for palette in (LIGHT, DARK):
        ramp = accuracy_ramp(palette, 8)
        assert len(ramp) == 9
        assert (ramp[0], ramp[4], ramp[8]) == (palette.ramp[0], palette.ramp[2], palette.ramp[4])


def test_moving_mean_by_hand() -> None:
    # Windows of two: 1 | (1 + 3)/2 | 3 (the gap is left out) | 5 (likewise).
    assert moving_mean([1.0, 3.0, None, 5.0], 2) == [1.0, 2.0, 3.0, 5.0]
    assert moving_mean([None, None], 2) == [None, None]


def test_rollout_axis_takes_cumulative_rollouts() -> None:
    axis = x_axis(TWO_STEPS, "rollouts", None)
    assert axis.values == [256, 592]
    assert (axis.at(0), axis.at(1), axis.at(2), axis.at(99)) == (0, 256, 592, 592)


def test_time_axis_takes_the_end_of_each_step() -> None:
    axis = x_axis(TWO_STEPS, "time", None)
    assert axis.values == [1_788_264_000_000, 1_788_264_001_500]
    figure = batch_composition_figure(batch_composition_data(TWO_STEPS, axis), LIGHT)
    assert figure.layout.xaxis.type == "date"


def test_what_has_no_time_is_left_out_of_wall_time() -> None:
    # Of an imported run nobody knows when it began, and its first step was recorded without a time.
    series = Series(steps=[1, 2, 3], columns={TIME_KEY: [None, 1_788_264_000.0, None]})
    axis = x_axis(series, "time", None)
    assert axis.values == [None, 1_788_264_000_000, 1_788_264_000_000]
    assert [axis.at(step) for step in (0, 1, 2)] == [None, None, 1_788_264_000_000]
    key = "val-core/set/acc/mean@4"
    curve = evaluations_data(Series(steps=[0, 2], columns={key: [0.1, 0.4]}), axis).curves[0]
    # The base model's accuracy has no place, but is the level that later ones are compared with.
    assert (curve.x, curve.mean) == ([None, 1_788_264_000_000], [0.1, 0.4])
    mark = Mark(0, "alert", "an alert", "alert-1")
    assert not add_marks(go.Figure(), [mark], axis, LIGHT).layout.annotations


def test_the_start_is_never_after_the_first_step() -> None:
    before, after = (datetime(2026, 9, 1, hour, 59, 59, tzinfo=UTC) for hour in (11, 12))
    assert x_axis(TWO_STEPS, "time", before).at(0) == 1_788_263_999_000
    # The server's clock runs an hour before the trainer's.
    assert x_axis(TWO_STEPS, "time", after).at(0) == 1_788_264_000_000


@pytest.mark.parametrize(("highest", "form"), [(1.0, ".0%"), (1.5, None)])
def test_mean_rewards_beyond_1_are_no_shares(highest: float, form: str | None) -> None:
    series = Series(
        steps=[1, 2], columns={"critic/rewards/mean": [0.5, highest], "bapo/batch/reward_mean": [None, 0.5]}
    )
    figure = REWARDS.figure(series, x_axis(series, "step", None), LIGHT)
    assert figure.layout.yaxis.tickformat == form


def _live_figures(series: Series, histograms: HistogramSeries) -> dict[str, Any]:
    axis = x_axis(series, "step", None)
    bins = histogram_bins(histograms.fresh, x_axis(series, "step", None), 8)
    return {
        "composition": batch_composition_figure(batch_composition_data(series, axis), LIGHT),
        "fill": FILL_RATE.figure(series, axis, LIGHT),
        "rewards": REWARDS.figure(series, axis, LIGHT),
        "thresholds": thresholds_figure(thresholds_data(series, axis, 8), LIGHT),
        "sizes": BUFFER_SIZES.figure(series, axis, LIGHT),
        "ages": BUFFER_AGES.figure(series, axis, LIGHT),
        "rollouts": rollouts_figure(rollouts_data(series, axis, prompts_per_step=32, group_size=8), LIGHT),
        "entropy": scalar("actor/entropy", "entropy", "nats").figure(series, axis, LIGHT),
        "bins": accuracy_bins_figure(bins, LIGHT),
    }


def test_appending_tails_gives_the_figure_of_the_whole_run(
    step_series: Series, step_histograms: HistogramSeries
) -> None:
    """Steps 1..40 drawn, then 41..60 appended from a request that begins nine steps earlier for the moving means."""

    def part(first: int, last: int) -> dict[str, Any]:
        keep = [i for i, step in enumerate(step_series.steps) if first <= step <= last]
        columns = {key: [values[i] for i in keep] for key, values in step_series.columns.items()}
        series = Series(steps=[step_series.steps[i] for i in keep], columns=columns)
        histograms = HistogramSeries(
            steps=series.steps,
            fresh=[step_histograms.fresh[i] for i in keep],
            reevaluated=[step_histograms.reevaluated[i] for i in keep],
            batch=[step_histograms.batch[i] for i in keep],
        )
        return _live_figures(series, histograms)

    whole, drawn, newest = part(1, 60), part(1, 40), part(32, 60)
    for name, figure in whole.items():
        tail = extension(newest[name], 20)
        assert tail.traces == list(range(len(figure.data)))
        for index, trace in enumerate(figure.data):
            assert list(drawn[name].data[index].x) + tail.columns["x"][index] == list(trace.x), name
            appended = list(drawn[name].data[index].y) + tail.columns["y"][index]
            assert appended == pytest.approx(list(trace.y)), name


def test_extension_refuses_a_figure_with_too_few_points() -> None:
    figure = batch_composition_figure(batch_composition_data(TWO_STEPS, AXIS), LIGHT)
    with pytest.raises(ValueError, match="has 2 points, fewer than the 3 new steps"):
        extension(figure, 3)


def test_the_batch_of_another_trainer_names_no_source_that_it_does_not_record() -> None:
    figure = batch_composition_figure(batch_composition_data(TWO_STEPS, AXIS), LIGHT, is_observed=True)
    assert [trace.name for trace in figure.data] == ["X1 fresh", "batch size B"]
