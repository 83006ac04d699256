"""The prompts of a task as tokens."""

from __future__ import annotations

from transformers import PreTrainedTokenizerBase

from bapo.config import ConfigError, ConfigProblem
from bapo.config.sections import RolloutConfig
from bapo.engines.local.policy import encode_problems
from bapo.tasks.base import Task


def encode_task(
    task: Task, tokenizer: PreTrainedTokenizerBase, rollout: RolloutConfig, context: int | None
) -> dict[str, tuple[int, ...]]:
    """Return token ids of every prompt of the task, including held-out ones, by its identity.

    Raises ConfigError where the longest is longer than `rollout.max_prompt_tokens`, or leaves no room for a response in
    the model's context (tokens; None where the model has no limit).
    """
    problems = [*task.train, *(problem for held_out in task.evaluation_sets.values() for problem in held_out)]
    encoded = encode_problems(tokenizer, problems)
    longest, problem = max(
        ((len(tokens), problem) for tokens, problem in zip(encoded, problems, strict=True)),
        key=lambda pair: pair[0],
    )
    if longest > rollout.max_prompt_tokens:
        raise _problem(
            "rollout.max_prompt_tokens",
            rollout.max_prompt_tokens,
            f"the prompt {problem.prompt[:80]!r} has {longest} tokens: allow at least {longest}, or leave out "
            "long prompts",
        )
    if context is not None and longest >= context:
        remedy = f"the model's context of {context} tokens is full with the prompt {problem.prompt[:80]!r} of {longest}"
        raise _problem(
            "rollout.max_prompt_tokens",
            rollout.max_prompt_tokens,
            f"{remedy}: leave out long prompts, or take a model with a longer context",
        )
    if context is not None and longest + rollout.max_response_tokens > context:
        raise _problem(
            "rollout.max_response_tokens",
            rollout.max_response_tokens,
            f"with prompts of up to {longest} tokens it exceeds the model's context of {context}: give at most "
            f"{context - longest}",
        )
    return {problem.prompt_id: tuple(tokens) for problem, tokens in zip(problems, encoded, strict=True)}


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, remedy)])
