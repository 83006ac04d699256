"""Share of a method's code in the time of a step, and the updates per step of each method.

    python -m benchmarks.method_share [--steps 20] [--methods bapo dapo ...]

Trains each method for a few steps on the local engine, 32 prompts × G 8, with its defaults, and reads the journal: the
`batch` phase is all that a method does. Wall time of steps, medians. Writes docs/benchmarks/method_share.json and
method_share.md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from bapo.config import apply_changes, resolve
from bapo.config.method import METHODS
from bapo.records import StepRecord
from bapo.run.journal import merged_records
from bapo.run.trainer import train
from benchmarks.report import table, write_report

GOAL_PERCENT = 2.0
WARM_UP_STEPS = 3


class Figures(NamedTuple):
    """One method."""

    milliseconds_per_step: float
    method_milliseconds: float
    percent: float
    """Median over the steps of the method's share."""
    updates_per_step: float
    """Optimizer steps, mean; 0 where a batch was empty."""
    groups_generated_per_step: float


def measure(method: str, steps: int) -> Figures:
    """Measure a short run."""
    settings = {
        "model.path": "countdown-base",
        "method.type": method,
        "rollout.batch_size": 32,
        "rollout.group_size": 8,
        "rollout.max_response_tokens": 16,
        "training.batch_size": 32,
        "training.steps": WARM_UP_STEPS + steps,
        "training.checkpoint_interval": 1_000_000,
        "evaluation.enabled": False,
        "tracking.num_prompts": 0,
    }
    config = resolve(apply_changes({}, settings)).config
    with tempfile.TemporaryDirectory(prefix="bapo-bench-") as folder:
        train(Path(folder) / "run", config)
        records = [each for each in merged_records(Path(folder) / "run") if isinstance(each, StepRecord)]
    return figures(records[WARM_UP_STEPS:])


def figures(records: Sequence[StepRecord]) -> Figures:
    """Return the medians and means over recorded steps."""
    return Figures(
        1000 * median(each.timing["step"] for each in records),
        1000 * median(each.timing["batch"] for each in records),
        100 * median(each.timing["batch"] / each.timing["step"] for each in records),
        mean(0 if each.update is None else each.update.num_mini_batches for each in records),
        mean(each.counts.fresh + (each.counts.reevaluated or 0) for each in records),
    )


def markdown(found: dict[str, Figures]) -> str:
    """Return a table with one line per method."""
    heads = ["method", "ms per step", "of them the method", "share", "updates per step", "groups generated per step"]
    rows = [
        [
            name,
            f"{each.milliseconds_per_step:.0f}",
            f"{each.method_milliseconds:.2f}",
            f"{each.percent:.2f} %",
            f"{each.updates_per_step:.1f}",
            f"{each.groups_generated_per_step:.1f}",
        ]
        for name, each in found.items()
    ]
    return table(heads, rows)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS.classes), default=list(METHODS.classes))
    options = parser.parse_args()
    found = {method: measure(method, options.steps) for method in options.methods}
    largest = max(each.percent for each in found.values())
    write_report(
        "method_share",
        "The share of a method in a step",
        {"steps": options.steps, "methods": {name: each._asdict() for name, each in found.items()}},
        f"countdown-base, 32 prompts × G 8, defaults of each method, {options.steps} steps after a warm-up. Goal: the "
        f"code of a method takes at most {GOAL_PERCENT:g} % of a step: "
        f"{'reached' if largest <= GOAL_PERCENT else 'missed'} (largest: {largest:.2f} %).",
        markdown(found),
    )


if __name__ == "__main__":
    main()
