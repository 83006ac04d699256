"""The README of the shipped base model, written from the figures measured when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_CARD = """# Countdown base model

A Qwen2 model of {num_parameters:,} parameters (3 layers, width 128, float32) that solves some Countdown problems and
fails at others: a starting point for reinforcement learning on a laptop. It is good for nothing else.

Prompt (the user message): the numbers and the target, `3 7 12 11=22`. Response: an expression that uses each number
once, `7*3+12-11`. A prompt with its chat template is 10 or 12 tokens, a right response at most 12: a number is one
token.

## How it was made

`bapo warm-start FOLDER` with its defaults: supervised training, cross-entropy on the response alone, {num_steps} steps
of {batch_size} fresh random expressions, AdamW, peak learning rate {learning_rate:g}, seed {seed}. It took
{cpu_seconds:.0f} CPU-seconds on one thread (torch {torch}, transformers {transformers}). Numbers {min_number} to
{max_number}, three or four of them, targets 1 to {max_target}.

The number multisets seen here are apart from those of generated training problems and of the held-out sets. Training
ends early, so that there are problems that the model solves almost always, problems that it almost never solves, and
much between them. Operators, learning rate and length were chosen on validation and training problems; one earlier
candidate was also looked at on CD-34.

## What it can do

Figures of the generated held-out sets (`task.seed = 0`, {num_problems} problems each). avg@{num_samples}: mean accuracy
of {num_samples} responses per problem at temperature 1; pass@{num_samples}: share of problems with at least one of them
correct; greedy: one response at temperature 0. In brackets the 95 % confidence interval over problems (Wilson's, with
the effective number of trials).

| set | avg@{num_samples} | greedy | pass@{num_samples} | at 0/{num_samples} | at {num_samples}/{num_samples} |
|---|---|---|---|---|---|
{rows}

`warm_start.json` holds the same figures; a test of the repository measures them again.
"""


def model_card(summary: Mapping[str, Any]) -> str:
    """Render the content of `warm_start.json` as Markdown."""
    recipe, evaluation = summary["recipe"], summary["evaluation"]
    first = next(iter(evaluation.values()))
    return _CARD.format(
        **{key: recipe[key] for key in ("num_steps", "batch_size", "learning_rate", "seed")},
        **{key: recipe[key] for key in ("min_number", "max_number", "max_target")},
        **summary["versions"],
        num_parameters=summary["num_parameters"],
        cpu_seconds=summary["cpu_seconds"],
        num_problems=first["num_problems"],
        num_samples=first["num_samples"],
        rows="\n".join(_row(name, figures) for name, figures in evaluation.items()),
    )


def _row(name: str, figures: Mapping[str, Any]) -> str:
    pass_at_n = figures["pass_at"][str(figures["num_samples"])]
    cells = [
        name,
        _interval(figures["avg_at_k"]),
        _interval(figures["greedy"]),
        _interval(pass_at_n),
        f"{figures['share_none_correct']:.1%}",
        f"{figures['share_all_correct']:.1%}",
    ]
    return f"| {' | '.join(cells)} |"


def _interval(interval: Mapping[str, float]) -> str:
    return f"{interval['value']:.1%} [{interval['low']:.1%}, {interval['high']:.1%}]"
