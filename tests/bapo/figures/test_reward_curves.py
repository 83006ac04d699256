"""Figure 4: one panel per task, a line per method."""

from __future__ import annotations

import pytest

from bapo.figures.groups import grouped
from bapo.figures.metric_titles import drawn_for, metric_of
from bapo.figures.reward_curves import reward_curves_data, reward_curves_figure, training_dynamics_data
from bapo.figures.theme import DARK, LIGHT
from tests.support.figure_runs import run

KEY = "critic/rewards/mean"


def test_rewards_are_moving_means_of_ten_steps() -> None:
    values = [0.0] * 10 + [1.0] * 5
    data = reward_curves_data(grouped([run("a", columns={KEY: values})]))
    (panel,) = data.tasks
    assert (panel.title, data.window) == ("countdown", 10)
    # Steps 6 to 15: five of ten are 1.
    assert panel.curves[0].mean[-1] == pytest.approx(0.5)


def test_each_task_has_its_panel_with_its_runs() -> None:
    runs = [
        run("a", columns={KEY: [0.2]}),
        run("b", "grpo", columns={KEY: [0.4]}),
        run("c", columns={KEY: [0.6]}, changes={"task__type": "maths"}),
    ]
    data = reward_curves_data(grouped(runs, "method"))
    assert [(panel.title, [curve.label for curve in panel.curves]) for panel in data.tasks] == [
        ("countdown", ["BAPO", "GRPO"]),
        ("maths", ["BAPO"]),
    ]
    figure = reward_curves_figure(data, LIGHT)
    assert [trace.name for trace in figure.data if trace.showlegend] == ["BAPO (n = 1)", "GRPO (n = 1)"]
    assert figure.layout.meta["panels"] == 2
    assert [each.text for each in figure.layout.annotations] == ["countdown", "maths"]


def test_a_method_has_one_colour_in_every_panel_and_another_in_the_dark() -> None:
    data = reward_curves_data(grouped([run("a", columns={KEY: [0.2]})]))
    light, dark = (reward_curves_figure(data, palette).data[0].line.color for palette in (LIGHT, DARK))
    assert (light, dark) == (LIGHT.methods[0], DARK.methods[0])


def test_no_steps_give_no_panel() -> None:
    assert reward_curves_data(grouped([run("a")])).tasks == []


@pytest.mark.parametrize(("reward", "ticks"), [(0.0, ".0%"), (1.0, ".0%"), (1.506, None), (-0.2, None)])
def test_rewards_are_shares_only_between_0_and_1(reward: float, ticks: str | None) -> None:
    runs = grouped([run("a", columns={KEY: [reward]})])
    panels = [*reward_curves_data(runs).tasks, training_dynamics_data(runs).panels[0]]
    assert [panel.scale.ticks for panel in panels] == [ticks] * 2
    figure = reward_curves_figure(reward_curves_data(runs), LIGHT)
    assert figure.layout.yaxis.tickformat == ticks
    assert figure.layout.yaxis.title.text == ("correct responses" if ticks else "mean reward")


def test_rewards_below_0_are_not_cut_off() -> None:
    figure = reward_curves_figure(reward_curves_data(grouped([run("a", columns={KEY: [-0.5, 0.5]})])), LIGHT)
    assert figure.layout.yaxis.range is None


def test_a_metric_chosen_freely_is_drawn_in_percent_where_its_values_are_shares() -> None:
    reward, fill = metric_of(KEY), metric_of("bapo/batch/fill_rate")
    assert drawn_for(reward, [0.0, None, 1.0]).is_share
    assert not drawn_for(reward, [0.5, 1.506]).is_share
    # Batches of another trainer may hold more than B: still a share of B.
    assert drawn_for(fill, [1.044]).is_share
