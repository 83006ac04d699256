"""Tasks: problems with a verifier, one package each."""

from __future__ import annotations

from collections.abc import Callable

from bapo.config.task import TaskConfig
from bapo.tasks.base import Problem, Task, prompt_identity
from bapo.tasks.countdown.task import build_countdown, countdown_reward

Verifier = Callable[[Problem, str], int]
"""Reward (0 or 1) of a response text; a function of a module, so that another process can be told of it."""

_BUILDERS: dict[str, Callable[[TaskConfig], Task]] = {
    "countdown": lambda section: build_countdown(**section.model_dump(exclude={"type"})),
}

_VERIFIERS: dict[str, Verifier] = {"countdown": countdown_reward}


def build_task(section: TaskConfig) -> Task:
    """The task that a config's `task` section describes, data read or generated.

    Raises:
        ConfigError: the data cannot be used; names field, value and remedy.
    """
    return _BUILDERS[section.type](section)


def verifier(section: TaskConfig) -> Verifier:
    """What `Task.reward` of the section's task calls, without its problems."""
    return _VERIFIERS[section.type]


__all__ = ["Problem", "Task", "Verifier", "build_task", "prompt_identity", "verifier"]
