"""Watch TRL's GRPOTrainer: three lines record every group that it trains on.

    sh scripts/setup_trl.sh
    .venv-trl/bin/python examples/observe_trl.py [FOLDER]

The model and the problems come with this repository, and a step takes a fifth of a second without a GPU. With
BAPO_SERVER and BAPO_TOKEN set, the run is on that server while it trains.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

import bapo
from bapo.config import resolve
from bapo.observe.trl import observe_trl
from bapo.tasks import build_task

MODEL = Path(bapo.__file__).parent / "engines" / "models" / "countdown-base"
STEPS = 20


def make_trainer(output: str, steps: int) -> Any:
    """TRL's trainer as anybody makes it: it knows nothing of who watches."""
    task = build_task(resolve({"task": {"type": "countdown"}}).config.task)
    problems = {problem.prompt: problem for problem in task.train}

    def is_right(prompts: Any, completions: Any, **_: Any) -> list[float]:
        return [
            float(task.reward(problems[prompt[0]["content"]], completion[0]["content"]))
            for prompt, completion in zip(prompts, completions, strict=True)
        ]

    rows = [
        {
            "prompt": [{"role": "user", "content": problem.prompt}],
            # Both are optional: where a prompt comes from, and what its reward was computed with.
            "data_source": problem.data_source,
            "answer": json.dumps(problem.answer),
        }
        for problem in task.train
    ]
    return GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        reward_funcs=is_right,
        train_dataset=Dataset.from_list(rows),
        args=GRPOConfig(
            output_dir=output,
            max_steps=steps,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=16,
            learning_rate=3e-4,
            logging_steps=1,
            use_cpu=not torch.cuda.is_available(),
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to="none",
        ),
    )


def main() -> None:
    """Train and be observed."""
    folder = sys.argv[1] if len(sys.argv) > 1 else None
    # The model is too small for several threads, which would wait for each other beside other work.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as output:
        trainer = make_trainer(output, STEPS)
        with observe_trl(trainer, "countdown", folder=folder) as run:
            trainer.train()
    print(f"recorded in {run.folder}; show it by: bapo import {run.folder}")


if __name__ == "__main__":
    main()
