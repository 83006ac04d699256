"""The chart of a fork experiment: what came before once in grey, the arms from the fork on, their differences."""

from __future__ import annotations

import pytest

from bapo.analysis.fork.runs import Arm, ForkPoint
from bapo.figures.fork_experiment import HISTORY, fork_experiment_figure
from bapo.figures.theme import LIGHT
from tests.support.compared_forks import C1, FORK, ROWS, compared, run


def test_arms_begin_at_the_fork_and_the_history_is_drawn_once() -> None:
    arms = [Arm({}, [run(0.2, 0.4, rows=ROWS)]), Arm(C1, [run(0.3, 0.6, rows=ROWS)])]
    figure = fork_experiment_figure(compared(arms, [ForkPoint(FORK, 1)]), LIGHT)
    # Held-out history, two arms; a band and a line of the difference; history and two arms on fresh prompts.
    assert [trace.name for trace in figure.data] == [
        HISTORY,
        "unchanged",
        "c1 = 0.25",
        "c1 = 0.25 95 % interval",
        "c1 = 0.25",
        HISTORY,
        "unchanged",
        "c1 = 0.25",
    ]
    # Steps of the run itself, where all checkpoints are of one step.
    assert [list(figure.data[index].x) for index in (0, 1, 4)] == [[8], [12], [10, 12]]
    assert list(figure.data[4].y) == [0, pytest.approx(15)]
    assert {figure.data[index].line.color for index in (0, 5)} == {LIGHT.reference}
    assert sum(trace.showlegend is True for trace in figure.data) == 3
    assert figure.layout.xaxis.title.text == "training step"


def test_checkpoints_of_several_steps_are_lined_up_at_the_fork() -> None:
    arms = [Arm({}, [run(0.2), run(0.2)]), Arm(C1, [None, None])]
    figure = fork_experiment_figure(compared(arms, [ForkPoint(FORK, 1), ForkPoint(FORK - 1, 1)]), LIGHT)
    assert figure.layout.xaxis.title.text == "steps after the fork"
    assert [list(trace.x) for trace in figure.data[:2]] == [[-2], [-1]]
