"""The shipped base model, made from scratch by supervised training on random Countdown expressions.

Its number multisets are set apart from those of generated training and held-out problems (`Split.WARM_START`). It ends
early: the base model solves some sums almost always, fails at a third of the problems, and has the rest to gain.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import fmean

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Qwen2Config, Qwen2ForCausalLM

from bapo.config.task import CountdownTaskConfig
from bapo.config.warm_start import SupervisedRecipe
from bapo.draws import generator
from bapo.engines.local.demonstrations import encode_response
from bapo.engines.local.model_card import model_card
from bapo.engines.local.policy import LanguageModel, encode_problems
from bapo.engines.local.supervised import Example, TrainingProgress, train_on
from bapo.engines.local.tokenizer import countdown_tokenizer
from bapo.engines.local.warm_start import (
    WarmStartReport,
    evaluate,
    evaluation_summary,
    require_empty,
    versions,
)
from bapo.tasks import Problem, build_task
from bapo.tasks.countdown.generation import COMPACT_TEMPLATE, ProblemRange, Split, random_problem

DEMO_RANGE = ProblemRange(min_number=1, max_number=12, max_target=40, num_operands=(3, 4))
MAX_RESPONSE_TOKENS = 16

RECIPE = SupervisedRecipe(num_steps=600, batch_size=64, learning_rate=2e-3, warm_up_steps=50)


def countdown_base(
    out_dir: Path,
    recipe: SupervisedRecipe = RECIPE,
    *,
    on_progress: Callable[[TrainingProgress], None] | None = None,
) -> WarmStartReport:
    """Train the Countdown base model and write it to `out_dir` with model card and `warm_start.json`.

    Every batch is drawn again, keyed by (seed, step). Equal arguments give equal weights on one machine with one number
    of threads. Raises ConfigError where `out_dir` holds files already.
    """
    require_empty(out_dir)
    begin_cpu, begin_wall = time.process_time(), time.perf_counter()
    tokenizer = countdown_tokenizer()
    model = _new_model(tokenizer, recipe.seed)
    losses = train_on(
        model.train(),
        lambda step: _batch(tokenizer, recipe, step),
        recipe,
        padding=int(tokenizer.pad_token_id),
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
            name: evaluate(language_model, task, problems, max_response_tokens=MAX_RESPONSE_TOKENS, with_greedy=True)
            for name, problems in task.evaluation_sets.items()
        },
    )
    model.save_pretrained(out_dir)
    tokenizer.save_pretrained(out_dir)
    summary = _summary(report, {**_of_card(recipe), **asdict(DEMO_RANGE)})
    (out_dir / "warm_start.json").write_text(json.dumps(summary, indent=2) + "\n")
    (out_dir / "README.md").write_text(model_card(summary))
    return report


def _of_card(recipe: SupervisedRecipe) -> dict[str, object]:
    return {name: getattr(recipe, name) for name in ("seed", "num_steps", "batch_size", "learning_rate")}


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


def _batch(tokenizer: PreTrainedTokenizerBase, recipe: SupervisedRecipe, step: int) -> list[Example]:
    draw = generator(recipe.seed, step, "warm start")
    problems: list[Problem] = []
    expressions: list[list[int]] = []
    while len(problems) < recipe.batch_size:
        drawn = random_problem(DEMO_RANGE, Split.WARM_START, draw)
        if drawn is not None:
            problem, expression = drawn
            problems.append(problem.as_problem("countdown", COMPACT_TEMPLATE))
            expressions.append(encode_response(tokenizer, expression.text))
    return list(map(Example, encode_problems(tokenizer, problems), expressions))


def _summary(report: WarmStartReport, recipe: Mapping[str, object]) -> dict[str, object]:
    """Return the content of `warm_start.json`."""
    return {
        "recipe": dict(recipe),
        "num_parameters": report.num_parameters,
        "final_loss": round(report.final_loss, 4),
        "cpu_seconds": round(report.cpu_seconds, 1),
        "versions": versions(),
        "evaluation": {name: evaluation_summary(measured) for name, measured in report.evaluation.items()},
    }
