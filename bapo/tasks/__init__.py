"""Tasks: problems with a verifier, one package each."""

from __future__ import annotations

from collections.abc import Callable

from bapo.config.task import TaskConfig
from bapo.tasks.base import Problem, Task, prompt_identity
from bapo.tasks.countdown.task import build_countdown
from bapo.tasks.verifiers import Verifier, load_verifier

_BUILDERS: dict[str, Callable[[TaskConfig], Task]] = {
    "countdown": lambda section: build_countdown(**section.model_dump(exclude={"type"})),
}


def build_task(section: TaskConfig) -> Task:
    """The task that a config's `task` section describes, data read or generated.

    Raises:
        ConfigError: the data cannot be used; names field, value and remedy.
    """
    return _BUILDERS[section.type](section)


def verifier(section: TaskConfig) -> Verifier:
    """What `Task.reward` of the section's task calls, without its problems. Raises ConfigError."""
    return load_verifier(section.verifier)


__all__ = ["Problem", "Task", "Verifier", "build_task", "prompt_identity", "verifier"]
