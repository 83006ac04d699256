"""Verifiers by name, and one's own from a Python file."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from bapo.config.errors import ConfigError, ConfigProblem
from bapo.tasks.base import Problem
from bapo.tasks.countdown.reward import countdown_reward

LOG = logging.getLogger(__name__)

Verifier = Callable[[Problem, str], int]
"""Reward of a response text: 1 or 0."""

BUILT_IN: dict[str, Verifier] = {"countdown": countdown_reward}


@dataclass
class OwnVerifier:
    """A user's function. What it raises costs the response its reward, never the run its life."""

    reference: str
    function: Callable[[Problem, str], object]
    num_failures: int = field(default=0, compare=False)
    """Calls that raised, or answered something else than 0 or 1."""

    def __call__(self, problem: Problem, response_text: str) -> int:
        """1 where the function answers 1 or True, else 0."""
        try:
            answer = self.function(problem, response_text)
            if answer not in (0, 1):
                raise ValueError(f"it answered {answer!r}, not 0 or 1")
        except Exception as error:
            self.num_failures += 1
            # Once: a function that fails on one response mostly fails on thousands.
            if self.num_failures == 1:
                kind = type(error).__name__
                LOG.warning("verifier %s failed and gave no reward: %s: %s", self.reference, kind, error)
            return 0
        return int(answer == 1)


def load_verifier(reference: str) -> Verifier:
    """The verifier that `task.verifier` names. Raises ConfigError where there is none."""
    if reference in BUILT_IN:
        return BUILT_IN[reference]
    path, separator, name = reference.rpartition(":")
    if not separator or not path.endswith(".py"):
        raise _problem(reference, f"take {' or '.join(BUILT_IN)}, or FILE.py:FUNCTION with your own")
    if not Path(path).is_file():
        raise _problem(reference, f"there is no file {path}: give its path on the machine that trains")
    function = getattr(_module(Path(path), reference), name, None)
    if not callable(function):
        raise _problem(reference, f"{path} has no function {name}: write `def {name}(problem, response)`")
    return OwnVerifier(reference, function)


def _module(path: Path, reference: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"bapo_verifier_{path.stem}", path)
    assert spec is not None, "a file that ends in .py has a loader"
    assert spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise _problem(reference, f"the file cannot be loaded ({type(error).__name__}: {error}): correct it") from error
    return module


def _problem(reference: str, remedy: str) -> ConfigError:
    return ConfigError([ConfigProblem("task.verifier", reference, remedy)])
