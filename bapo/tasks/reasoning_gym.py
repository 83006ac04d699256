"""Procedural tasks of the package reasoning-gym (arXiv:2505.24760), by their names there."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

from bapo.answer_text import ANSWER_TEXT, last_tagged
from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.task import ReasoningGymTaskConfig
from bapo.draws import seed_of
from bapo.isolation.function import IsolatedFunction
from bapo.rollout import prompt_identity
from bapo.tasks.answer_formats import Extract, answer_format
from bapo.tasks.base import JUDGE_LIMITS, JUDGE_SECONDS, Problem, Problems

_PACKAGE = "reasoning_gym"
MEND = "install a C compiler (on Debian: apt-get install gcc python3-dev), then `pip install reasoning-gym==0.1.25`"
LONGEST_ANSWER = 10_000
"""Most characters of an answer; a longer one counts as wrong."""
_MOST_TRIES = 64
"""Entries generated per problem wanted, where a limit leaves some of them out."""
MAX_SOLUTION_STEPS = "max_solution_steps"
"""A setting of this project for every task with worked solutions; reasoning-gym's config has none like it."""
COMPARING = frozenset({"exact", "math"})
"""Verifiers that compare with a problem's answer, which they then get in place of what makes the problem again."""
USUAL: Mapping[str, Mapping[str, Any]] = {"basic_arithmetic": {"max_digits": 2}}
"""Settings other than reasoning-gym's own: with four digits it factors products of six numbers by trial division, for
hours."""
_WHOLE = re.compile(r"-?\d+")
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


class _Generated(NamedTuple):
    """A problem with the question that it is known by."""

    question: str
    problem: Problem


def _generated(section: ReasoningGymTaskConfig, name: str, *, split: str, size: int) -> list[_Generated]:
    """Return problems of a task for the `train` or `test` split; a question that comes again is left out.

    Raises ConfigError where the package is missing, or has no such task or setting of it.
    """
    if name in EVALUATING:
        remedy = "its verifier would run responses as Python code, so it is not offered: take another task"
        raise _problem("task.datasets", name, remedy)
    seed = seed_of(section.seed, 0, f"reasoning-gym-{split}") % 2**31
    settings = {**USUAL.get(name, {}), **section.settings_of(name)}
    limit = _step_limit(settings.pop(MAX_SOLUTION_STEPS, None))
    num_entries = size if limit is None else size * _MOST_TRIES
    known: dict[str, Any] = {"dataset": name, "size": num_entries, "seed": seed}
    # Without settings, as in runs from before there were any.
    known |= {"settings": settings} if settings else {}
    entries = _created(name, num_entries, seed, settings)
    form = answer_format(section)
    instruction = form.instruction if section.instruction is None else section.instruction
    found: dict[str, _Generated] = {}
    num_taken = 0
    for index in range(num_entries):
        if num_taken == size:
            break
        entry = entries[index]
        solution = worked_solution(entry)
        if limit is not None and (solution is None or solution.count("=") > limit):
            continue
        num_taken += 1
        question, right = entry["question"].strip(), entry["answer"]
        answer = known | {"index": index}
        if section.verifier in COMPARING:
            if right is None:
                remedy = f"the problems of {name} have several right answers: take the verifier reasoning_gym"
                raise _problem("task.verifier", section.verifier, remedy)
            answer = {ANSWER_TEXT: str(right)}
        prompt = f"{question}\n\n{instruction}".strip()
        source = f"reasoning_gym/{name}"
        problem = Problem(
            prompt_identity(source, prompt),
            source,
            prompt,
            answer,
            solution=None if solution is None else form.completed(solution, str(right)),
        )
        found.setdefault(question, _Generated(question, problem))
    if not found:
        remedy = f"none of {num_entries:,} problems of {name} has a worked solution of so few steps: raise it"
        raise _problem("task.dataset_settings", f"{name}.{MAX_SOLUTION_STEPS}={limit}", remedy)
    return list(found.values())


def _step_limit(value: object) -> int | None:
    """Return the most steps of a worked solution, each an equation; None for no limit. Raises ConfigError."""
    if value is None or (type(value) is int and value >= 1):
        return value
    remedy = f"{MAX_SOLUTION_STEPS} counts the equations of a worked solution: give a whole number, at least 1"
    raise _problem("task.dataset_settings", value, remedy)


