"""Overlaid curves, compositions side by side, and the difference of two migration matrices, on worked numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from bapo.analysis.transition_results import MigrationMatrix, MigrationSummary
from bapo.api.compare import ComparedCurve
from bapo.api.difficulty import Migration
from bapo.figures.composition_grid import (
    BATCH_SIZE,
    KEYS,
    MOST_PANELS,
    X1,
    X2,
    X3,
    composition_grid_data,
    composition_grid_figure,
)
from bapo.figures.looks import LineStyle
from bapo.figures.migration_difference import migration_difference_data, migration_difference_figure
from bapo.figures.overlay import MOST_IN_ONE_LABEL, OverlaidMark, overlay_data, overlay_figure, points_per_curve
from bapo.figures.theme import DARK, LIGHT

SOLID = LineStyle("#123456", "solid", "circle")
DASHED = LineStyle("#654321", "dash", "circle")


def curve(label: str, mean: Sequence[float | None], **fields: Any) -> ComparedCurve:
    content = {"x": [60.0 * index for index in range(len(mean))], "low": [], "high": [], "n": []} | fields
    return ComparedCurve(label=label, run_ids=["r"], mean=mean, num_positions=len(mean), **content)


def overlay(curves: Sequence[ComparedCurve], x: Any = "step", **more: Any) -> Any:
    labels = [each.label for each in curves]
    styles = {label: SOLID if index % 2 == 0 else DASHED for index, label in enumerate(labels)}
    names = {label: label.upper() for label in labels}
    return overlay_data(curves, x, styles, names=names, unit="share", is_share=True, **more)


# ---------------------------------------------------------------- overlay


@pytest.mark.parametrize(("curves", "points"), [(1, 1000), (12, 1000), (13, 923), (50, 240), (120, 100), (500, 100)])
def test_more_curves_have_fewer_points(curves: int, points: int) -> None:
    # 12,000 points in all, between 100 and 1,000 each.
    assert points_per_curve(curves) == points


def test_a_group_has_a_line_over_its_interval() -> None:
    data = overlay([curve("bapo", [0.2, 0.4], low=[0.1, 0.3], high=[0.3, 0.5], n=[3, 3]), curve("grpo", [0.3, 0.2])])
    figure = overlay_figure(data, LIGHT)
    low, high, first, second = figure.data
    assert (low.fill, high.fill, high.hoverinfo, high.legendgroup) == (None, "tonexty", "skip", "bapo")
    assert (list(low.y), list(high.y), list(high.x)) == ([0.1, 0.3], [0.3, 0.5], [0, 60])
    assert list(first.y) == [0.2, 0.4]
    assert list(first.customdata) == [" (10.0 % to 30.0 %)", " (30.0 % to 50.0 %)"]
    assert [(each.name, each.line.color, each.line.dash) for each in (first, second)] == [
        ("BAPO", "#123456", "solid"),
        ("GRPO", "#654321", "dash"),
    ]


def test_an_interval_is_drawn_where_there_is_one() -> None:
    figure = overlay_figure(overlay([curve("a", [1, 2, 3], low=[0, 1, None], high=[2, 3, None], n=[3, 3, 2])]), LIGHT)
    assert list(figure.data[0].x) == [0, 60]
    assert list(figure.data[2].customdata)[2] == ""
    alone = overlay_figure(overlay([curve("a", [1, 2], low=[None, None], high=[None, None], n=[1, 1])]), LIGHT)
    assert len(alone.data) == 1


def test_two_runs_have_their_range_for_an_interval_would_fill_the_chart() -> None:
    # Runs at 0.2 and 0.4: mean 0.3 ± 12.706 · 0.1.
    data = overlay([curve("a", [0.3], low=[0.3 - 1.2706], high=[0.3 + 1.2706], n=[2])])
    assert (data.curves[0].low[0], data.curves[0].high[0]) == (
        pytest.approx(0.2, abs=1e-5),
        pytest.approx(0.4, abs=1e-5),
    )
    assert overlay_figure(data, LIGHT).data[0].name == "A range"


def test_a_change_of_parameters_is_marked_on_its_curve() -> None:
    marks = [OverlaidMark("b", 30, "seed-1, step 3: c1 = 1/4")]
    figure = overlay_figure(overlay([curve("a", [1, 2]), curve("b", [0.2, 0.4])], marks=marks), LIGHT)
    (mark,) = [trace for trace in figure.data if trace.mode == "markers"]
    # Half-way between 0 and 60.
    assert (list(mark.x), list(mark.y), list(mark.customdata)) == ([30], [pytest.approx(0.3)], [marks[0].text])
    assert mark.legendgroup == "b"


def test_wide_intervals_do_not_flatten_the_curves() -> None:
    # The curve spans 0.2 to 0.4. An interval may stretch that by 3/4 of 0.2 each way, and 5 % of it is left free.
    data = overlay([curve("a", [0.2, 0.4], low=[-3, -3], high=[9, 9], n=[3, 3])])
    assert list(overlay_figure(data, LIGHT).layout.yaxis.range) == pytest.approx([0.04, 0.56])
    narrow = overlay([curve("a", [0.2, 0.4], low=[0.19, 0.39], high=[0.21, 0.41], n=[3, 3])])
    assert list(overlay_figure(narrow, LIGHT).layout.yaxis.range) == pytest.approx([0.18, 0.42])


def test_what_cannot_be_negative_is_not_drawn_so() -> None:
    assert overlay_figure(overlay([curve("a", [0.01, 0.4])]), LIGHT).layout.yaxis.range[0] == 0
    assert overlay_figure(overlay([curve("a", [-0.1, 0.4])]), LIGHT).layout.yaxis.range[0] < -0.1


def test_time_is_drawn_in_minutes_and_other_axes_as_they_are() -> None:
    assert list(overlay([curve("a", [1, 2])], "time").curves[0].x) == [0, 1]
    assert list(overlay([curve("a", [1, 2])], "rollouts").curves[0].x) == [0, 60]


def test_hidden_groups_stay_hidden() -> None:
    data = overlay([curve("a", [1, 2], low=[0, 1], high=[2, 3], n=[2, 2]), curve("b", [1])], hidden=frozenset({"a"}))
    assert [trace.visible for trace in overlay_figure(data, LIGHT).data] == [False, False, False, True]


@pytest.mark.parametrize(("count", "mode"), [(MOST_IN_ONE_LABEL, "x unified"), (MOST_IN_ONE_LABEL + 1, "closest")])
def test_many_curves_are_named_one_by_one(count: int, mode: str) -> None:
    figure = overlay_figure(overlay([curve(f"r{index}", [1, 2]) for index in range(count)]), LIGHT)
    assert figure.layout.hovermode == mode
    assert ("R0" in figure.data[0].hovertemplate) == (mode == "closest")


def test_names_are_text_and_no_markup() -> None:
    figure = overlay_figure(overlay([curve("<b>x</b>", [1])]), DARK)
    assert figure.data[0].name == "&lt;B&gt;X&lt;/B&gt;"
    assert overlay_figure(overlay([]), DARK).layout.yaxis.range is None


# ---------------------------------------------------------------- compositions


def compositions(count: int) -> dict[str, list[ComparedCurve]]:
    values = {X1: [8.0, 4.0], X2: [0.0, 2.0], X3: [4.0, 6.0], BATCH_SIZE: [16.0, 16.0]}
    return {key: [curve(f"g{index}", values[key]) for index in range(count)] for key in KEYS}


def test_compositions_are_shares_of_the_batch_size() -> None:
    data = composition_grid_data(compositions(1), "step", {"g0": "Group"})
    assert [list(part) for part in (data.panels[0].x1, data.panels[0].x2, data.panels[0].x3)] == [
        [0.5, 0.25],
        [0, 0.125],
        [0.25, 0.375],
    ]
    assert data.panels[0].label == "Group"


def test_panels_share_their_axes_and_stand_in_columns() -> None:
    data = composition_grid_data(compositions(3), "step", {f"g{index}": f"g{index}" for index in range(3)})
    layout = composition_grid_figure(data, LIGHT, columns=2).layout
    assert layout.xaxis.domain == layout.xaxis3.domain
    assert layout.yaxis.domain == layout.yaxis2.domain
    assert layout.yaxis.domain[0] > layout.yaxis3.domain[1]
    assert {tuple(axis.range) for axis in (layout.xaxis, layout.xaxis2, layout.xaxis3)} == {(0, 60)}
    assert [note.text for note in layout.annotations] == ["g0", "g1", "g2"]
    assert sum(trace.showlegend for trace in composition_grid_figure(data, LIGHT, columns=2).data) == 3


def test_groups_without_batches_and_those_beyond_the_most_are_left_out() -> None:
    found = compositions(MOST_PANELS + 1)
    found[X3] = found[X3][1:]
    data = composition_grid_data(found, "step", {f"g{index}": f"g{index}" for index in range(MOST_PANELS + 1)})
    assert [panel.label for panel in data.panels] == [f"g{index}" for index in range(1, MOST_PANELS + 1)]
    assert composition_grid_data({}, "step", {"a": "a"}).panels == []


# ---------------------------------------------------------------- migration


def migration(counts: Sequence[Sequence[int]], to_step: int = 24) -> Migration:
    matrix = MigrationMatrix(
        counts=counts,
        before=[sum(row) for row in counts],
        after=[sum(column) for column in zip(*counts, strict=True)],
        num_prompts=0,
        rates=MigrationSummary(unlocked=None, strictly_unlocked=None, lost=None),
    )
    return Migration(
        kind="tracked",
        group_size=len(counts) - 2,
        from_step=0,
        to_step=to_step,
        steps=[0, to_step],
        last_step=to_step,
        matrix=matrix,
        null=None,
    )


# G = 2: rows and columns 0/2, 1/2, 2/2 and "not seen", which is left out.
FIRST = [[6, 2, 0, 5], [0, 1, 1, 0], [0, 0, 0, 0], [9, 9, 9, 9]]
SECOND = [[4, 3, 1, 0], [0, 2, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_the_difference_is_in_shares_of_all_prompts() -> None:
    data = migration_difference_data("A", [migration(FIRST)], "B", [migration(SECOND, 12), migration(SECOND)])
    assert data is not None
    # 10 prompts in A; 20 in B, twice the same matrix.
    assert data.num_prompts == (10, 20)
    assert (data.first_step, data.second_step) == (24, 12)
    expected = [[-0.2, 0.1, 0.1], [0, 0.1, -0.1], [0, 0, 0]]
    assert data.difference.tolist() == pytest.approx(np.array(expected))
    cells = migration_difference_figure(data, SOLID, DASHED, LIGHT).data[0]
    assert np.array(cells.z).tolist() == pytest.approx(100 * np.array(expected))
    assert (cells.zmin, cells.zmax) == pytest.approx((-20, 20))
    assert cells.text[0][0] == "−20.0"
    assert cells.text[2][2] == ""


def test_nothing_is_compared_with_nothing() -> None:
    empty = migration([[0] * 4] * 4)
    assert migration_difference_data("A", [], "B", [migration(SECOND)]) is None
    assert migration_difference_data("A", [empty], "B", [migration(SECOND)]) is None
    assert migration_difference_data("A", [migration([[1] * 3] * 3)], "B", [migration(SECOND)]) is None
