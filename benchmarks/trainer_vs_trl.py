"""Steps per second of the local engine, TRL's GRPOTrainer and a bare loop of the Hugging Face class.

    python -m benchmarks.trainer_vs_trl [--steps 20] [--repetitions 5] [--model countdown-base] [--device cpu]

Same model, prompts, verifier and settings: GRPO, 32 prompts × G 8, at most 16 new tokens, one update a step, float32,
one thread. Each run has a separate process; the three take turns, so that a change of the machine's load affects all
equally. Without TRL in this environment, one with TRL in addition to this environment's packages is made first
(benchmarks/.venv-trl). Writes docs/benchmarks/trainer_vs_trl.json and trainer_vs_trl.md; with `--device cuda`
trainer_vs_trl_gpu.json and trainer_vs_trl_gpu.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import table, write_report

CONTESTANTS = {"bapo": "local engine", "trl": "TRL GRPOTrainer", "bare": "bare Hugging Face loop"}
WARM_UP_STEPS = 3
ENVIRONMENT = Path(__file__).parent / ".venv-trl"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20, help="measured steps per run, after the warm-up")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--model", default="countdown-base")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options = parser.parse_args()
    pythons = dict.fromkeys(CONTESTANTS, sys.executable) | {"trl": python_with_trl()}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
    for _ in range(options.repetitions):
        for name in CONTESTANTS:
            runs[name].append(run_once(name, pythons[name], options.steps, options.model, options.device))
    trl_version = _output([pythons["trl"], "-c", "from importlib.metadata import version; print(version('trl'))"])
    write_report(
        "trainer_vs_trl" if options.device == "cpu" else "trainer_vs_trl_gpu",
        f"Trainer compared with TRL: {options.repetitions} interleaved runs of {options.steps} steps, medians",
        {"trl": trl_version, "steps": options.steps, "model": options.model, "runs": runs},
        "GRPO, 32 prompts × G 8, at most 16 new tokens, one update a step, float32, one thread, no KL penalty.",
        markdown(runs),
        setting=f", trl {trl_version}",
    )


def run_once(name: str, python: str, steps: int, model: str, device: str) -> dict[str, float]:
    """Run one contestant in a separate process, and return its means per step."""
    command = [
        python,
        "-m",
        "benchmarks.contestants",
        name,
        "--steps",
        str(steps),
        "--model",
        model,
        "--device",
        device,
    ]
    threads = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as folder:
        return dict(json.loads(_output([*command, "--folder", folder], **threads).splitlines()[-1]))


def markdown(runs: dict[str, list[dict[str, float]]]) -> str:
    """Return the table: medians over the repetitions, and each repetition's ratio to TRL."""
    heads = ["trainer", "steps/s", "CPU-s per step", "peak memory (MB)", "× TRL", "× TRL, each repetition"]
    rows = []
    for name, title in CONTESTANTS.items():
        seconds, cpu, memory = (
            median(run[key] for run in runs[name])
            for key in ("seconds_per_step", "cpu_seconds_per_step", "peak_memory_mb")
        )
        ratios = [
            trl["seconds_per_step"] / own["seconds_per_step"] for trl, own in zip(runs["trl"], runs[name], strict=True)
        ]
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        rows.append([title, f"{1 / seconds:.2f}", f"{cpu:.3f}", f"{memory:.0f}", f"{median(ratios):.2f}", each])
    return table(heads, rows)


def python_with_trl() -> str:
    """Return an interpreter that can import TRL: this one, or that of an environment made for it."""
    if importlib.util.find_spec("trl") is not None:
        return sys.executable
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        print(f"installing TRL into {ENVIRONMENT}", file=sys.stderr)
        venv.create(ENVIRONMENT, with_pip=True)
    # The new environment sees this one's packages, so that all contestants run on the same torch and transformers.
    site = Path(_output([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]))
    (site / "parent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    if not (site / "trl").exists():
        _output([str(python), "-m", "pip", "install", "--quiet", "trl"])
    return str(python)


def _output(command: Sequence[str], **environment: str) -> str:
    """Return the standard output of a command; its errors pass through."""
    result: Any = subprocess.run(
        list(command), check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    return str(result.stdout).strip()


if __name__ == "__main__":
    main()
