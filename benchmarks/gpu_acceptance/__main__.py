"""Is this machine's GPU fit for training?

    python -m benchmarks.gpu_acceptance local|verl|all [--minutes 10] [--device cuda] [--json FILE] [--report]

`local`: the built-in trainer; it needs PyTorch, transformers, safetensors and psutil, and of this project's other
dependencies only pydantic and orjson. `verl`: Ray, FSDP and vLLM, in the environment of
`sh scripts/setup_verl.sh --gpu`.
`--minutes` is the time of the demo run. Prints each measurement with its threshold and a verdict; exits with 1 if any
fails. `--report` also writes docs/benchmarks/gpu_acceptance_local.md or gpu_acceptance_verl.md, with a .json each.
Without a GPU, `--device cpu` holds the CPU against itself, which shows that the checks work and no more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import torch

from bapo.config import ConfigError
from bapo.engines.verl.interpreter import trainer_python
from benchmarks.gpu_acceptance import local
from benchmarks.gpu_acceptance.checks import as_table, reported
from benchmarks.report import write_report


def main() -> int:
    """Make the checks that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["local", "verl", "all"])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--small", action="store_true", help="a few prompts and a small model, to try the checks")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU here; --device cpu tries the checks without one")
    seconds = 60 * options.minutes
    sizes = local.Sizes(learning_seconds=seconds)
    if options.small:
        sizes = local.Sizes(num_prompts=4, group_size=4, width=128, layers=2, learning_seconds=seconds)
    made = []
    with tempfile.TemporaryDirectory() as folder:
        if options.engine in ("local", "all"):
            made += reported(local.checks(options.device, sizes, Path(folder)))
        if options.engine == "all":
            # In its own environment, and when the local engine's memory is free.
            python = _verl_python(parser, options.device, sizes)
            again = [python, "-m", "benchmarks.gpu_acceptance", "verl", *_shared(options)]
            returncode = subprocess.run(again, check=False).returncode
        if options.engine == "verl":
            from benchmarks.gpu_acceptance import verl  # noqa: PLC0415  (needs verl's environment)

            made += reported(verl.checks(options.device, sizes))
    print(as_table(made))
    answers = [asdict(check) | {"passed": check.passed} for check in made]
    if options.report and made:
        engine = "local" if options.engine == "all" else options.engine
        title = f"Is the GPU fit for training: the {engine} engine"
        write_report(f"gpu_acceptance_{engine}", title, {"checks": answers}, as_table(made))
    if options.json is not None:
        options.json.write_text(json.dumps(answers, indent=2) + "\n", encoding="utf-8")
    failed_elsewhere = options.engine == "all" and returncode != 0
    return int(failed_elsewhere or not all(check.passed for check in made))


def _verl_python(parser: argparse.ArgumentParser, device: str, sizes: local.Sizes) -> str:
    from benchmarks.gpu_acceptance import verl  # noqa: PLC0415

    try:
        return trainer_python(verl.config_of(device, sizes, offload=False))
    except ConfigError as error:
        parser.error(str(error))


def _shared(options: argparse.Namespace) -> list[str]:
    flags = ["--minutes", str(options.minutes), "--device", options.device, *(["--small"] if options.small else [])]
    if options.report:
        flags.append("--report")
    if options.json is not None:
        flags += ["--json", str(options.json.with_stem(f"{options.json.stem}-verl"))]
    return flags


if __name__ == "__main__":
    sys.exit(main())
