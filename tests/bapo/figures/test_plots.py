"""One line from runs to a chart: every `plot_…` draws what the data step and the figure step of its figure draw."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import plotly.graph_objects as go
import pytest

from bapo import figures
from bapo.config import ConfigError
from bapo.figures import DARK, LIGHT, plot_reward_curves, template
from bapo.figures.recorded import REWARD
from tests.support.figure_runs import run

PLOTS = [draw for name, draw in inspect.getmembers(figures) if name.startswith("plot_")]


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)
def test_no_runs_are_an_empty_chart(plot: Callable[..., go.Figure]) -> None:
    assert plot([]).layout.template == go.layout.Template(template(LIGHT))


def test_replicates_are_one_line() -> None:
    runs = [run("a", seed=1, columns={REWARD: [0.25]}), run("b", seed=2, columns={REWARD: [0.75]})]
    lines = [trace for trace in plot_reward_curves(runs).data if trace.name == "BAPO (n = 2)"]
    assert [list(line.y) for line in lines] == [[0.5]]
    alone = plot_reward_curves(runs, by="run", palette=DARK)
    assert {"a (n = 1)", "b (n = 1)"} <= {trace.name for trace in alone.data}


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json"):
        plot_reward_curves([tmp_path])
