"""Figures on how prompts moved between accuracies."""

from __future__ import annotations

import numpy as np
import pytest

from bapo.analysis.accuracy_transitions import accuracy_classes
from bapo.analysis.transition_results import MigrationMatrix, MigrationSummary
from bapo.api.difficulty import FlowClass, FlowPath, Flows
from bapo.figures.accuracy_counts import AccuracyCounts, accuracy_counts, accuracy_counts_figure, shared_highest
from bapo.figures.flows import FlowBand, class_colours, class_name, flow_columns, flows_figure
from bapo.figures.migration_matrix import migration_cells, migration_matrix_figure, row_shares
from bapo.figures.theme import DARK, LIGHT, Palette, accuracy_ramp, readable_on

NO_RATES = MigrationSummary(unlocked=None, strictly_unlocked=None, lost=None)

# G = 2. Before: 4 prompts at 0/2, 2 at 1/2, none at 2/2, 3 not seen of which one never is.
COUNTS = [
    [1, 2, 1, 0],
    [0, 1, 1, 0],
    [0, 0, 0, 0],
    [1, 0, 1, 1],
]


def matrix(counts: list[list[int]]) -> MigrationMatrix:
    table = np.array(counts)
    return MigrationMatrix(
        counts=counts,
        before=table.sum(axis=1).tolist(),
        after=table.sum(axis=0).tolist(),
        num_prompts=int(table[:-1, :-1].sum()),
        rates=NO_RATES,
    )


def flows(*paths: tuple[list[int], int], steps: tuple[int, ...] = (0, 50, 100)) -> Flows:
    return Flows(
        kind="tracked",
        group_size=8,
        steps=steps,
        classes=[FlowClass(**each._asdict()) for each in accuracy_classes(8)],
        paths=[FlowPath(classes=classes, num_prompts=number) for classes, number in paths],
        num_prompts=sum(number for _, number in paths),
    )


def test_rows_are_shares_of_themselves() -> None:
    assert row_shares([[1, 3], [0, 0]]) == [[0.25, 0.75], [None, None]]


def test_prompts_first_seen_in_between_have_a_row_and_those_never_seen_none() -> None:
    cells = migration_cells(matrix(COUNTS), "step 5", "step 9")
    assert cells.counts == [[1, 2, 1], [0, 1, 1], [0, 0, 0], [1, 0, 1]]
    assert cells.shares == [[0.25, 0.5, 0.25], [0.0, 0.5, 0.5], [None, None, None], [0.5, 0.0, 0.5]]
    tracked = migration_cells(matrix([[*row[:3], 0] for row in COUNTS[:3]] + [[0, 0, 0, 0]]), "step 0", "step 9")
    assert len(tracked.counts) == 3


def test_the_row_of_the_unsolved_has_its_own_colour_and_all_counts_stand_in_their_cells() -> None:
    figure = migration_matrix_figure(migration_cells(matrix(COUNTS), "step 5", "step 9"), LIGHT)
    unsolved, others, texts = figure.data
    assert unsolved.colorscale[-1][1] == LIGHT.ramp[0]
    assert [list(row) for row in unsolved.z] == [[0.25, 0.5, 0.25], [None] * 3, [None] * 3, [None] * 3]
    assert [list(row) for row in others.z[:2]] == [[None] * 3, [0.0, 0.5, 0.5]]
    assert list(texts.text) == ["1", "2", "1", " ", "1", "1", " ", " ", " ", "1", " ", "1"]
    assert list(texts.y[:4]) == ["0/2", "0/2", "0/2", "1/2"]
    assert texts.y[-1] == "not seen"
    assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == (
        "correct at step 5",
        "correct at step 9",
    )
    # The first accuracy is on top, as in the paper.
    assert figure.layout.yaxis.autorange == "reversed"
    assert unsolved.hovertext[0][1] == "2 prompts, 50.0 % of the row"


def test_two_steps_share_one_scale() -> None:
    few = migration_matrix_figure(migration_cells(matrix(COUNTS), "a", "b"), LIGHT)
    many = migration_matrix_figure(
        migration_cells(matrix([[100 * count for count in row] for row in COUNTS]), "a", "b"), LIGHT
    )
    assert [(trace.zmin, trace.zmax) for trace in few.data[:2]] == [(0, 1), (0, 1)]
    assert few.data[0].z == many.data[0].z


