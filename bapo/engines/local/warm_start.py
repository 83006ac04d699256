"""Warm start: how the shipped base model is made, by supervised training on random Countdown expressions.

Its number multisets are set apart from those of generated training and held-out problems (`Split.WARM_START`). It ends
early: the base model solves some sums almost always, fails at a third of the problems, and has the rest to gain.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Qwen2Config, Qwen2ForCausalLM

from bapo.config.task import CountdownTaskConfig
from bapo.draws import generator, seed_of
from bapo.engines.local.model_card import model_card
from bapo.engines.local.policy import LanguageModel, encode_prompts
from bapo.engines.local.sampling import sample
from bapo.engines.local.tokenizer import END_OF_TURN, countdown_tokenizer
from bapo.evaluation import EvaluationFigures, figures
from bapo.tasks import Task, build_task
from bapo.tasks.base import Problem
from bapo.tasks.countdown.generation import ProblemRange, Split, random_problem
from bapo.tasks.countdown.problems import COMPACT_TEMPLATE

DEMO_RANGE = ProblemRange(min_number=1, max_number=12, max_target=40, num_operands=(3, 4))
MAX_RESPONSE_TOKENS = 16

_WARM_UP_STEPS = 50
_FINAL_LEARNING_RATE_SHARE = 0.05
_IGNORED = -100


@dataclass(frozen=True, slots=True)
class WarmStartProgress:
    """One optimizer step of the warm start."""

    step: int
    """From 1."""
    num_steps: int
    loss: float
    """Nats per response token."""
    elapsed_seconds: float


@dataclass(frozen=True, slots=True)
class WarmStartReport:
    """The model made, and what it can do."""

    folder: Path
    num_parameters: int
    final_loss: float
    """Mean of the last 50 steps, nats per response token."""
    cpu_seconds: float
    """CPU time of training, without evaluation, in seconds."""
    wall_seconds: float
    evaluation: Mapping[str, EvaluationFigures]
    """By held-out set."""


def warm_start(
    out_dir: Path,
    *,
    seed: int = 0,
    num_steps: int = 600,
    batch_size: int = 64,
    learning_rate: float = 2e-3,
    on_progress: Callable[[WarmStartProgress], None] | None = None,
) -> WarmStartReport:
    """Train the Countdown base model and write it to `out_dir` with model card and `warm_start.json`.

    Teacher forcing, mean cross-entropy per response token; AdamW with linear warm-up and cosine decay; every batch is
    drawn again, keyed by (seed, step). Equal arguments give equal weights on one machine with one number of threads.

    Raises:
        ValueError: `out_dir` holds files already.
    """
    if out_dir.exists() and any(out_dir.iterdir()):
        raise ValueError(f"out_dir {str(out_dir)!r} is not empty; name a new folder")
    begin_cpu, begin_wall = time.process_time(), time.perf_counter()
    tokenizer = countdown_tokenizer()
    model = _new_model(tokenizer, seed)
    losses = _train(
        model,
        tokenizer,
        seed=seed,
        num_steps=num_steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        on_progress=on_progress,
    )
    cpu_seconds, wall_seconds = time.process_time() - begin_cpu, time.perf_counter() - begin_wall

    language_model = LanguageModel(model.train(False), tokenizer, (int(tokenizer.eos_token_id),))
    task = build_task(CountdownTaskConfig())
    report = WarmStartReport(
        folder=out_dir,
        num_parameters=sum(parameter.numel() for parameter in model.parameters()),
        final_loss=fmean(losses[-50:]),
        cpu_seconds=cpu_seconds,
        wall_seconds=wall_seconds,
        evaluation={
            name: evaluate_base(language_model, task, problems) for name, problems in task.evaluation_sets.items()
        },
    )
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)
    recipe = {
        "seed": seed,
        "num_steps": num_steps,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        **asdict(DEMO_RANGE),
    }
    summary = _summary(report, recipe)
    (out_dir / "warm_start.json").write_text(json.dumps(summary, indent=2) + "\n")
    (out_dir / "README.md").write_text(model_card(summary))
    return report


def evaluate_base(
    language_model: LanguageModel, task: Task, problems: Sequence[Problem], *, num_samples: int = 8
) -> EvaluationFigures:
    """Evaluate the problems: `num_samples` responses each at temperature 1, and a greedy one; draws are fixed."""
    prompts = encode_prompts(language_model.tokenizer, [problem.prompt for problem in problems])

    def num_correct(group_size: int, temperature: float) -> list[int]:
        groups = sample(
            language_model.model,
            prompts,
            group_size=group_size,
            temperature=temperature,
            top_p=1.0,
            top_k=-1,
            max_new_tokens=MAX_RESPONSE_TOKENS,
            eos_token_ids=language_model.eos_token_ids,
            generator=torch.Generator().manual_seed(seed_of(0, 0, "base model")),
        )
        counts = []
        for problem, group in zip(problems, groups, strict=True):
            texts = language_model.tokenizer.batch_decode(group.responses(), skip_special_tokens=True)
            counts.append(sum(task.reward(problem, text) for text in texts))
        return counts

    return figures(num_correct(num_samples, 1.0), num_samples, greedy_rewards=num_correct(1, 0.0))


def _new_model(tokenizer: PreTrainedTokenizerBase, seed: int) -> PreTrainedModel:
    """Return three Qwen2 layers of width 128 with random weights."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=512,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen2ForCausalLM(config)  # type: ignore[no-untyped-call]


