"""Parameter importance and parallel coordinates: what is drawn."""

from __future__ import annotations

from bapo.analysis.importance_results import FieldShare, Importance
from bapo.figures.parallel_coordinates import ParallelRun, parallel_coordinates_data, parallel_coordinates_figure
from bapo.figures.parameter_importance import parameter_importance_data, parameter_importance_figure
from bapo.figures.theme import DARK, LIGHT


def share(fields: list[str], value: float, *, is_shown: bool) -> FieldShare:
    return FieldShare(fields=fields, num_values=2, value=value, low=0.1, high=0.9, null=0.2, is_shown=is_shown)


def test_a_share_within_chance_is_pale_and_every_bar_has_its_mark() -> None:
    found = Importance(
        decomposition="grid",
        num_runs=8,
        shares=[share(["method.c1"], 0.5, is_shown=True), share(["method.c1", "method.<v>"], 0.15, is_shown=False)],
    )
    rows = parameter_importance_data(found, lambda field: field.split(".")[1])
    assert [(row.label, row.share, row.null) for row in rows] == [("c1", 50.0, 20.0), ("c1 × <v>", 15.0, 20.0)]
    figure = parameter_importance_figure(rows, LIGHT)
    assert list(figure.data[0].marker.color) == [LIGHT.fresh, LIGHT.reference]
    # From 0.5 to 0.9 and 0.1; the second from 0.15.
    assert [round(each) for each in figure.data[0].error_x.array] == [40, 75]
    assert len(figure.layout.shapes) == 2
    assert list(figure.layout.yaxis.ticktext) == ["c1", "c1 × &lt;v&gt;"]


def test_lines_of_runs_stand_where_their_values_are() -> None:
    runs = [
        ParallelRun(f"r{place}", {"a": 2**place, "b": "xy"[place % 2]}, place / 10, f"{place}0 %", "<t>")
        for place in range(3)
    ]
    data = parallel_coordinates_data({"a": "A", "b": "B"}, runs, "CD-34")
    assert [axis.title for axis in data.axes] == ["A", "B", "CD-34"]
    # Few values stand at equal distances: 1, 2, 4.
    assert data.heights == [[0.0, 0.0, 0.0], [0.5, 1.0, 0.5], [1.0, 0.0, 1.0]]
    assert [tick.text for tick in data.axes[2].ticks] == ["00 %", "20 %"]
    figure = parallel_coordinates_figure(data, DARK)
    assert figure.layout.meta == ("A", "B", "CD-34")
    assert list(figure.data[1].customdata) == ["2", "y", "10 %"]
    assert [trace.meta for trace in figure.data] == ["r0", "r1", "r2"]
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert figure.data[0].hovertext == "&lt;t&gt;"


def test_many_numbers_stand_where_they_are_and_only_the_ends_are_named() -> None:
    runs = [ParallelRun("r", {"a": place**2}, 0.5, "50 %", "") for place in range(10)]
    data = parallel_coordinates_data({"a": "A"}, runs, "R")
    assert data.heights[3] == [9 / 81, 0.5]
    assert [tick.text for tick in data.axes[0].ticks] == ["0", "81"]
    assert [tick.height for tick in data.axes[1].ticks] == [0.5]


def test_a_run_without_a_field_has_a_place_of_its_own() -> None:
    runs = [ParallelRun("r", {"a": 1}, 0.1, "10 %", ""), ParallelRun("s", {}, 0.2, "20 %", "")]
    data = parallel_coordinates_data({"a": "A"}, runs, "R")
    assert [tick.text for tick in data.axes[0].ticks] == ["1", "–"]
