"""Tasks: problems with a verifier, one package or module each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.task import (
    TASKS,
    AnsweredTaskSection,
    CountdownTaskConfig,
    FileTaskConfig,
    ReasoningGymTaskConfig,
    TaskSection,
)
from bapo.rollout import prompt_identity
from bapo.tasks.base import Problem, Problems, Task
from bapo.tasks.countdown.task import countdown_problems
from bapo.tasks.problem_files import file_problems
from bapo.tasks.reasoning_gym import reasoning_gym_problems
from bapo.tasks.verifiers import Verifier, load_verifier, solution_of


@dataclass(frozen=True, slots=True)
class ListedTask:
    """Problems in the order in which they were read or generated, and their verifier."""

    name: str
    train: Sequence[Problem]
    evaluation_sets: Mapping[str, Sequence[Problem]]
    verify: Verifier

    @property
    def num_reward_failures(self) -> int:
        """Responses so far on which the verifier failed; they got no reward."""
        return self.verify.num_failures

    def reward(self, problem: Problem, response_text: str) -> int:
        """Return 1 if the task's verifier accepts the response, else 0."""
        return self.verify(problem, response_text)


SHIPPED: Mapping[type[TaskSection], Callable[[Any], Problems]] = {
    CountdownTaskConfig: countdown_problems,
    FileTaskConfig: file_problems,
    ReasoningGymTaskConfig: reasoning_gym_problems,
}
"""Function that reads or generates the problems of each config class; installed packages name theirs themselves."""


def build_task(section: TaskSection) -> Task:
    """Return the task of a `task` section, with its problems read or generated.

    Raises:
        ConfigError: the data cannot be used; names field, value and remedy.
    """
    verify = verifier(section)
    train, held_out = problems_of(section)
    return ListedTask(section.type, train, held_out, verify)


def problems_of(section: TaskSection) -> Problems:
    """Return the problems of a `task` section, read or generated, without loading its verifier.

    Raises ConfigError: the data cannot be used; names field, value and remedy.
    """
    config_class = type(section)
    problems = SHIPPED.get(config_class) or TASKS.implementation(config_class).problems
    train, held_out = problems(section)
    # What a server has resolved names a version, and has its entries.
    if section.prompt_list is not None and (":" not in section.prompt_list or not section.prompt_weights):
        remedy = "its entries are not in the config: submit the run to its server, or give a file with --prompt-list"
        raise ConfigError([ConfigProblem("task.prompt_list", section.prompt_list, remedy)])
    if section.exclude_prompts or section.prompt_weights:
        train = _listed_out(train, section)
    return Problems(train, held_out)


def _listed_out(train: Sequence[Problem], section: TaskSection) -> Sequence[Problem]:
    """Return the problems that are trained on. Raises ConfigError if none is left, or none of the task's is listed."""
    excluded = section.excluded
    kept = [problem for problem in train if problem.prompt_id not in excluded]
    weights = section.weights
    if kept and (len(kept) < len(train) or any(problem.prompt_id in weights for problem in kept)):
        return kept
    field = "task.exclude_prompts" if section.exclude_prompts else "task.prompt_weights"
    num_listed = len(excluded) + len(weights)
    if kept and not num_listed:
        # All weigh what those that are not listed weigh.
        return kept
    remedy = (
        "no training problem is left: list fewer"
        if not kept
        else f"none of them is a training problem, such as {train[0].prompt_id}: take the list of a run on this data"
    )
    raise ConfigError([ConfigProblem(field, f"{num_listed} prompts", remedy)])


def verifier(section: TaskSection) -> Verifier:
    """Return the verifier of the section's task without reading its problems. Raises ConfigError."""
    return load_verifier(section.verifier, section.answer_format if isinstance(section, AnsweredTaskSection) else None)


__all__ = [
    "Problem",
    "Problems",
    "Task",
    "Verifier",
    "build_task",
    "problems_of",
    "prompt_identity",
    "solution_of",
    "verifier",
]
