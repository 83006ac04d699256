"""Time for which observing blocks verl's own trainer.

    .venv-verl/bin/python -m benchmarks.observe_verl [--steps 40]

verl's own GRPO (benchmarks.plain_verl) on the shipped model, 32 prompts × G 8, on the CPU. Every second step is
observed, in turn, in one process. Also reports the time within the observer's own calls, which the noise of the
machine does not hide. Writes docs/benchmarks/observe_verl.json and observe_verl.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from bapo.config import apply_changes, resolve
from bapo.config.recipes import load_recipe
from bapo.engines.verl.environment import prepare_environment
from bapo.engines.verl.versions import check_versions
from benchmarks import plain_verl
from benchmarks.report import command_line, table, write_report
from benchmarks.stopwatch import Stopwatch
from benchmarks.verl_step_time import settings

WARM_UP_STEPS = 5
GOAL_PERCENT = 1.0


def observe_every_second(ends: list[float]) -> Stopwatch:
    """Leave the odd steps unobserved, and note when each step ended; the time within the observer."""
    from bapo.observe import verl as adapter  # noqa: PLC0415 - verl's settings of the environment come first

    class EverySecond(adapter._Backend):
        def on_batch(self, trainer: Any, batch: Any) -> None:
            # An odd step's batch is not read, so that the step is not reported either.
            if trainer.global_steps % 2 == 0:
                super().on_batch(trainer, batch)

        def log(self, data: Mapping[str, Any], step: int) -> None:
            super().log(data, step)
            ends.append(time.perf_counter())

    adapter._Backend = EverySecond  # type: ignore[misc]
    return Stopwatch(EverySecond, "on_batch", "log")


def main() -> None:
    """Measure and write the report."""
    options = command_line(__doc__.splitlines()[0], steps=40)
    changes = apply_changes(load_recipe("countdown-demo").explicit, settings("grpo", options.steps))
    prepare_environment(resolve(changes).config, check_versions())
    ends: list[float] = []
    inside = observe_every_second(ends)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(changes))
        further = {"trainer.logger": ["file", "bapo"], "trainer.bapo": {"folder": str(folder / "run")}}
        sys.argv[1:] = [str(folder / "config.json"), str(folder / "logged.jsonl"), json.dumps(further)]
        plain_verl.main()
    # Step n + 1 lasts from the end of step n, ends[n - 1].
    seconds = {n + 1: ends[n] - ends[n - 1] for n in range(WARM_UP_STEPS, len(ends))}
    with_it, without = (median(s for n, s in seconds.items() if n % 2 == parity) for parity in (0, 1))
    own = inside.seconds / (options.steps // 2)
    share = 100 * own / without
    write_report(
        "observe_verl",
        "What observing costs verl",
        {"steps": options.steps, "with_s": with_it, "without_s": without, "observer_s": own, "share": share},
        f"Median step of verl's own GRPO, every second of {options.steps} observed, 32 prompts × G 8. "
        f"Goal: at most {GOAL_PERCENT:.0f} % of a step: {'reached' if share <= GOAL_PERCENT else 'missed'}.",
        table(
            ("seconds per step", "without", "observed", "within the observer", "share of the step"),
            [("verl, CPU", f"{without:.2f}", f"{with_it:.2f}", f"{own:.4f}", f"{share:.2f} %")],
        ),
        setting=f", verl {version('verl')}",
    )


if __name__ == "__main__":
    main()
