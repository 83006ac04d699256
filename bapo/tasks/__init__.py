"""Tasks: problems with a verifier, one package or module each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bapo.config.task import TASKS, CountdownTaskConfig, FileTaskConfig, ReasoningGymTaskConfig, TaskSection
from bapo.tasks.base import Problem, Problems, Task, prompt_identity
from bapo.tasks.countdown.task import countdown_problems
from bapo.tasks.listed import ListedTask
from bapo.tasks.problem_files import file_problems
from bapo.tasks.reasoning_gym import reasoning_gym_problems
from bapo.tasks.verifiers import Verifier, load_verifier

SHIPPED: Mapping[type[TaskSection], Callable[[Any], Problems]] = {
    CountdownTaskConfig: countdown_problems,
    FileTaskConfig: file_problems,
    ReasoningGymTaskConfig: reasoning_gym_problems,
}
"""Function that reads or generates the problems of each config class; installed packages name theirs themselves."""


def build_task(section: TaskSection) -> Task:
    """Returns the task of a `task` section, with its problems read or generated.

    Raises:
        ConfigError: the data cannot be used; names field, value and remedy.
    """
    verify = verifier(section)
    config_class = type(section)
    problems = SHIPPED.get(config_class) or TASKS.implementation(config_class).problems
    train, held_out = problems(section)
    return ListedTask(section.type, train, held_out, verify)


def verifier(section: TaskSection) -> Verifier:
    """Returns the verifier of the section's task without reading its problems. Raises ConfigError."""
    return load_verifier(section.verifier)


__all__ = ["Problem", "Problems", "Task", "Verifier", "build_task", "prompt_identity", "verifier"]
