"""Tasks: problems with a verifier, one package or module each."""

from __future__ import annotations

from bapo.config.task import CountdownTaskConfig, FileTaskConfig, TaskConfig
from bapo.tasks.base import Problem, Task, prompt_identity
from bapo.tasks.countdown.task import build_countdown
from bapo.tasks.listed import ListedTask
from bapo.tasks.problem_files import file_problems
from bapo.tasks.reasoning_gym import reasoning_gym_problems
from bapo.tasks.verifiers import Verifier, load_verifier


def build_task(section: TaskConfig) -> Task:
    """The task that a config's `task` section describes, data read or generated.

    Raises:
        ConfigError: the data cannot be used; names field, value and remedy.
    """
    if isinstance(section, CountdownTaskConfig):
        return build_countdown(**section.model_dump(exclude={"type"}))
    verify = load_verifier(section.verifier)
    read = file_problems(section) if isinstance(section, FileTaskConfig) else reasoning_gym_problems(section)
    train, held_out = read
    return ListedTask(section.type, train, held_out, verify)


def verifier(section: TaskConfig) -> Verifier:
    """What `Task.reward` of the section's task calls, without its problems. Raises ConfigError."""
    return load_verifier(section.verifier)


__all__ = ["Problem", "Task", "Verifier", "build_task", "prompt_identity", "verifier"]