def _train(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    seed: int,
    num_steps: int,
    batch_size: int,
    learning_rate: float,
    on_progress: Callable[[WarmStartProgress], None] | None,
) -> list[float]:
    """Return the loss of every step."""
    begin = time.perf_counter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()
    losses = []
    for step in range(1, num_steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * _learning_rate_share(step, num_steps)
        input_ids, labels = _batch(tokenizer, batch_size, seed, step)
        logits = model(input_ids=input_ids[:, :-1]).logits
        loss = cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=_IGNORED)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if on_progress is not None:
            on_progress(WarmStartProgress(step, num_steps, losses[-1], time.perf_counter() - begin))
    return losses


def _learning_rate_share(step: int, num_steps: int) -> float:
    """Return the share of the peak rate (1): linear warm-up, then half a cosine down to the final share."""
    warm_up = min(1.0, step / _WARM_UP_STEPS)
    cosine = (1 + math.cos(math.pi * (step - 1) / num_steps)) / 2
    return warm_up * (_FINAL_LEARNING_RATE_SHARE + (1 - _FINAL_LEARNING_RATE_SHARE) * cosine)


def _batch(tokenizer: PreTrainedTokenizerBase, batch_size: int, seed: int, step: int) -> tuple[Tensor, Tensor]:
    """Return token ids and labels [batch_size, tokens]; prompts and padding carry no label.

    Padding is on the right, where no response token attends to it, so that no mask is needed.
    """
    draw = generator(seed, step, "warm start")
    prompts: list[str] = []
    expressions: list[str] = []
    while len(prompts) < batch_size:
        drawn = random_problem(DEMO_RANGE, Split.WARM_START, draw)
        if drawn is not None:
            problem, expression = drawn
            prompts.append(problem.as_problem("countdown", COMPACT_TEMPLATE).prompt)
            expressions.append(expression.text + END_OF_TURN)
    prompt_ids = encode_prompts(tokenizer, prompts)
    response_ids = tokenizer(expressions, add_special_tokens=False)["input_ids"]
    longest = max(len(prompt) + len(response) for prompt, response in zip(prompt_ids, response_ids, strict=True))
    input_ids = torch.full((batch_size, longest), int(tokenizer.pad_token_id))
    labels = torch.full((batch_size, longest), _IGNORED)
    for row, (prompt, response) in enumerate(zip(prompt_ids, response_ids, strict=True)):
        end = len(prompt) + len(response)
        input_ids[row, :end] = torch.tensor([*prompt, *response])
        labels[row, len(prompt) : end] = torch.tensor(response)
    return input_ids, labels


def _summary(report: WarmStartReport, recipe: Mapping[str, object]) -> dict[str, object]:
    """Return the content of `warm_start.json`."""
    return {
        "recipe": dict(recipe),
        "num_parameters": report.num_parameters,
        "final_loss": round(report.final_loss, 4),
        "cpu_seconds": round(report.cpu_seconds, 1),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "evaluation": {name: _evaluation_summary(measured) for name, measured in report.evaluation.items()},
    }


def _evaluation_summary(measured: EvaluationFigures) -> dict[str, object]:
    assert measured.greedy is not None
    return {
        "num_problems": measured.num_problems,
        "num_samples": measured.num_samples,
        "avg_at_k": measured.avg_at_k.model_dump(),
        "greedy": measured.greedy.model_dump(),
        "pass_at": {str(k): interval.model_dump() for k, interval in measured.pass_at.items()},
        "share_none_correct": measured.share_none_correct,
        "share_all_correct": measured.share_all_correct,
    }
