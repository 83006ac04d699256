"""Does it learn on verl? Trains the demo on Ray, FSDP and vLLM, and compares held-out answers with those before.

    python -m benchmarks.verl_learning [--steps 40] [--problems 400] [--seed 42]

About 15 minutes on two cores. Exits with 1 unless CD-34 avg@8 has risen with its 95 % interval above 0. Writes
docs/benchmarks/verl_learning.json and verl_learning.md.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import Any

from bapo.records import Interval
from benchmarks.demo import train_demo
from benchmarks.report import command_line, table, write_report


def rise(base: Sequence[float], final: Sequence[float]) -> Interval:
    """Return the mean difference of the same problems' accuracies, with its 95 % interval."""
    differences = [after - before for before, after in zip(base, final, strict=True)]
    mean = fmean(differences)
    half = NormalDist().inv_cdf(0.975) * stdev(differences) / len(differences) ** 0.5
    return Interval(value=mean, low=mean - half, high=mean + half)


def train(steps: int, problems: int, seed: int, folder: Path) -> dict[str, Any]:
    """Train one run; return its results on both held-out sets and its cost."""
    settings = {
        "engine.type": "verl",
        "training.steps": steps,
        "training.seed": seed,
        "training.checkpoint_interval": steps,
        "task.num_test": problems,
        "tracking.num_prompts": 0,
        "evaluation.interval": steps,
    }
    run = train_demo(folder, settings)
    figures: dict[str, Any] = {"summary": run.summary}
    for dataset in ("CD-34", "CD-4"):
        first, last = run.evaluations(dataset)
        accuracies = [[correct / each.num_samples for correct in each.num_correct] for each in (first, last)]
        figures[dataset] = {
            "base": first.avg_at_k.value,
            "final": last.avg_at_k.value,
            "rise": rise(*accuracies).model_dump(),
        }
    figures["step_seconds"] = fmean(step.timing["step"] for step in run.steps[1:])
    figures["seconds_to_first_step"] = run.steps[0].timing["elapsed"]
    figures["memory_peak_gib"] = max(step.system["memory_peak_bytes"] / 2**30 for step in run.steps)
    return figures


def markdown(figures: dict[str, Any]) -> str:
    """Return a table with one line per held-out set."""
    lines = []
    for dataset in ("CD-34", "CD-4"):
        row = figures[dataset]
        mean, low, high = (100 * row["rise"][name] for name in ("value", "low", "high"))
        lines.append(
            [dataset, f"{row['base']:.1%} → {row['final']:.1%}", f"{mean:+.1f} points ({low:+.1f} to {high:+.1f})"]
        )
    return table(["held-out set", "avg@8 base → final", "rise, 95 % interval"], lines)


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=40, problems=(400, "in each held-out set"), seed=42)
    with tempfile.TemporaryDirectory() as folder:
        figures = train(options.steps, options.problems, options.seed, Path(folder) / "run")
    write_report(
        "verl_learning",
        f"Learning on verl, {options.steps} steps of BAPO",
        {**vars(options), **figures},
        markdown(figures),
        f"{figures['step_seconds']:.1f} s a step, {figures['seconds_to_first_step']:.0f} s to the end of the first "
        f"step, evaluation of the base model included; {figures['memory_peak_gib']:.1f} GiB resident in all processes, "
        "shared pages counted in each.",
    )
    sys.exit(0 if figures["CD-34"]["rise"]["low"] > 0 else 1)


if __name__ == "__main__":
    main()
