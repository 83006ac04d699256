"""Does it learn? Trains the demo over fixed seeds and lists every run.

    python -m benchmarks.learning [--methods grpo bapo] [--seeds 1 2 3 4 5] [--steps 150] [--processes 2]

Each run is the `countdown-demo` recipe with another `method.type` and `training.seed`; problems and base model are the
same. Writes docs/benchmarks/learning.json and learning.md.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.demo import train_demo
from benchmarks.report import command_line, table, write_report


def run_once(method: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train one run in a separate process; return its evaluations of CD-34 and CD-4, cost and seconds."""
    settings = {"method.type": method, "training.seed": seed, "training.steps": steps}
    run = train_demo(folder / f"{method}-{seed}", settings)
    figures: dict[str, Any] = {"method": method, "seed": seed, "num_rollouts": run.summary["num_rollouts"]}
    figures["seconds"] = run.summary["seconds"]
    for dataset in ("CD-34", "CD-4"):
        first, *_, last = run.evaluations(dataset)
        figures[dataset] = {
            "base": first.avg_at_k.value,
            "final": last.avg_at_k.value,
            "rise": last.avg_at_k.value - first.avg_at_k.value,
            "greedy": None if last.greedy is None else last.greedy.value,
            "pass@8_base": first.pass_at[8].value,
            "pass@8": last.pass_at[8].value,
        }
    figures["off_policy_groups_per_step"] = fmean((step.counts.x3 or 0) + (step.counts.x2 or 0) for step in run.steps)
    return figures


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return a table with one line per run, and one with one line per method."""
    heads = ["method", "seed", "CD-34 avg@8 base → final", "rise", "greedy", "pass@8 base → final", "CD-4 rise"]
    lines = []
    for row in rows:
        cd34, cd4 = row["CD-34"], row["CD-4"]
        lines.append(
            [
                row["method"],
                str(row["seed"]),
                f"{cd34['base']:.1%} → {cd34['final']:.1%}",
                f"{100 * cd34['rise']:+.1f} points",
                f"{cd34['greedy']:.1%}",
                f"{cd34['pass@8_base']:.1%} → {cd34['pass@8']:.1%}",
                f"{100 * cd4['rise']:+.1f} points",
                f"{row['num_rollouts']:,}",
            ]
        )
    for method in dict.fromkeys(row["method"] for row in rows):
        rises = [100 * row["CD-34"]["rise"] for row in rows if row["method"] == method]
        spread = f" ± {stdev(rises):.1f} (standard deviation over seeds)" if len(rises) > 1 else ""
        lines.append([f"**{method}**", f"{len(rises)} seeds", "", f"**{fmean(rises):+.1f}**{spread}", "", "", "", ""])
    return table([*heads, "rollouts"], lines)


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, methods=["grpo", "bapo"], seeds=[1, 2, 3, 4, 5], steps=150, processes=2)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.processes) as pool:
        jobs = [
            pool.submit(run_once, method, seed, options.steps, Path(folder))
            for seed, method in product(options.seeds, options.methods)
        ]
        rows = [job.result() for job in jobs]
    rows.sort(key=lambda row: (options.methods.index(row["method"]), row["seed"]))
    write_report(
        "learning",
        f"Learning on the demo, {options.steps} steps",
        {"steps": options.steps, "runs": rows},
        markdown(rows),
    )


if __name__ == "__main__":
    main()
