"""Figures over evaluations, tracked prompts and totals."""

from __future__ import annotations

import pytest

from bapo.api.configs import ThresholdMapRow
from bapo.api.records import Series
from bapo.figures.accuracy_bins import tracking_bins
from bapo.figures.axes import XAxis
from bapo.figures.batch_composition import batch_composition_data, batch_composition_figure
from bapo.figures.evaluations import evaluations_data, evaluations_figure
from bapo.figures.marks import Mark, add_marks, marks_of
from bapo.figures.reevaluation import reevaluation_data, reevaluation_figure, segments
from bapo.figures.theme import LIGHT
from bapo.figures.threshold_map import threshold_map_data, threshold_map_figure
from bapo.figures.unlocks import unlocks_data, unlocks_figure
from bapo.records import EventRecord
from tests.support.journals import tracking

AXIS = XAxis("step", list(range(1, 61)), list(range(1, 61)), 0)


def test_the_null_is_base_against_base() -> None:
    records = [tracking(0, [0, 0, 1]), tracking(0, [0, 1, 1], replicate=1), tracking(25, [2, 5, 1])]
    data = unlocks_data(records, AXIS)
    assert data.null is not None
    assert [None if rate is None else rate.value for _, rate in data.null] == [0.5, 0.0, 0.0]
    assert data.x == [25]
    assert data.rates[0].unlocked is not None
    assert data.rates[0].unlocked.value == 1.0
    figure = unlocks_figure(data, LIGHT)
    # Each rate is a line and the band of its interval.
    assert [list(trace.y) for trace in figure.data[:6:2]] == [[1.0], [0.5], [0.0]]
    bands = [figure.data[1], figure.data[3], figure.data[5]]
    intervals = [rate for _, rate in data.rates[0] if rate is not None]
    assert [list(band.y) for band in bands] == [[interval.high, interval.low] for interval in intervals]
    assert [shape.y0 for shape in figure.layout.shapes] == [0.5, 0.0, 0.0]
    assert "chance 50.0 %" in figure.data[0].hovertemplate


def test_unlocks_without_a_base_sampling_are_empty() -> None:
    assert unlocks_data([], AXIS) == (AXIS, [], [], None)


def test_tracking_bins_leave_the_second_base_sampling_out() -> None:
    records = [tracking(0, [0, 8]), tracking(0, [8, 8], replicate=1), tracking(25, [8, 8])]
    bins = tracking_bins(records, AXIS, 8)
    assert bins.x == [0, 25]
    assert (bins.shares[0], bins.shares[8]) == ([0.5, 0.0], [0.5, 1.0])


def test_evaluations_have_one_curve_per_set_with_its_interval(evaluation_series: Series) -> None:
    data = evaluations_data(evaluation_series, AXIS)
    assert [(curve.dataset, curve.num_samples) for curve in data.curves] == [("CD-34", 8), ("CD-4", 8)]
    assert data.curves[0].x == [0, 50, 60]
    figure = evaluations_figure(data, LIGHT)
    named = {trace.name: trace for trace in figure.data}
    assert list(named["CD-34 avg@8"].y) == list(data.curves[0].mean)
    band = named["CD-34 95 % interval"]
    assert list(band.x) == [0, 50, 60, 60, 50, 0]
    assert list(band.y) == [*data.curves[0].high, *reversed(data.curves[0].low)]
    assert [shape.y0 for shape in figure.layout.shapes] == [data.curves[0].mean[0], data.curves[1].mean[0]]


