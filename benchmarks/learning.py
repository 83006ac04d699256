"""Does it learn? Trains the demo over fixed seeds and lists every run.

    python -m benchmarks.learning [--methods grpo bapo] [--seeds 1 2 3 4 5] [--steps 150] [--processes 2]

Each run is the `countdown-demo` recipe with another `method.type` and `training.seed`; problems and base model are the
same. Writes docs/benchmarks/learning.json and learning.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from bapo.records import EvaluationRecord, StepRecord
from bapo.run.journal import merged_records
from benchmarks.report import machine, write_report


def run_once(method: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train one run in a process of its own; its evaluation of CD-34 and CD-4, cost and seconds."""
    run_folder = folder / f"{method}-{seed}"
    changes = {"method.type": method, "training.seed": seed, "training.steps": steps}
    settings = [argument for field, value in changes.items() for argument in ("--set", f"{field}={json.dumps(value)}")]
    process = subprocess.run(
        [sys.executable, "-m", "bapo", "train", "countdown-demo", *settings, "--out", str(run_folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"{method}, seed {seed}: {process.stderr[-2000:]}")
    summary = json.loads(process.stdout.splitlines()[-1])
    records = merged_records(run_folder)
    figures: dict[str, Any] = {"method": method, "seed": seed, "num_rollouts": summary["num_rollouts"]}
    figures["seconds"] = summary["seconds"]
    for dataset in ("CD-34", "CD-4"):
        evaluations = [r for r in records if isinstance(r, EvaluationRecord) and r.dataset == dataset]
        first, last = evaluations[0], evaluations[-1]
        figures[dataset] = {
            "base": first.avg_at_k.value,
            "final": last.avg_at_k.value,
            "rise": last.avg_at_k.value - first.avg_at_k.value,
            "greedy": last.greedy.value,
            "pass@8_base": first.pass_at[8].value,
            "pass@8": last.pass_at[8].value,
        }
    reused = [r.counts.x3 + r.counts.x2 for r in records if isinstance(r, StepRecord)]
    figures["off_policy_groups_per_step"] = fmean(reused)
    return figures


def markdown(rows: list[dict[str, Any]]) -> str:
    """One line per run, one per method."""
    lines = [
        "| method | seed | CD-34 avg@8 base → final | rise | greedy | pass@8 base → final | CD-4 rise | rollouts |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cd34, cd4 = row["CD-34"], row["CD-4"]
        lines.append(
            f"| {row['method']} | {row['seed']} | {cd34['base']:.1%} → {cd34['final']:.1%} "
            f"| {100 * cd34['rise']:+.1f} points | {cd34['greedy']:.1%} | {cd34['pass@8_base']:.1%} → "
            f"{cd34['pass@8']:.1%} | {100 * cd4['rise']:+.1f} points | {row['num_rollouts']:,} |"
        )
    for method in dict.fromkeys(row["method"] for row in rows):
        rises = [100 * row["CD-34"]["rise"] for row in rows if row["method"] == method]
        spread = f" ± {stdev(rises):.1f} (standard deviation over seeds)" if len(rises) > 1 else ""
        lines.append(f"| **{method}** | {len(rises)} seeds | | **{fmean(rises):+.1f}**{spread} | | | | |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=["grpo", "bapo"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5])
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        jobs = [
            pool.submit(run_once, method, seed, options.steps, Path(folder))
            for seed, method in product(options.seeds, options.methods)
        ]
        rows = [job.result() for job in jobs]
    rows.sort(key=lambda row: (options.methods.index(row["method"]), row["seed"]))
    write_report(
        "learning",
        {"steps": options.steps, "machine": machine(), "runs": rows},
        f"# Learning on the demo, {options.steps} steps\n\n{machine()}\n\n{markdown(rows)}\n",
    )


if __name__ == "__main__":
    main()