def test_a_difference_is_in_points_of_the_row_above_or_below_chance() -> None:
    null = matrix([[2, 2, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    cells = migration_cells(matrix(COUNTS), "step 0", "step 9", null)
    figure = migration_matrix_figure(cells, LIGHT, difference=True)
    differences, texts = figure.data
    # Row 0/2: 25, 50, 25 % less 50, 50, 0 %. Row 1/2: 0, 50, 50 % less 50, 50, 0 %. Chance says nothing of the others.
    assert list(differences.z[0]) == [-0.25, 0.0, 0.25]
    assert list(differences.z[1]) == [-0.5, 0.0, 0.5]
    assert list(differences.z[2]) == [None, None, None]
    assert list(texts.text[:6]) == ["−25", " ", "+25", "−50", " ", "+50"]
    assert differences.zmin == -differences.zmax
    assert differences.hovertext[0][0] == "1 prompts, 25.0 % of the row<br>by chance 50.0 %"


def test_without_chance_there_is_no_difference_to_draw() -> None:
    cells = migration_cells(matrix(COUNTS), "step 0", "step 9")
    figure = migration_matrix_figure(cells, LIGHT, difference=True)
    assert len(figure.data) == 3


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("background", ["#000000", "#ffffff", "#7f7f7f", "#a5152a", "#e9e4e1", "#1f559f"])
def test_text_can_be_read_on_any_cell(palette: Palette, background: str) -> None:
    def luminance(colour: str) -> float:
        linear = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in linear]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(background), luminance(readable_on(background, palette))))
    # Between the two colours of a palette no background leaves less than this.
    assert (high + 0.05) / (low + 0.05) >= 3.4


def test_counts_are_the_margins_over_prompts_seen_both_times() -> None:
    data = accuracy_counts(matrix(COUNTS), "step 5", "step 9")
    assert (data.before, data.after) == ([4, 2, 0], [1, 3, 2])
    figure = accuracy_counts_figure(data, LIGHT)
    before, after = figure.data
    assert (before.name, after.name) == ("step 5", "step 9")
    assert list(after.x) == ["0/2", "1/2", "2/2"]
    assert list(after.marker.color) == list(accuracy_ramp(LIGHT, 2))
    assert before.marker.color == LIGHT.card


def test_bands_join_paths_that_share_two_steps() -> None:
    # 3 prompts 0/8 → low → middle, 2 prompts 0/8 → low → low, 1 prompt solved throughout.
    columns = flow_columns(flows(([0, 1, 2], 3), ([0, 1, 1], 2), ([4, 4, 4], 1)))
    assert columns.sizes == [[5, 0, 0, 0, 1, 0], [0, 5, 0, 0, 1, 0], [0, 2, 3, 0, 1, 0]]
    assert columns.bands == [
        FlowBand(0, 0, 1, 5),
        FlowBand(0, 4, 4, 1),
        FlowBand(1, 1, 1, 2),
        FlowBand(1, 1, 2, 3),
        FlowBand(1, 4, 4, 1),
    ]


def test_flows_are_drawn_from_the_solved_down_to_the_unsolved() -> None:
    figure = flows_figure(flow_columns(flows(([0, 1, 2], 3), ([0, 1, 1], 2), ([4, 4, 4], 1))), LIGHT)
    (sankey,) = figure.data
    assert list(sankey.node.label) == ["0/8", "8/8", "1–2/8", "8/8", "1–2/8", "3–5/8", "8/8"]
    # The first column: 1 of 6 solved on top, 5 of 6 unsolved below, between them a gap of 2.5 %.
    # Middles: 0.975/6/2 = 0.08125 and 0.975/6 + 0.025 + 0.975·5/6/2 = 0.59375.
    assert sankey.node.y[:2] == pytest.approx((0.59375, 0.08125))
    assert list(sankey.link.value) == [5, 1, 2, 3, 1]
    assert [sankey.node.label[place] for place in sankey.link.target] == ["1–2/8", "8/8", "1–2/8", "3–5/8", "8/8"]
    assert [note.text for note in figure.layout.annotations] == ["step 0", "step 50", "step 100"]


def test_classes_have_the_colour_of_the_ramp_in_their_middle() -> None:
    classes = flows(([0, 0, 0], 1)).classes
    ramp = accuracy_ramp(LIGHT, 8)
    # 0, low 1–2, middle 3–5, high 6–7, 8, not seen.
    colours = class_colours(classes, 8, LIGHT)
    assert colours == [ramp[0], ramp[2], ramp[4], ramp[7], ramp[8], LIGHT.reference]
    assert [class_name(each, 8) for each in classes] == ["0/8", "1–2/8", "3–5/8", "6–7/8", "8/8", "not seen"]


def test_panels_over_equally_many_prompts_share_a_scale() -> None:
    # 10 prompts each, the highest bars 6 and 8; and 20 prompts of two runs, the highest 15.
    panels = [
        AccuracyCounts(2, "step 0", "step 9", [6, 2, 2], [5, 2, 3]),
        AccuracyCounts(2, "step 0", "step 9", [8, 1, 1], [4, 3, 3]),
        AccuracyCounts(2, "step 0", "step 9", [15, 3, 2], [9, 6, 5]),
    ]
    assert shared_highest(panels) == [8, 8, 15]
    ends = [accuracy_counts_figure(panel, LIGHT, highest=8).layout.yaxis.range[1] for panel in panels[:2]]
    assert ends == [pytest.approx(8.96)] * 2
    assert accuracy_counts_figure(panels[0], LIGHT).layout.yaxis.range[1] == pytest.approx(6.72)
