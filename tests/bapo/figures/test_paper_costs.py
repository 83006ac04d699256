"""Figures 8, 9, 11 and 14: batches, rollouts and training dynamics of several runs."""

from __future__ import annotations

import pytest

from bapo.figures.cumulative_rollouts import cumulative_rollouts_data, cumulative_rollouts_figure
from bapo.figures.groups import grouped
from bapo.figures.paper_figure_8 import batch_compositions_data, batch_compositions_figure
from bapo.figures.reward_curves import training_dynamics_data, training_dynamics_figure
from bapo.figures.theme import LIGHT
from tests.support.figure_runs import run

BATCHES = {
    "bapo/batch/x1": [4.0, 2.0],
    "bapo/batch/x2": [0.0, 1.0],
    "bapo/batch/x3": [0.0, 3.0],
    "bapo/batch/batch_size": [8.0, 8.0],
}


def test_batches_are_stacked_and_how_full_they_are_is_said() -> None:
    data = batch_compositions_data(grouped([run("a", columns=BATCHES)]))
    (panel,) = data.panels
    assert (panel.x1, panel.x2, panel.x3) == ([4, 2], [0, 1], [0, 3])
    # 4 + 6 groups of 16.
    assert panel.mean_fill == pytest.approx(10 / 16)
    figure = batch_compositions_figure(data, LIGHT)
    assert [trace.line.color for trace in figure.data] == [
        LIGHT.fresh,
        LIGHT.reevaluated,
        LIGHT.reused,
        LIGHT.reference,
    ]
    assert figure.layout.annotations[0].text == "BAPO (n = 1): 62 % full"


def test_batches_of_replicates_are_averaged_step_by_step() -> None:
    other = BATCHES | {"bapo/batch/x1": [2.0, 2.0]}
    (panel,) = batch_compositions_data(
        grouped([run("a", seed=1, columns=BATCHES), run("b", seed=2, columns=other)])
    ).panels
    assert panel.x1 == [3, 2]


def test_runs_without_steps_have_no_batches() -> None:
    assert batch_compositions_data(grouped([run("a")])).panels == []


def test_rollouts_stand_against_grpo_and_dapo_at_its_most() -> None:
    data = cumulative_rollouts_data(grouped([run("a", columns={"bapo/cost/num_rollouts": [8.0, 20.0]})]))
    assert data.curves[0].mean == [8, 20]
    assert data.bounds is not None
    # 2 steps · 2 prompts · G 4 = 16, four times as many 64.
    assert (data.bounds.step, data.bounds.fresh, data.bounds.most) == (2, 16, 64)
    figure = cumulative_rollouts_figure(data, LIGHT)
    assert [list(trace.y) for trace in figure.data[1:]] == [[0, 16], [0, 64]]
    assert all(trace.line.color == LIGHT.reference for trace in figure.data[1:])


def test_different_batch_sizes_have_no_common_bound() -> None:
    columns = {"bapo/cost/num_rollouts": [8.0]}
    runs = [run("a", columns=columns), run("b", columns=columns, changes={"rollout__batch_size": 3})]
    data = cumulative_rollouts_data(grouped([run._replace(id=run.name) for run in runs]))
    assert data.bounds is None
    assert len(cumulative_rollouts_figure(data, LIGHT).data) == 2


def test_dynamics_are_three_panels_of_moving_means() -> None:
    columns: dict[str, list[float | None]] = {
        "critic/rewards/mean": [0.0, 1.0],
        "actor/entropy": [2.0, None],
        "response_length/mean": [5.0, 7.0],
    }
    data = training_dynamics_data(grouped([run("a", columns=columns)]))
    assert [panel.curves[0].mean for panel in data.panels] == [[0, 0.5], [2, 2], [5, 6]]
    assert training_dynamics_figure(data, LIGHT).layout.meta["panels"] == 3


def test_a_metric_that_no_run_has_leaves_its_panel_empty() -> None:
    data = training_dynamics_data(grouped([run("a", columns={"critic/rewards/mean": [0.5]})]))
    assert [len(panel.curves) for panel in data.panels] == [1, 0, 0]
    assert len(training_dynamics_figure(data, LIGHT).data) == 1
