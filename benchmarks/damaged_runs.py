"""Findings in real runs of the shipped model that were damaged on purpose.

Each is the `countdown-demo` recipe on problems of a file, with one thing wrong: a verifier that flips rewards, problems
that occur twice in the file, a learning rate far too high, wrong labels. One run has nothing wrong. Countdown
has no labels, so the runs about labels train on sums, which the shipped model is taught first.

    python -m benchmarks.damaged_runs [--steps 100] [--seeds 101 102] [--out FOLDER]

Thresholds were chosen on seed 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bapo.analysis.findings.search import Search, find
from bapo.analysis.findings.stream import read_stream
from bapo.config.recipes import load_recipe
from bapo.config.task import CountdownTaskConfig
from bapo.tasks.base import Problem
from bapo.tasks.countdown.task import countdown_problems
from benchmarks.demo import train_demo
from benchmarks.labelled_sums import labelled_rows, teach

NUM_PROBLEMS = 512
DUPLICATES = NUM_PROBLEMS // 5
WRONG_LABELS = NUM_PROBLEMS // 20
LESSONS = 600
"""Batches of sums that the shipped model is taught."""
LABELLED_SAMPLES = 16
"""Groups per step that are kept as text, so that most prompts are seen twice within 100 steps."""
FLIPPING = '''"""Countdown's verifier, with 1 of 10 rewards flipped."""

import random

from bapo.tasks.countdown.expression import countdown_reward


def reward(problem, response):
    return countdown_reward(problem, response) ^ (random.random() < 0.1)
'''


class Damaged(NamedTuple):
    """A run: what is wrong with it, the config fields that make it so, and its problems."""

    name: str
    settings: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    wrong_labels: frozenset[str] = frozenset()
    """Prompts whose label is wrong."""


def damaged_runs(folder: Path, seed: int) -> list[Damaged]:
    """Return the runs, after writing the files that they need into the folder."""
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
        *_labelled(folder, seed),
    ]


def _labelled(folder: Path, seed: int) -> Iterator[Damaged]:
    """Yield runs on sums: one with correct labels, and one with some wrong labels."""
    settings = {
        "model.path": str(folder / f"sums-{seed}"),
        "task.verifier": "exact",
        "samples.groups_per_step": LABELLED_SAMPLES,
    }
    for name, num_wrong in (("nothing, sums", 0), ("5 % of labels wrong, sums", WRONG_LABELS)):
        rows, wrong = labelled_rows(NUM_PROBLEMS, num_wrong, seed)
        yield Damaged(name, settings, rows, frozenset(wrong))


def _row(problem: Problem) -> dict[str, Any]:
    return {"prompt": problem.prompt, "answer": problem.answer}


def _row_reordered(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers, _, target = row["prompt"].partition("=")
    return {**row, "prompt": " ".join(reversed(numbers.split())) + f"={target}"}


def train(run: Damaged, steps: int, seed: int, folder: Path) -> Search:
    """Train the run in a separate process, and search its folder for findings."""
    folder.mkdir()
    problems = folder / "problems.jsonl"
    problems.write_text("".join(json.dumps(row) + "\n" for row in run.rows), encoding="utf-8")
    if "model.path" in run.settings and not (model := Path(run.settings["model.path"])).exists():
        teach(model, LESSONS, seed)
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


def label_quality(search: Search, run_folder: Path, wrong: frozenset[str]) -> str:
    """Return a sentence on the suspected labels: how many of them are wrong, and how many of the checkable wrong
    labels were found."""
    stream = read_stream(run_folder)
    suspected = search.prompts.get("label_suspected")
    listed = {stream.prompts[item.prompt_id] for item in suspected.items} if suspected else set()
    versions: dict[str, set[int]] = {}
    for group in stream.samples:
        versions.setdefault(stream.prompts[group.prompt_id], set()).add(group.policy_version)
    checked = {prompt for prompt in wrong if len(versions.get(prompt, ())) >= 2}
    reward = stream.accuracy().values
    return (
        f"suspected {len(listed)}, of which {len(listed & wrong)} are wrong; of {len(wrong)} wrong labels "
        f"{len(checked)} could be checked and {len(listed & checked)} are suspected; "
        f"reward {reward[:5].mean():.0%} at first, {reward[-10:].mean():.0%} in the end"
    )


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
                if run.wrong_labels:
                    print(f"  {label_quality(search, out / f'{index}-{seed}' / 'run', run.wrong_labels)}", flush=True)


if __name__ == "__main__":
    main()
