"""Procedural tasks of the package reasoning-gym (arXiv:2505.24760), by their names there."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Any

from bapo.answer_text import last_tagged
from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.task import ReasoningGymTaskConfig
from bapo.draws import seed_of
from bapo.isolation.function import IsolatedFunction
from bapo.rollout import prompt_identity
from bapo.tasks.base import JUDGE_LIMITS, JUDGE_SECONDS, Problem, Problems

MEND = 'pip install ".[reasoning-gym]"'
LONGEST_ANSWER = 10_000
"""Most characters of an answer; a longer one counts as wrong."""
EVALUATING = frozenset(
    {
        "binary_matrix",
        "countdown",
        "intermediate_integration",
        "n_queens",
        "polynomial_multiplication",
        "puzzle24",
        "simple_integration",
        "spiral_matrix",
        "string_insertion",
    }
)
"""Tasks whose verifier, in release 0.1.25, runs the response as Python code: they are refused."""


def _generated(section: ReasoningGymTaskConfig, *, split: str) -> dict[str, list[Problem]]:
    """Return problems of the `train` or `test` split by the name of their task; a question that comes again is left
    out.

    Raises ConfigError where the package is missing, or has no such task.
    """
    gym = _package()
    size = section.num_per_dataset if split == "train" else section.num_test_per_dataset
    seed = seed_of(section.seed, 0, f"reasoning-gym-{split}") % 2**31
    found: dict[str, list[Problem]] = {}
    for name in section.datasets:
        if name in EVALUATING:
            remedy = "its verifier would run responses as Python code, so it is not offered: take another task"
            raise _problem("task.datasets", name, remedy)
        try:
            entries = gym.create_dataset(name, size=size, seed=seed)
        except ValueError as error:
            remedy = f"reasoning-gym has no such task ({error}): take a name of its gallery"
            raise _problem("task.datasets", name, remedy) from None
        problems: dict[str, Problem] = {}
        for index in range(size):
            prompt = f"{entries[index]['question'].strip()}\n\n{section.instruction}".strip()
            source = f"reasoning_gym/{name}"
            answer = {"dataset": name, "size": size, "seed": seed, "index": index}
            problem = Problem(prompt_identity(source, prompt), source, prompt, answer)
            problems.setdefault(problem.prompt_id, problem)
        found[name] = list(problems.values())
    return found


def reasoning_gym_reward(problem: Problem, response_text: str) -> int:
    """Return 1 if reasoning-gym gives the last <answer>…</answer> its full score, else 0.

    Raises CallFailedError where that takes too much time or memory, or its verifier raises.
    """
    answer = last_tagged(response_text)
    if answer is None or not answer or len(answer) > LONGEST_ANSWER:
        return 0
    return int(_judge()(dict(problem.answer), answer))


def entry_problem(answer: Mapping[str, object]) -> str | None:
    """Return why an answer identifies no problem of reasoning-gym; None if it does."""
    numbers = (answer.get(key) for key in ("size", "seed", "index"))
    if isinstance(answer.get("dataset"), str) and all(type(number) is int for number in numbers):
        return None
    return "the answer lacks dataset, size, seed or index, by which reasoning-gym makes its problem again"


def _package() -> ModuleType:
    try:
        return importlib.import_module("reasoning_gym")
    except ModuleNotFoundError:
        raise _problem("task.type", "reasoning_gym", f"the package is not installed here: {MEND}") from None


@cache
def _judge() -> IsolatedFunction[[Mapping[str, Any], str], bool]:
    return IsolatedFunction(judged, JUDGE_LIMITS, seconds=JUDGE_SECONDS)


def judged(generated: Mapping[str, Any], answer: str) -> bool:
    """Return the verdict of the task's own verifier. Runs in its own process."""
    entries = _entries(generated["dataset"], generated["size"], generated["seed"])
    return bool(entries.score_answer(answer, entries[generated["index"]]) >= 1.0)


@cache
def _entries(dataset: str, size: int, seed: int) -> Any:
    if dataset in EVALUATING:
        raise ValueError(f"the verifier of {dataset} runs responses as code")
    return _package().create_dataset(dataset, size=size, seed=seed)


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, remedy)])


def reasoning_gym_problems(section: ReasoningGymTaskConfig) -> Problems:
    """Return training problems, and held-out ones by task that are no training problems. Raises ConfigError."""
    held_out = _generated(section, split="test")
    withheld = {problem.prompt_id for problems in held_out.values() for problem in problems}
    train = [
        problem
        for problems in _generated(section, split="train").values()
        for problem in problems
        if problem.prompt_id not in withheld
    ]
    if not train:
        remedy = "every problem is held out: lower task.num_test_per_dataset, or take a task with more problems"
        raise _problem("task.num_per_dataset", section.num_per_dataset, remedy)
    return Problems(train, held_out)
