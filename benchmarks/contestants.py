"""One run of one trainer, for `benchmarks.trainer_vs_trl`: prints its figures as a line of JSON."""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any

from bapo.config import RunConfig, apply_changes
from bapo.tasks import Task, build_task
from benchmarks.trainer_vs_trl import WARM_UP_STEPS

NUM_PROMPTS, GROUP_SIZE, MAX_NEW_TOKENS, LEARNING_RATE, SEED = 32, 8, 16, 3e-4, 42


class Clock:
    """Wall and CPU time of the steps after the warm-up."""

    def __init__(self) -> None:
        self._ticks: list[tuple[float, float]] = []

    def step_done(self) -> None:
        """Call after every step."""
        self._ticks.append((time.perf_counter(), time.process_time()))

    def figures(self) -> dict[str, float]:
        """Return the means per step."""
        begin, end = self._ticks[WARM_UP_STEPS - 1], self._ticks[-1]
        count = len(self._ticks) - WARM_UP_STEPS
        return {
            "seconds_per_step": (end[0] - begin[0]) / count,
            "cpu_seconds_per_step": (end[1] - begin[1]) / count,
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }


def config_of(steps: int, model: str, device: str) -> RunConfig:
    """Return the settings of all three contestants as a config of ours."""
    settings: dict[str, Any] = {
        "model.path": model,
        "engine.device": device,
        "method.type": "grpo",
        "rollout.batch_size": NUM_PROMPTS,
        "rollout.group_size": GROUP_SIZE,
        "rollout.max_response_tokens": MAX_NEW_TOKENS,
        "training.batch_size": NUM_PROMPTS,
        "training.learning_rate": LEARNING_RATE,
        "training.steps": WARM_UP_STEPS + steps,
        "training.seed": SEED,
        "training.checkpoint_interval": 1_000_000,
        "evaluation.enabled": False,
        "tracking.num_prompts": 0,
    }
    return RunConfig.model_validate(apply_changes({}, settings))


def run_bapo(config: RunConfig, folder: Path, clock: Clock) -> None:
    """Run the trainer as `bapo train` does, including journal and samples."""
    from bapo.records import AnyRecord, StepRecord  # noqa: PLC0415
    from bapo.run.trainer import train  # noqa: PLC0415

    class Observer:
        def on_record(self, record: AnyRecord) -> None:
            if isinstance(record, StepRecord):
                clock.step_done()

    train(folder / "run", config, observer=Observer())


def run_trl(config: RunConfig, folder: Path, clock: Clock) -> None:
    """Run TRL's GRPOTrainer with everything off that the comparison does not need."""
    import torch  # noqa: PLC0415
    from datasets import Dataset  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback  # noqa: PLC0415
    from trl import GRPOConfig, GRPOTrainer  # noqa: PLC0415

    from bapo.engines.local.policy import model_folder  # noqa: PLC0415

    torch.set_num_threads(1)
    task = build_task(config.task)
    problems = {problem.prompt_id: problem for problem in task.train}

    def reward(completions: list[Any], prompt_id: list[str], **_: Any) -> list[float]:
        return [
            float(task.reward(problems[name], completion[0]["content"]))
            for name, completion in zip(prompt_id, completions, strict=True)
        ]

    class Callback(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.step_done()

    rows = [
        {"prompt": [{"role": "user", "content": problem.prompt}], "prompt_id": problem.prompt_id}
        for problem in task.train
    ]
    model = model_folder(config.model.path)
    trainer = GRPOTrainer(
        model=AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32),
        processing_class=AutoTokenizer.from_pretrained(model),
        reward_funcs=reward,
        train_dataset=Dataset.from_list(rows),
        callbacks=[Callback()],
        args=GRPOConfig(
            output_dir=str(folder),
            use_cpu=config.engine.device == "cpu",
            bf16=False,
            gradient_checkpointing=False,
            per_device_train_batch_size=NUM_PROMPTS * GROUP_SIZE,
            gradient_accumulation_steps=1,
            num_generations=GROUP_SIZE,
            max_completion_length=MAX_NEW_TOKENS,
            temperature=1.0,
            beta=0.0,
            epsilon=0.2,
            loss_type="grpo",
            learning_rate=LEARNING_RATE,
            lr_scheduler_type="constant",
            optim="adamw_torch_fused",
            max_grad_norm=1.0,
            max_steps=config.training.steps or 0,
            seed=SEED,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        ),
    )
    trainer.train()


def run_bare(config: RunConfig, folder: Path, clock: Clock) -> None:
    """Run a loop as written in an afternoon: `generate`, one forward pass over whole sequences, AdamW."""
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    from bapo.advantages import group_advantages  # noqa: PLC0415
    from bapo.engines.local.policy import model_folder  # noqa: PLC0415

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    task: Task = build_task(config.task)
    source = model_folder(config.model.path)
    device = config.engine.device
    model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval().to(device)
    tokenizer: Any = AutoTokenizer.from_pretrained(source, padding_side="left")
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.0, fused=True)
    for step in range(config.training.steps or 0):
        begin = step * NUM_PROMPTS % (len(task.train) - NUM_PROMPTS)
        problems = [problem for problem in task.train[begin : begin + NUM_PROMPTS] for _ in range(GROUP_SIZE)]
        chats = [[{"role": "user", "content": problem.prompt}] for problem in problems]
        inputs: Any = tokenizer.apply_chat_template(
            chats, add_generation_prompt=True, return_dict=True, return_tensors="pt", padding=True
        ).to(device)
        prompt_length = inputs["input_ids"].shape[1]
        with torch.no_grad():
            sequences = model.generate(
                **inputs, max_new_tokens=MAX_NEW_TOKENS, do_sample=True, temperature=1.0, top_p=1.0, top_k=0
            )
        responses = sequences[:, prompt_length:]
        texts = tokenizer.batch_decode(responses, skip_special_tokens=True)
        rewards = torch.tensor(
            [float(task.reward(problem, text)) for problem, text in zip(problems, texts, strict=True)]
        )
        advantages = group_advantages(rewards.view(-1, GROUP_SIZE)).view(-1, 1).to(device)
        ended = (responses == tokenizer.eos_token_id).long().cumsum(1) > 0
        mask = torch.cat([torch.ones_like(ended[:, :1]), ~ended[:, :-1]], dim=1)
        attention = torch.cat([inputs["attention_mask"], mask.long()], dim=1)
        positions = (attention.cumsum(1) - 1).clamp(min=0)
        logits = model(
            input_ids=sequences,
            attention_mask=attention,
            position_ids=positions,
            logits_to_keep=responses.shape[1] + 1,
        ).logits[:, :-1]
        logprobs = torch.log_softmax(logits, -1).gather(2, responses.unsqueeze(2)).squeeze(2)
        # One update per batch: ρ = 1, and its clipping does nothing.
        ratios = (logprobs - logprobs.detach()).exp()
        loss = (-(ratios * advantages * mask).sum(1) / mask.sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        clock.step_done()


def main() -> None:
    """Run one contestant."""
    parser = argparse.ArgumentParser(description=__doc__)
    runners = {"bapo": run_bapo, "trl": run_trl, "bare": run_bare}
    parser.add_argument("name", choices=sorted(runners))
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    clock = Clock()
    runners[options.name](config_of(options.steps, options.model, options.device), options.folder, clock)
    print(json.dumps(clock.figures()))


if __name__ == "__main__":
    main()
