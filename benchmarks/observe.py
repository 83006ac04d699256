"""Time for which `run.step` blocks the trainer that calls it.

    python -m benchmarks.observe [--steps 2000] [--groups 64] [--group-size 8] [--folder DIR]

Groups of 64 prompts × G 8, prompts of 500 characters from a pool of 2,048, responses of 1,500 characters of which four
groups per step are kept. Measured on the caller's thread: wall time, and CPU time, which other processes of the machine
lengthen less. The line is with the operating system when the call returns. Writes docs/benchmarks/observe.json and
observe.md.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bapo import observe
from bapo.observe import Group
from benchmarks.report import table, write_report

NUM_PROMPTS, PROMPT_CHARACTERS, RESPONSE_CHARACTERS = 2_048, 500, 1_500
WARM_UP_STEPS = 50
GOAL_MS = 0.25


def measured(folder: Path, num_steps: int, num_groups: int, group_size: int) -> tuple[list[float], list[float]]:
    """Return wall and CPU time of each step in milliseconds, ascending."""
    draw = random.Random(0)
    prompts = [f"{number} ".ljust(PROMPT_CHARACTERS, "x") for number in range(NUM_PROMPTS)]
    responses = ["y" * RESPONSE_CHARACTERS] * group_size
    wall, cpu = [], []
    with observe.run("benchmark", folder=folder) as run:
        for step in range(1, num_steps + WARM_UP_STEPS + 1):
            groups = [
                Group(
                    prompt, [float(draw.random() < 0.4) for _ in range(group_size)], responses, policy_version=step - 1
                )
                for prompt in draw.sample(prompts, num_groups)
            ]
            wall_began, cpu_began = time.perf_counter(), time.thread_time()
            run.step(step, groups=groups, metrics={"actor/entropy": 0.5})
            wall.append(1000 * (time.perf_counter() - wall_began))
            cpu.append(1000 * (time.thread_time() - cpu_began))
    return sorted(wall[WARM_UP_STEPS:]), sorted(cpu[WARM_UP_STEPS:])


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return the value below which this share of all values lies."""
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))]


def main() -> None:
    """Measure and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where the journal is written; default: a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        wall, cpu = measured(Path(folder) / "run", options.steps, options.groups, options.group_size)
    times = {"wall": wall, "cpu": cpu}
    figures = {
        f"{name}_p{share}": quantile(values, share / 100) for name, values in times.items() for share in (50, 99)
    }
    reached = "reached" if figures["wall_p99"] < GOAL_MS else "missed"
    rows = [
        (name, f"{figures[f'{key}_p50']:.3f}", f"{figures[f'{key}_p99']:.3f}")
        for key, name in (("wall", "wall time"), ("cpu", "CPU time of the thread"))
    ]
    write_report(
        "observe",
        "What observing costs the trainer",
        {"steps": options.steps, "groups": options.groups, "group_size": options.group_size, **figures},
        f"`run.step` on the caller's thread, {options.groups} groups × {options.group_size}, {options.steps:,} steps; "
        f"the line is with the operating system when it returns. Goal: p99 of wall time below {GOAL_MS} ms: {reached}.",
        table(("milliseconds", "p50", "p99"), rows),
        packages=("orjson",),
    )


if __name__ == "__main__":
    main()
