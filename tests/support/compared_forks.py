"""Fork experiments small enough to compare by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bapo.analysis.fork.experiment import fork_experiment
from bapo.analysis.fork.results import ForkExperiment
from bapo.analysis.fork.runs import Arm, ForkPoint, ForkRun, Measured
from bapo.analysis.result import MeanEstimate
from bapo.analysis.visits import Visits

FORK = 10
C1: Mapping[str, Any] = {"method.c1": 0.25}


def visits(*rows: tuple[int, str, int], source: int = 0) -> Visits:
    """Return groups of 4 answers: step, prompt, correct ones; fresh unless `source` says otherwise."""
    names = list(dict.fromkeys(prompt for _, prompt, _ in rows))
    return Visits(
        names,
        4,
        np.array([step for step, _, _ in rows], np.int32),
        np.array([names.index(prompt) for _, prompt, _ in rows], np.int32),
        np.full(len(rows), source, np.int8),
        np.array([correct for _, _, correct in rows], np.int16),
        np.array([step - 1 for step, _, _ in rows], np.int32),
        np.ones(len(rows), np.bool_),
    )


def measured(*accuracies: float) -> Measured:
    """Return an evaluation with these accuracies of its problems."""
    mean = sum(accuracies) / len(accuracies)
    figure = MeanEstimate(value=mean, low=mean - 0.1, high=mean + 0.1, n=len(accuracies))
    return Measured({f"q{number}": each for number, each in enumerate(accuracies)}, figure)


def run(*accuracies: float, at: int = 2, rows: Sequence[tuple[int, str, int]] = (), last: int | None = None) -> ForkRun:
    """Return a fork of step 10: evaluated `at` steps later, if it has accuracies; its parent was evaluated at 8."""
    evaluations = {8: measured(0.5, 0.5)} | ({FORK + at: measured(*accuracies)} if accuracies else {})
    return ForkRun({"CD-34": evaluations}, visits(*rows), FORK + at if last is None else last)


def compared(arms: Sequence[Arm], points: Sequence[ForkPoint], **given: Any) -> ForkExperiment:
    """Compare arms two steps after their forks, unless `given` says otherwise."""
    return fork_experiment(arms, points, **{"further_steps": 2, "is_running": False, "is_unchanged": True, **given})


ROWS = ((9, "a", 1), (11, "b", 2), (11, "c", 4), (12, "a", 0))
