"""A run of TRL on Countdown with the shipped model, observed: what the tests of this folder start as a process.

.venv-trl/bin/python -m tests.trl.training FOLDER '{"trainer": "GRPO", "settings": {…}}'

FOLDER/run is the observed run. FOLDER/scored-RANK.jsonl has what the reward function was given and answered, and
FOLDER/logs.jsonl what TRL logged: neither passes through the code under test.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

from bapo.config import resolve
from bapo.observe.trl import observe_trl
from bapo.tasks import build_task

MODEL = Path(__file__).parents[2] / "bapo" / "engines" / "models" / "countdown-base"


def main() -> None:
    """Train and be observed."""
    folder, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    torch.set_num_threads(1)
    task = build_task(resolve({"task": {"type": "countdown"}}).config.task)
    held_out = next(iter(task.evaluation_sets.values()))
    problems = {problem.prompt: problem for problem in [*task.train, *held_out]}

    def reward(prompts: Any, completions: Any, trainer_state: Any, **_: Any) -> list[float]:
        texts = [completion[0]["content"] for completion in completions]
        asked = [prompt[0]["content"] for prompt in prompts]
        rewards = [float(task.reward(problems[name], text)) for name, text in zip(asked, texts, strict=True)]
        line = {"step": trainer_state.global_step, "training": trainer.model.training, "prompts": asked}
        with (folder / f"scored-{trainer.accelerator.process_index}.jsonl").open("a") as file:
            file.write(json.dumps(line | {"responses": texts, "rewards": rewards}) + "\n")
        return rewards

    class Logs(TrainerCallback):  # type: ignore[misc, unused-ignore]
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if state.is_world_process_zero:
                with (folder / "logs.jsonl").open("a") as file:
                    file.write(json.dumps({"step": state.global_step, **logs}) + "\n")

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == options.get("fails_after"):
                raise RuntimeError("a trainer that broke")
            while state.global_step == options.get("waits_after") and not (folder / "go").exists():
                time.sleep(0.05)

    def rows(chosen: Any) -> Dataset:
        return Dataset.from_list(
            [
                {
                    "prompt": [{"role": "user", "content": problem.prompt}],
                    "data_source": problem.data_source,
                    "answer": json.dumps(problem.answer),
                }
                for problem in chosen
            ]
        )

    make_trainer, make_config = {"GRPO": (GRPOTrainer, GRPOConfig), "RLOO": (RLOOTrainer, RLOOConfig)}[
        options.get("trainer", "GRPO")
    ]
    settings: dict[str, Any] = {
        "max_steps": 4,
        "per_device_train_batch_size": 32,
        "num_generations": 4,
        "max_completion_length": 16,
        "beta": 0.0,
        "learning_rate": 3e-4,
        "logging_steps": 1,
        **options.get("settings", {}),
    }
    trainer = make_trainer(
        model=AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(MODEL),
        reward_funcs=reward,
        train_dataset=rows(task.train),
        eval_dataset=rows(held_out[: options.get("num_test", 8)]),
        callbacks=[Logs()],
        args=make_config(
            output_dir=str(folder / "output"),
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            seed=7,
            **settings,
        ),
    )
    with observe_trl(trainer, options.get("name", "trl"), folder=folder / "run"):
        trainer.train()


if __name__ == "__main__":
    main()
