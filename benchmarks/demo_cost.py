"""Cost of the demo, with rollouts ahead and without: wall time, steps per second, memory, and the share of each phase.

    python -m benchmarks.demo_cost [--steps 150] [--repetitions 3]

Trains the `countdown-demo` recipe by `bapo train` in a separate process, one at a time, with `rollout.ahead` at `off`,
`window` and `overlap` in turns, and reads the journal. Writes docs/benchmarks/demo_cost.json and demo_cost.md.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median, quantiles

from bapo.records import EvaluationRecord, StepRecord, TrackingRecord
from bapo.run.journal import merged_records
from benchmarks.demo import train_command
from benchmarks.report import command_line, table, write_report

MODES = ("off", "window", "overlap")
"""Values of `rollout.ahead`."""


def run_once(steps: int, ahead: str, folder: Path) -> dict[str, float]:
    """Train the demo once; return measurements of the process and of its journal."""
    command = train_command(folder, {"training.steps": steps, "rollout.ahead": ahead})
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall_seconds = time.perf_counter() - begin
    if status:
        raise RuntimeError(f"the trainer ended with status {status}")
    records = merged_records(folder)
    trained = [record for record in records if isinstance(record, StepRecord)]
    apart = sum(
        record.timing.get("evaluation", 0) + record.timing.get("tracking", 0)
        for record in records
        if isinstance(record, EvaluationRecord | TrackingRecord)
    )
    step_seconds = [record.timing["step"] for record in trained]
    journal_seconds = [record.timing["journal"] for record in trained]
    return {
        "wall_seconds": wall_seconds,
        "cpu_seconds_per_step": (usage.ru_utime + usage.ru_stime) / steps,
        "steps_per_second": steps / sum(step_seconds),
        "steps_per_cpu_second": steps / sum(record.timing["step_cpu"] for record in trained),
        # Means: with rollouts ahead most steps generate nothing.
        "generation_seconds_mean": fmean(record.timing["gen"] for record in trained),
        "generating_process_seconds_mean": fmean(record.timing.get("generator", 0.0) for record in trained),
        "reevaluation_seconds_mean": fmean(record.timing.get("reevaluation", 0.0) for record in trained),
        "update_seconds_mean": fmean(record.timing.get("update", 0.0) for record in trained),
        "evaluation_and_tracking_seconds": apart,
        "peak_memory_mb": usage.ru_maxrss / 1024,
        "batch_construction_share": sum(record.timing["batch"] for record in trained) / sum(step_seconds),
        "journal_p99_ms": 1000 * quantiles(journal_seconds, n=100)[98],
    }


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=150, repetitions=3)
    runs: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    for _ in range(options.repetitions):
        for mode in MODES:
            with tempfile.TemporaryDirectory() as folder:
                runs[mode].append(run_once(options.steps, mode, Path(folder) / "run"))
    write_report(
        "demo_cost",
        f"Cost of the demo, {options.steps} steps, {options.repetitions} runs of each in turns",
        {"steps": options.steps, "runs": runs},
        "`off`, `window` and `overlap` are values of `rollout.ahead`; minimum – median – maximum, and the median ratio "
        "of runs that came one after the other. `cpu_seconds_per_step` is the whole process, start, evaluation and "
        "tracking included, over the number of steps; the lines after it are the steps alone, by the trainer. "
        "With `overlap`, `generation_seconds_mean` is what a step waited.",
        markdown(runs),
    )


def markdown(runs: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    """Return a table with one line per figure."""
    rows = []
    for name in runs["off"][0]:
        values = {mode: [run[name] for run in found] for mode, found in runs.items()}
        ratios = [
            median(after / before if before else 1.0 for before, after in zip(values["off"], values[mode], strict=True))
            for mode in MODES[1:]
        ]
        spans = (" – ".join(f"{figure(values[mode]):.4g}" for figure in (min, median, max)) for mode in MODES)
        rows.append([name, *spans, *(f"{ratio:.2f}" for ratio in ratios)])
    ratio_names = (f"`{mode}` / `off`" for mode in MODES[1:])
    return table(["figure", *(f"`{mode}`" for mode in MODES), *ratio_names], rows)


if __name__ == "__main__":
    main()
