"""The READMEs of models that a warm start made, written from the figures measured then."""

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


_TRACE_CARD = """# {base}, warm-started

{base} ({num_parameters:,} parameters) after supervised training on {num_learned:,} right responses, as a starting
point for reinforcement learning. The licence of {base} holds for it: see `BASE_MODEL.md` and the licence files where
there are any.

## How it was made

`bapo warm-start`: cross-entropy on the response alone, {num_steps} steps of {batch_size} responses, AdamW, peak
learning rate {learning_rate:g}, seed {seed}, {wall_seconds:.0f} seconds (torch {torch}, transformers {transformers}).
The responses are {source} of the task `{task}`; {num_held_out:,} more were held out, {num_wrong:,} rejected
by the verifier, {num_too_long:,} longer than a response may be. No held-out problem was learned from.

| loss, nats per response token | |
|---|---|
| held-out responses, before | {held_out_loss_before:.3f} |
| held-out responses, after | {held_out_loss:.3f} |
| learned responses, last steps | {final_loss:.3f} |

## What it can do

avg@{num_samples}: mean accuracy of {num_samples} responses per problem at temperature 1, with its 95 % confidence
interval over problems; in the last two columns the share of problems of which no response, or each, was right.

| set | problems | before | after | at 0/{num_samples} | at {num_samples}/{num_samples} |
|---|---|---|---|---|---|
{rows}

`warm_start.json` holds the same figures and the task's config.
"""
_SOURCES = {"solutions": "worked solutions of training problems", "base": "the base model's own, to training problems,"}


def trace_card(summary: Mapping[str, Any]) -> str:
    """Render the content of `warm_start.json` of a model that learned from traces as Markdown."""
    recipe, traces, evaluation = summary["recipe"], summary["traces"], summary["evaluation"]
    num_samples = next((each["num_samples"] for each in evaluation.values()), 0)
    rows = [
        f"| {name} | {after['num_problems']} | {_interval(summary['evaluation_before'][name]['avg_at_k'])} "
        f"| {_interval(after['avg_at_k'])} | {after['share_none_correct']:.1%} | {after['share_all_correct']:.1%} |"
        for name, after in evaluation.items()
    ]
    return _TRACE_CARD.format(
        **{key: recipe[key] for key in ("num_steps", "batch_size", "learning_rate", "seed")},
        **{key: traces[key] for key in ("num_learned", "num_held_out", "num_wrong", "num_too_long")},
        **{key: summary[key] for key in ("base", "num_parameters", "wall_seconds", "final_loss")},
        **{key: summary[key] for key in ("held_out_loss_before", "held_out_loss")},
        **summary["versions"],
        source=_SOURCES[traces["source"]],
        task=summary["task"]["type"],
        num_samples=num_samples,
        rows="\n".join(rows),
    )


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
