"""Cost of the demo: wall time, CPU-seconds per step, memory, and the shares of batch construction and telemetry.

    python -m benchmarks.demo_cost [--steps 150] [--repetitions 3]

Trains the `countdown-demo` recipe by `bapo train` in a separate process, one at a time, and reads the journal.
Writes docs/benchmarks/demo_cost.json and demo_cost.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from bapo.records import EvaluationRecord, StepRecord, TrackingRecord
from bapo.run.journal import merged_records
from benchmarks.demo import train_command
from benchmarks.report import table, write_report


def run_once(steps: int, folder: Path) -> dict[str, float]:
    """Train the demo once; return measurements of the process and of its journal."""
    command = train_command(folder, {"training.steps": steps})
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
        "step_cpu_seconds": median(record.timing["step_cpu"] for record in trained),
        "step_seconds_median": median(step_seconds),
        "generation_seconds_median": median(record.timing["gen"] for record in trained),
        "update_seconds_median": median(record.timing.get("update", 0.0) for record in trained),
        "evaluation_and_tracking_seconds": apart,
        "peak_memory_mb": usage.ru_maxrss / 1024,
        "batch_construction_share": sum(record.timing["batch"] for record in trained) / sum(step_seconds),
        "journal_p99_ms": 1000 * quantiles(journal_seconds, n=100)[98],
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    runs: list[dict[str, float]] = []
    for _ in range(options.repetitions):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(run_once(options.steps, Path(folder) / "run"))
    lines = []
    for name in runs[0]:
        values = [run[name] for run in runs]
        lines.append([name, *(f"{figure(values):.4g}" for figure in (min, median, max))])
    write_report(
        "demo_cost",
        f"Cost of the demo, {options.steps} steps, {options.repetitions} runs one after another",
        {"steps": options.steps, "runs": runs},
        "`cpu_seconds_per_step` is the whole process, start, evaluation and tracking included, over the number of "
        "steps; `step_cpu_seconds` is one step alone.",
        table(["figure", "minimum", "median", "maximum"], lines),
    )


if __name__ == "__main__":
    main()
