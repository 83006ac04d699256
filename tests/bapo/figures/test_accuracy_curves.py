"""Figures 5, 12 and 16: test accuracy over training."""

from __future__ import annotations

import pytest

from bapo.figures.accuracy_curves import (
    accuracy_curves_data,
    accuracy_curves_figure,
    actor_critic_data,
    actor_critic_figure,
    datasets_of,
)
from bapo.figures.group_accuracy import group_accuracy_data, group_accuracy_figure, initial_groups
from bapo.figures.groups import grouped
from bapo.figures.peaks import peak
from bapo.figures.seed_curves import SeedCurve
from bapo.figures.theme import LIGHT
from tests.support.figure_runs import evaluation, run


def test_each_held_out_set_has_a_panel_the_widest_first() -> None:
    records = [evaluation(0, [0, 4]), evaluation(5, [4, 4]), evaluation(0, [1, 1], dataset="CD-34")]
    data = accuracy_curves_data(grouped([run("a", evaluations=records)]))
    assert [panel.title for panel in data.datasets] == ["CD-34 avg@4", "CD-4 avg@4"]
    curve = data.datasets[1].curves[0]
    assert (curve.x, curve.mean) == ([0, 5], [0.5, 1.0])
    assert len(accuracy_curves_figure(data, LIGHT).data) == 2


def test_another_number_of_samples_is_another_figure() -> None:
    runs = [
        run("a", evaluations=[evaluation(0, [1])]),
        run("b", evaluations=[evaluation(0, [1], num_samples=8)]),
    ]
    assert datasets_of(runs) == [("CD-4", 4), ("CD-4", 8)]


def test_problems_are_grouped_by_what_the_base_model_could() -> None:
    # Before training 0, 1, 2 and 4 of 4; afterwards 1, 2, 2 and 3.
    records = [evaluation(0, [0, 1, 2, 4]), evaluation(10, [1, 2, 2, 3])]
    data = group_accuracy_data(grouped([run("a", evaluations=records)]), "CD-4", 4)
    assert data.num_problems == [1, 1, 2]
    assert [panel.curves[0].mean for panel in data.panels] == [[0, 0.25], [0.25, 0.5], [0.75, 0.625]]
    titles = [each.text for each in group_accuracy_figure(data, LIGHT).layout.annotations]
    assert titles[0] == "0/4 before training: 1 problems"


def test_without_an_evaluation_of_the_base_model_there_are_no_groups() -> None:
    data = group_accuracy_data(grouped([run("a", evaluations=[evaluation(10, [1, 2])])]), "CD-4", 4)
    assert data.panels == []


@pytest.mark.parametrize(
    ("num_samples", "bounds"),
    [(8, [(0, 0), (1, 3), (4, 8)]), (3, [(0, 0), (1, 1), (2, 3)]), (1, [(0, 0), (1, 1)])],
)
def test_initial_groups_cover_every_accuracy_once(num_samples: int, bounds: list[tuple[int, int]]) -> None:
    assert [(group.lowest, group.highest) for group in initial_groups(num_samples)] == bounds


def test_the_star_stands_at_the_first_of_the_best_points() -> None:
    found = peak(SeedCurve("PPO", 1, [0, 5, 10], [0.2, 0.4, 0.4], [None] * 3, [None] * 3))
    assert found is not None
    assert (found.step, found.value) == (5, 0.4)
    assert peak(SeedCurve("PPO", 1, [0], [None], [None], [None])) is None


def test_the_better_method_with_a_critic_has_the_star() -> None:
    runs = [
        run("a", "ppo", evaluations=[evaluation(0, [1, 1]), evaluation(5, [1, 2])]),
        run("b", "ba_ppo", evaluations=[evaluation(0, [1, 1]), evaluation(5, [2, 2])]),
    ]
    data = actor_critic_data(grouped(runs), "CD-4", 4)
    assert data.best is not None
    assert (data.best.label, data.best.value) == ("BA-PPO", 0.5)
    star = actor_critic_figure(data, LIGHT).data[-1]
    assert (star.marker.symbol, list(star.text)) == ("star", ["50.0 %"])
