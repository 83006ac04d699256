"""What findings make of real runs of the shipped model that were damaged on purpose.

Each is the `countdown-demo` recipe on problems of a file, with one thing wrong: a verifier that flips rewards, problems
that stand twice in the file, a learning rate far too high. One run has nothing wrong.

    python -m benchmarks.damaged_runs [--steps 100] [--seeds 101 102] [--out FOLDER]

Thresholds were chosen on seed 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bapo.analysis.findings.search import Search, find
from bapo.analysis.findings.stream import read_stream
from bapo.config.recipes import load_recipe
from bapo.config.task import CountdownTaskConfig
from bapo.tasks.base import Problem
from bapo.tasks.countdown.task import countdown_problems
from benchmarks.demo import train_demo

NUM_PROBLEMS = 512
DUPLICATES = NUM_PROBLEMS // 5
FLIPPING = '''"""Countdown's verifier, with 1 of 10 rewards flipped."""

import random

from bapo.tasks.countdown.reward import countdown_reward


def reward(problem, response):
    return countdown_reward(problem, response) ^ (random.random() < 0.1)
'''


class Damaged(NamedTuple):
    """A run: what is wrong with it, the config fields that make it so, and its problems."""

    name: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]


def damaged_runs(folder: Path, seed: int) -> list[Damaged]:
    """The runs, with the files that they need written into the folder."""
    verifier = folder / "flipping.py"
    verifier.write_text(FLIPPING, encoding="utf-8")
    problems = countdown_problems(CountdownTaskConfig(num_train=NUM_PROBLEMS, seed=seed)).train
    rows = [_row(problem) for problem in problems]
    spaced = [{**row, "prompt": row["prompt"].replace(" ", "  ", 1)} for row in rows[:DUPLICATES]]
    known = {row["prompt"] for row in rows}
    reordered = [other for row in rows if (other := _row_reordered(row))["prompt"] not in known][:DUPLICATES]
    rate = load_recipe("countdown-demo").explicit["training"]["learning_rate"]
    return [
        Damaged("nothing", {}, rows),
        Damaged("10 % of rewards flipped", {"task.verifier": f"{verifier}:reward"}, rows),
        Damaged("20 % of problems twice, with another space", {}, rows[:-DUPLICATES] + spaced),
        Damaged("20 % of problems twice, in another order", {}, rows[:-DUPLICATES] + reordered),
        Damaged("learning rate 30 times as high", {"training.learning_rate": 30 * rate}, rows),
    ]


def _row(problem: Problem) -> dict[str, Any]:
    return {"prompt": problem.prompt, "answer": problem.answer}


def _row_reordered(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers, _, target = row["prompt"].partition("=")
    return {**row, "prompt": " ".join(reversed(numbers.split())) + f"={target}"}


def train(run: Damaged, steps: int, seed: int, folder: Path) -> Search:
    """Train it in a process of its own, and look for findings in its folder."""
    folder.mkdir()
    problems = folder / "problems.jsonl"
    problems.write_text("".join(json.dumps(row) + "\n" for row in run.rows), encoding="utf-8")
    settings = {
        "task.type": "file",
        "task.train_file": str(problems),
        "task.verifier": "countdown",
        "training.steps": steps,
        "training.seed": seed,
        **run.settings,
    }
    train_demo(folder / "run", settings)
    return find(read_stream(folder / "run"))


def main() -> None:
    """Train all and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seeds", type=int, nargs="+", default=[101])
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the runs, from 0; all unless named")
    parser.add_argument("--out", type=Path, help="a folder that is kept; without it a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        out = arguments.out or Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        for seed in arguments.seeds:
            for index, run in enumerate(damaged_runs(out, seed)):
                if arguments.only and index not in arguments.only:
                    continue
                search = train(run, arguments.steps, seed, out / f"{index}-{seed}")
                print(f"{run.name}, seed {seed}:", flush=True)
                for finding in search.report.findings:
                    print(f"  {finding.severity}, {finding.kind}: {finding.title}", flush=True)


if __name__ == "__main__":
    main()