def _created(name: str, size: int, seed: int, settings: Mapping[str, Any]) -> Any:
    """Return a task's entries. Raises ConfigError where there is no such task or setting, or a value is refused."""
    gym = _package()
    try:
        return gym.create_dataset(name, size=size, seed=seed, **settings)
    except ValueError as error:
        remedy = f"reasoning-gym has no such task ({error}): take a name of its gallery"
        raise _problem("task.datasets", name, remedy) from None
    except (AssertionError, TypeError) as error:
        why = str(error) or "a value is out of its range"
        remedy = f"reasoning-gym refuses the settings of {name} ({why}): see its config of the task"
        raise _problem("task.dataset_settings", settings, remedy) from None


def worked_solution(entry: Mapping[str, Any]) -> str | None:
    """Return the steps to the answer of an entry: those that reasoning-gym gives, or those of a sum; None without."""
    known = entry.get("metadata", {})
    if isinstance(steps := known.get("answer_cot"), str):
        return steps
    first, *rest = str(known.get("expression", "")).split() or [""]
    if len(rest) < 2 or len(rest) % 2 or not _WHOLE.fullmatch(first):
        return None
    total, lines = int(first), []
    for sign, term in zip(rest[::2], rest[1::2], strict=True):
        if sign not in "+-" or not _WHOLE.fullmatch(term):
            return None
        after = total + int(term) if sign == "+" else total - int(term)
        lines.append(f"{total} {sign} {term} = {after}")
        total = after
    return "\n".join(lines)


def reasoning_gym_reward(problem: Problem, response_text: str, extract: Extract = last_tagged) -> int:
    """Return 1 if reasoning-gym gives the response's answer its full score, else 0.

    Raises CallFailedError where that takes too much time or memory, or its verifier raises.
    """
    answer = extract(response_text)
    if answer is None or not answer or len(answer) > LONGEST_ANSWER:
        return 0
    return int(_judge()(dict(problem.answer), answer))


def entry_problem(answer: Mapping[str, object]) -> str | None:
    """Return why an answer identifies no problem of reasoning-gym; None if it does."""
    numbers = (answer.get(key) for key in ("size", "seed", "index"))
    if isinstance(answer.get("dataset"), str) and all(type(number) is int for number in numbers):
        return None
    return "the answer lacks dataset, size, seed or index, by which reasoning-gym makes its problem again"


def missing_package() -> ConfigProblem | None:
    """Return the problem of a machine without the package; None where it is installed."""
    if find_spec(_PACKAGE) is not None:
        return None
    return ConfigProblem("task.type", "reasoning_gym", f"the package reasoning-gym is not installed here: {MEND}")


def _package() -> ModuleType:
    if (problem := missing_package()) is not None:
        raise ConfigError([problem])
    return importlib.import_module(_PACKAGE)


@cache
def _judge() -> IsolatedFunction[[Mapping[str, Any], str], bool]:
    return IsolatedFunction(judged, JUDGE_LIMITS, seconds=JUDGE_SECONDS)


def judged(generated: Mapping[str, Any], answer: str) -> bool:
    """Return the verdict of the task's own verifier. Runs in its own process."""
    entries = _entries(
        generated["dataset"], generated["size"], generated["seed"], json.dumps(generated.get("settings", {}))
    )
    return bool(entries.score_answer(answer, entries[generated["index"]]) >= 1.0)


@cache
def _entries(dataset: str, size: int, seed: int, settings: str) -> Any:
    if dataset in EVALUATING:
        raise ValueError(f"the verifier of {dataset} runs responses as code")
    return _created(dataset, size, seed, json.loads(settings))


def _problem(field: str, value: object, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem(field, value, remedy)])


def reasoning_gym_problems(section: ReasoningGymTaskConfig) -> Problems:
    """Return training problems, and held-out ones by task whose questions are those of no training problem.

    Raises ConfigError.
    """
    held_out = {
        name: _generated(section, name, split="test", size=section.num_test_per_dataset) for name in section.datasets
    }
    withheld = {each.question for problems in held_out.values() for each in problems}
    train = [
        each.problem
        for name in section.datasets
        for each in _generated(section, name, split="train", size=section.num_train(name))
        if each.question not in withheld
    ]
    if not train:
        remedy = "every problem is held out: lower task.num_test_per_dataset, or take a task with more problems"
        raise _problem("task.num_per_dataset", section.num_per_dataset, remedy)
    return Problems(train, {name: [each.problem for each in problems] for name, problems in held_out.items()})
