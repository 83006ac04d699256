"""Does a long run on verl grow? Memory of all its processes and its files in shared memory over 50 steps.

    python -m benchmarks.verl_memory [--steps 50]

About 12 minutes on two cores. Exits with 1 where either has grown between the steps 11 to 20 and the last ten by more
than measuring it scatters, or something is left behind. Writes docs/benchmarks/verl_memory.json and verl_memory.md.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import psutil

from bapo.engines.verl.leftovers import PREFIXES, SHARED_MEMORY
from bapo.records import StepRecord
from bapo.run.journal import merged_records
from benchmarks.demo import train_command
from benchmarks.report import command_line, table, write_report

EARLY = slice(10, 20)
LATE = slice(-10, None)
TOLERATED_GROWTH = 0.02
"""Tolerated relative growth of memory: allocators keep memory that they once had."""


def shared_files() -> dict[str, int]:
    """Return this user's files of Python and verl in shared memory, with the bytes that they take."""
    found = {}
    for path in SHARED_MEMORY.glob("*"):
        try:
            if path.name.startswith(PREFIXES):
                found[path.name] = path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return found


def own_memory(process: psutil.Process) -> int:
    """Return the bytes of all processes of the run; shared pages count once."""
    total = 0
    for each in (process, *process.children(recursive=True)):
        try:
            total += each.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return total


def measure(steps: int, folder: Path) -> list[dict[str, Any]]:
    """Train, and look at each completed step."""
    before = shared_files().keys()
    settings = {
        "engine.type": "verl",
        "training.steps": steps,
        "training.checkpoint_interval": 10,
        "tracking.num_prompts": 0,
        "evaluation.enabled": False,
    }
    with (folder / "log").open("wb") as log:
        trainer = psutil.Popen(train_command(folder / "run", settings), stdout=log, stderr=log)
        rows: list[dict[str, Any]] = []
        while trainer.poll() is None:
            time.sleep(0.5)
            records = merged_records(folder / "run") if (folder / "run").is_dir() else []
            done = [record for record in records if isinstance(record, StepRecord)]
            if len(done) > len(rows):
                files = {name: size for name, size in shared_files().items() if name not in before}
                row = {"step": len(done), "memory_bytes": own_memory(trainer)}
                rows.append(row | {"files": len(files), "file_bytes": sum(files.values())})
    if trainer.returncode:
        raise RuntimeError((folder / "log").read_text()[-4000:])
    left = shared_files().keys() - before
    if left:
        raise RuntimeError(f"left behind in shared memory: {', '.join(sorted(left))}")
    return rows


def growth(rows: list[dict[str, Any]], name: str) -> float:
    """Return the relative growth of the mean, from early to late steps."""
    early, late = (fmean(row[name] for row in rows[part]) for part in (EARLY, LATE))
    return late / early - 1 if early else float(late > 0)


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return a table with the early and late mean of each quantity."""
    lines = []
    for name, title, unit in (
        ("memory_bytes", "memory of all processes, shared pages counted once", 2**30),
        ("files", "files in shared memory", 1),
        ("file_bytes", "bytes of these files", 2**20),
    ):
        early, late = (fmean(row[name] for row in rows[part]) / unit for part in (EARLY, LATE))
        suffix = {2**30: " GiB", 2**20: " MiB", 1: ""}[unit]
        lines.append([title, f"{early:.2f}{suffix}", f"{late:.2f}{suffix}", f"{growth(rows, name):+.1%}"])
    return table(["", "steps 11 to 20", "last ten steps", "growth"], lines)


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=50)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(options.steps, Path(folder))
    write_report(
        "verl_memory",
        f"Memory of {options.steps} steps on verl",
        {"steps": options.steps, "rows": rows},
        markdown(rows),
    )
    print(json.dumps({name: growth(rows, name) for name in ("memory_bytes", "files", "file_bytes")}))
    grows = growth(rows, "memory_bytes") > TOLERATED_GROWTH or growth(rows, "files") > 0
    sys.exit(1 if grows else 0)


if __name__ == "__main__":
    main()
