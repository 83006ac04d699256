"""Speed and memory of `bapo import --from verl-dumps`.

    python -m benchmarks.import_dumps [--megabytes 400] [--folder DIR]

Dumps of 512 prompts × 8 responses of about 2,000 characters, as verl writes them. The import runs in a process of its
own, once over the first tenth of the files and once over all of them: if memory is constant, both need the same.
Writes docs/benchmarks/import_dumps.json and import_dumps.md.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.report import table, write_report

NUM_PROMPTS, PROMPTS_PER_STEP, GROUP_SIZE = 8_192, 512, 8
GOAL_MB_PER_SECOND = 50.0
READ = """
import json, resource, sys, time
from pathlib import Path
from bapo.observe.dumps.formats import Format, open_dump
from bapo.observe.dumps.dump_import import Settings, import_dump

began, cpu_began = time.perf_counter(), time.process_time()
result = import_dump(open_dump(Path(sys.argv[1]), Format.VERL, {}), None, Path(sys.argv[2]), Settings())
seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_mib": peak}
print(json.dumps({"megabytes": result.num_bytes / 1e6, "steps": result.num_steps, **figures}))
"""


def write_dump(folder: Path, megabytes: float) -> int:
    """Write a dump of about so many megabytes, and return the number of its files."""
    draw = random.Random(0)
    words = [f"word{number}" for number in range(1_000)]
    text = " ".join(draw.choices(words, k=2_000))
    step, num_bytes = 0, 0
    folder.mkdir(parents=True)
    while num_bytes < 1e6 * megabytes:
        step += 1
        rows = [prompt for prompt in draw.sample(range(NUM_PROMPTS), PROMPTS_PER_STEP) for _ in range(GROUP_SIZE)]
        draw.shuffle(rows)
        path = folder / f"{step}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for prompt in rows:
                at = draw.randrange(10_000)
                row = {
                    "input": f"user\nProblem {prompt}: {text[prompt : prompt + 400]}\nassistant\n",
                    "output": text[at : at + draw.randrange(1_000, 3_000)],
                    "gts": str(prompt),
                    "score": float(draw.random() < 0.4),
                    "step": step,
                    "acc": True,
                }
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        num_bytes += path.stat().st_size
    return step


def measured(dump: Path, out: Path) -> dict[str, Any]:
    """Import the dump once; return seconds, megabytes, steps and peak memory."""
    command = [sys.executable, "-c", READ, str(dump), str(out)]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return found


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=400)
    parser.add_argument("--folder", type=Path, help="where the dump is written; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        folder = Path(place)
        num_steps = write_dump(folder / "all", options.megabytes)
        (folder / "tenth").mkdir()
        for step in range(1, max(2, num_steps // 10) + 1):
            (folder / "tenth" / f"{step}.jsonl").hardlink_to(folder / "all" / f"{step}.jsonl")
        tenth = measured(folder / "tenth", folder / "run-of-tenth")
        whole = measured(folder / "all", folder / "run-of-all")
    rate = whole["megabytes"] / whole["seconds"]
    rows = [
        (
            name,
            f"{each['megabytes']:,.0f}",
            f"{each['steps']:,}",
            f"{each['megabytes'] / each['seconds']:,.0f}",
            f"{each['megabytes'] / each['cpu_seconds']:,.0f}",
            f"{each['peak_mib']:,.0f}",
        )
        for name, each in (("a tenth of the files", tenth), ("all files", whole))
    ]
    write_report(
        "import_dumps",
        "Importing verl's dumps",
        {"megabytes_per_second": rate, "tenth": tenth, "whole": whole},
        f"`bapo import --from verl-dumps`, {PROMPTS_PER_STEP} prompts × {GROUP_SIZE} per step. "
        f"Goal: {GOAL_MB_PER_SECOND:.0f} MB/s: {'reached' if rate >= GOAL_MB_PER_SECOND else 'missed'}. "
        "Other processes lengthen wall time more than CPU time. Peak memory is that of the whole process.",
        table(("dump", "MB", "steps", "MB/s", "MB per second of CPU time", "peak memory, MiB"), rows),
        packages=("orjson",),
    )


if __name__ == "__main__":
    main()
