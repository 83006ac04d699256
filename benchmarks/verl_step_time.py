"""Time of a step of BAPO on verl, relative to plain verl GRPO.

    python -m benchmarks.verl_step_time [--steps 15]

Three runs one after the other on this machine's CPU, with the same problems, base model, 32 prompts × 8 responses and
optimizer: verl's own GRPO by its own `fit` (benchmarks.plain_verl), GRPO and BAPO on our loop. The first five steps are
left out: in them caches fill and the buffers of BAPO are empty. About 15 minutes. Writes
docs/benchmarks/verl_step_time.json and verl_step_time.md.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bapo.config import apply_changes, resolve
from bapo.config.recipes import load_recipe
from bapo.engines.verl.interpreter import trainer_python
from benchmarks.demo import output_of, train_demo
from benchmarks.report import command_line, table, write_report

WARM_UP_STEPS = 5
PAPER = {"planning": 0.89, "mathematics": 1.14}
"""Training time of BAPO relative to GRPO (arXiv:2602.20722, Table 2)."""


def settings(method: str, steps: int) -> dict[str, Any]:
    """Return a run's changes to the demo's config: no evaluation, no tracking, one checkpoint."""
    return {
        "engine.type": "verl",
        "method.type": method,
        "training.steps": steps,
        "training.checkpoint_interval": steps,
        "evaluation.enabled": False,
        "tracking.num_prompts": 0,
        "samples.groups_per_step": 0,
    }


def ours(method: str, steps: int, folder: Path) -> dict[str, Any]:
    """Measure our loop: seconds of each step, and of its phases."""
    trained = train_demo(folder / method, settings(method, steps)).steps
    timings = [dict(step.timing) for step in trained]
    return {
        "seconds": [timing["step"] for timing in timings],
        "phases": _means(timings[WARM_UP_STEPS:]),
        "groups": fmean(step.counts.batch for step in trained[WARM_UP_STEPS:]),
        "batch_share": sum(t["batch"] for t in timings[WARM_UP_STEPS:])
        / sum(t["step"] for t in timings[WARM_UP_STEPS:]),
    }


def plain(steps: int, folder: Path) -> dict[str, Any]:
    """Measure verl's own trainer in the same way."""
    config = apply_changes(load_recipe("countdown-demo").explicit, settings("grpo", steps))
    config_file, out = folder / "config.json", folder / "plain.jsonl"
    config_file.write_text(json.dumps(config))
    python = os.environ.get("BAPO_VERL_PYTHON") or trainer_python(resolve(config).config)
    output_of([python, "-m", "benchmarks.plain_verl", str(config_file), str(out)])
    timings = [
        {
            name.removeprefix("timing_s/"): value
            for name, value in json.loads(line)["data"].items()
            if "timing_s/" in name
        }
        for line in out.read_text().splitlines()
    ]
    return {
        "seconds": [timing["step"] for timing in timings],
        "phases": _means(timings[WARM_UP_STEPS:]),
        "groups": resolve(config).config.training.batch_size,
    }


def _means(timings: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for timing in timings for name in timing if name not in ("elapsed", "unix_time"))
    return {name: fmean(timing.get(name, 0.0) for timing in timings) for name in names}


def markdown(rows: dict[str, dict[str, Any]]) -> str:
    """Return a table with one line per run."""
    base = fmean(rows["plain verl GRPO"]["seconds"][WARM_UP_STEPS:])
    lines = []
    for name, row in rows.items():
        mean, middle = fmean(row["seconds"][WARM_UP_STEPS:]), median(row["seconds"][WARM_UP_STEPS:])
        lines.append([name, f"{mean:.2f} s", f"{middle:.2f} s", f"{mean / base:.2f}", f"{row['groups']:.1f}"])
    return table(["run", "mean step", "median step", "relative to plain verl", "groups trained on"], lines)


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=15)
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            "plain verl GRPO": plain(options.steps, Path(folder)),
            "GRPO on our loop": ours("grpo", options.steps, Path(folder)),
            "BAPO": ours("bapo", options.steps, Path(folder)),
        }
    times = ", ".join(f"{ratio:.2f} on {task}" for task, ratio in PAPER.items())
    write_report(
        "verl_step_time",
        f"Step time on verl, {options.steps} steps",
        {"steps": options.steps, "warm_up_steps": WARM_UP_STEPS, "runs": rows},
        markdown(rows),
        f"Building BAPO's batch takes {rows['BAPO']['batch_share']:.2%} of its step. The paper's training times "
        f"relative to GRPO: {times}.",
    )


if __name__ == "__main__":
    main()
