"""Time for which observing blocks TRL's GRPOTrainer.

    .venv-trl/bin/python -m benchmarks.observe_trl [--steps 200]

The run of examples/observe_trl.py: the shipped model of 0.6 M parameters, 8 prompts × G 8, at most 16 new tokens, one
thread: a step so short that the share is the largest there is. Every second step is observed, in turn, in one process.
Also reports the time within the observer's own calls, which the noise of the machine does not hide. Writes
docs/benchmarks/observe_trl.json and observe_trl.md.
"""

from __future__ import annotations

import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformers import TrainerCallback

from bapo.observe.trl import observe_trl
from benchmarks.report import command_line, table, write_report
from benchmarks.stopwatch import Stopwatch
from examples.observe_trl import make_trainer

WARM_UP_STEPS = 10
GOAL_PERCENT = 1.0


class Clock(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Wall time of each step, by whether it was observed."""

    def __init__(self, trainer: Any, unobserved: Any) -> None:
        self.steps: dict[bool, list[float]] = {True: [], False: []}
        self._trainer = trainer
        self._methods = {True: trainer._calculate_rewards, False: unobserved}
        self._began: float | None = None

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Time from one step's begin to the next, so that reports after a step count towards it."""
        now = time.perf_counter()
        if self._began is not None and state.global_step > WARM_UP_STEPS:
            self.steps[(state.global_step - 1) % 2 == 0].append(now - self._began)
        self._began = now
        self._trainer._calculate_rewards = self._methods[state.global_step % 2 == 0]


def main() -> None:
    """Measure and write the report."""
    options = command_line(__doc__.splitlines()[0], steps=200)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        trainer = make_trainer(folder, options.steps + WARM_UP_STEPS)
        unobserved = trainer._calculate_rewards
        with observe_trl(trainer, "benchmark", folder=Path(folder) / "run"):
            observer = trainer.callback_handler.callbacks[-1]
            inside = Stopwatch(observer, "on_rewards", "on_log", "on_step_end", "on_train_end")
            clock = Clock(trainer, unobserved)
            trainer.add_callback(clock)
            trainer.train()
    with_it, without = (1000 * median(clock.steps[observed]) for observed in (True, False))
    own = 1000 * inside.seconds / ((options.steps + WARM_UP_STEPS) / 2)
    share = 100 * own / without
    reached = "reached" if share <= GOAL_PERCENT else "missed"
    write_report(
        "observe_trl",
        "What observing costs TRL",
        {"steps": options.steps, "with_ms": with_it, "without_ms": without, "observer_ms": own, "share": share},
        f"Median step of TRL's GRPOTrainer, every second of {options.steps} observed, 8 prompts × G 8. "
        f"Goal: at most {GOAL_PERCENT:.0f} % of a step: {reached}.",
        table(
            ("milliseconds per step", "without", "observed", "within the observer", "share of the step"),
            [("TRL, CPU", f"{without:.1f}", f"{with_it:.1f}", f"{own:.2f}", f"{share:.2f} %")],
        ),
        setting=f", trl {version('trl')}",
    )


if __name__ == "__main__":
    main()