def test_reevaluation_totals() -> None:
    series = Series(
        steps=[5, 10, 15],
        columns={
            "bapo/batch/reevaluated": [10, 20, None],
            "bapo/batch/improved": [2, 3, None],
            "bapo/batch/x2": [2, 1, None],
            "bapo/batch/solved": [0, 1, None],
            "bapo/batch/still_difficult": [8, 16, None],
        },
    )
    data = reevaluation_data(series)
    assert (data.reevaluated, data.improved, data.x2, data.solved, data.still_difficult) == (30, 5, 3, 1, 24)
    stages = {part.name: (part.stage, part.begin, part.num_prompts) for part in segments(data, LIGHT)}
    # 30 candidates: 5 improved, then 1 solved, then 24 still difficult; of the improved 3 in the batch, no surplus.
    assert stages == {
        "re-evaluated": ("re-evaluated", 0, 30),
        "improved": ("outcome", 0, 5),
        "solved (G/G)": ("outcome", 5, 1),
        "still difficult": ("outcome", 6, 24),
        "in the batch (X2)": ("improved go to", 0, 3),
        "surplus, stored for reuse": ("improved go to", 3, 0),
        "surplus, dropped": ("improved go to", 3, 0),
    }
    bars = reevaluation_figure(data, LIGHT).data
    # Shares are of the stage before: 5 of 30, 3 of 5.
    assert (bars[1].name, bars[4].name) == ("improved 5 (16.7 %)", "in the batch (X2) 3 (60.0 %)")


def test_reevaluation_before_the_first_one_has_no_shares() -> None:
    data = reevaluation_data(Series(steps=[1], columns={"bapo/batch/reevaluated": [0]}))
    assert [bar.name for bar in reevaluation_figure(data, LIGHT).data][:2] == ["re-evaluated 0", "improved 0"]


def test_threshold_map_names_the_roles_that_occur() -> None:
    rows = [
        ThresholdMapRow(r_tot=0.0, c2=0.5, c3=0.5, roles=["difficult", "fresh+reusable", "nothing"]),
        ThresholdMapRow(r_tot=1.0, c2=1.0, c3=1.0, roles=["difficult", "fresh", "nothing"]),
    ]
    figure = threshold_map_figure(threshold_map_data(rows), LIGHT)
    assert list(figure.data[0].x) == ["0/2", "1/2", "2/2"]
    assert [trace.name for trace in figure.data[1:]] == [
        "not used",
        "difficult: re-evaluated later",
        "trained on when fresh (X1)",
        "X1, and reusable (X3)",
    ]


def test_threshold_map_takes_roles_in_any_order() -> None:
    rows = [ThresholdMapRow(r_tot=0.0, c2=0, c3=1, roles=["fresh+difficult", "reusable+fresh"])]
    assert threshold_map_data(rows).roles == [["difficult+fresh", "fresh+reusable"]]


def _event(step: int, event: str, **data: object) -> EventRecord:
    return EventRecord.model_validate({"attempt": 2, "step": step, "event": event, "message": "m", "data": data})


def test_marks_name_the_change_its_author_and_its_first_step() -> None:
    change = _event(41, "parameter_change", id="a", author="ada", set={"method.c1": 0.25, "method.c2": ["1/8", 0.5]})
    marks = marks_of([_event(0, "started"), change, _event(50, "resumed")])
    assert [mark.step for mark in marks] == [42, 51]
    assert marks[0].text == "step 42: c1 = 0.25, c2 = 1/8, 0.5 (ada)"
    assert marks[1].text == "attempt 2 resumed after step 50"
    # Before the first record there is nothing after which it could resume, as where a watched trainer starts again.
    assert marks_of([_event(0, "resumed")]) == []


def test_marks_are_drawn_at_their_step_with_escaped_text(step_series: Series) -> None:
    figure = batch_composition_figure(batch_composition_data(step_series, AXIS), LIGHT)
    add_marks(figure, [Mark(42, "change", "<b>c1</b>", "request")], AXIS, LIGHT)
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].name) == (42, "request")
    assert figure.layout.annotations[0].hovertext == "&lt;b&gt;c1&lt;/b&gt;"


def test_an_empty_run_gives_empty_figures() -> None:
    empty = Series(steps=[], columns={})
    axis = XAxis("step", [], [], 0)
    assert [list(trace.y) for trace in batch_composition_figure(batch_composition_data(empty, axis), LIGHT).data] == [
        []
    ] * 4
    assert evaluations_figure(evaluations_data(empty, axis), LIGHT).data == ()
    with pytest.raises(IndexError):
        _ = evaluations_data(empty, axis).curves[0]
