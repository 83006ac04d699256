"""Verifiers: by name, from installed packages, and functions of a user's Python file."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from bapo.answer_text import ANSWER_TEXT, last_answer
from bapo.config import plugins
from bapo.config.errors import ConfigError, ConfigProblem
from bapo.config.plugins import checked_reference, installed_verifiers
from bapo.config.task import AnswerFormatName
from bapo.tasks.answer_formats import ANSWER_FORMATS, Extract
from bapo.tasks.base import Problem
from bapo.tasks.countdown.expression import countdown_answer_problem, countdown_reward
from bapo.tasks.countdown.solver import countdown_solution
from bapo.tasks.mathematics import math_reward
from bapo.tasks.reasoning_gym import entry_problem, reasoning_gym_reward

LOG = logging.getLogger(__name__)

RewardFunction = Callable[[Problem, str], object]
"""1 or True for a good response, 0 or False for any other."""


def exact_reward(problem: Problem, response_text: str, extract: Extract = last_answer) -> int:
    """Return 1 if the response's answer is the correct text, else 0.

    Only whitespace around it is ignored.
    """
    answer = extract(response_text)
    return int(answer is not None and answer == str(problem.answer[ANSWER_TEXT]).strip())


def text_answer_problem(answer: Mapping[str, object]) -> str | None:
    """Return why an answer is not a text to compare with; None if it is one."""
    text = answer.get(ANSWER_TEXT)
    if text is None:
        return f"the answer has the fields {', '.join(answer) or 'none'}, where this verifier needs one text or number"
    return None if str(text).strip() else "the answer is empty"


class BuiltIn(NamedTuple):
    """A verifier that comes with BAPO."""

    function: Callable[..., object]
    """Those of `OF_ANSWERS` also take `extract`, the function that returns a response's answer."""
    answer_problem: Callable[[Mapping[str, object]], str | None]
    """Returns why this verifier cannot use a problem's answer; None if it can."""
    solve: Callable[[Mapping[str, Any]], str | None] | None = None
    """Returns a right response, found from a problem's answer; None where there is none, or too much to search."""


BUILT_IN: Mapping[str, BuiltIn] = {
    "countdown": BuiltIn(countdown_reward, countdown_answer_problem, countdown_solution),
    "exact": BuiltIn(exact_reward, text_answer_problem),
    "math": BuiltIn(math_reward, text_answer_problem),
    "reasoning_gym": BuiltIn(reasoning_gym_reward, entry_problem),
}


class Verdict(NamedTuple):
    """A verifier's judgement of a response."""

    reward: int
    """1 or 0."""
    failed: bool
    """The verifier raised, took too long, or returned something other than 0 or 1; the reward is then 0."""


@dataclass
class Verifier:
    """A verifying function. If it raises, the response gets no reward and the run continues."""

    reference: str
    function: RewardFunction
    num_failures: int = field(default=0, compare=False)
    """Responses on which the function failed."""
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def judge(self, problem: Problem, response_text: str) -> Verdict:
        """Return reward 1 if the function returns 1 or True, else 0. Thread-safe if the function is."""
        try:
            answer = self.function(problem, response_text)
            if answer not in (0, 1):
                raise ValueError(f"it answered {answer!r}, not 0 or 1")
        except Exception as error:
            with self._lock:
                self.num_failures += 1
                is_first = self.num_failures == 1
            # Once: a function that fails on one response mostly fails on thousands.
            if is_first:
                kind = type(error).__name__
                LOG.warning("verifier %s failed and gave no reward: %s: %s", self.reference, kind, error)
            return Verdict(0, failed=True)
        return Verdict(int(answer == 1), failed=False)

    def __call__(self, problem: Problem, response_text: str) -> int:
        """Return the reward alone."""
        return self.judge(problem, response_text).reward


def load_verifier(reference: str, answer_format: AnswerFormatName | None = None) -> Verifier:
    """Return the verifier that `task.verifier` names, of answers in that format. Raises ConfigError if there is none.

    Only the verifiers of `OF_ANSWERS` take a format.
    """
    try:
        checked_reference(reference)
    except ValueError as error:
        raise _problem(reference, str(error)) from None
    if reference in BUILT_IN:
        built_in = BUILT_IN[reference].function
        if answer_format is not None:
            built_in = partial(built_in, extract=ANSWER_FORMATS[answer_format].extract)
        return Verifier(reference, built_in)
    if reference in installed_verifiers():
        return Verifier(reference, _installed(reference))
    path, _, name = reference.rpartition(":")
    if not Path(path).is_file():
        raise _problem(reference, f"there is no file {path}: give its path on the machine that trains")
    found = getattr(_module(Path(path), reference), name, None)
    if not callable(found):
        raise _problem(reference, f"{path} has no function {name}: write `def {name}(problem, response)`")
    return Verifier(reference, found)


def answer_problem(reference: str, answer: Mapping[str, object]) -> str | None:
    """Return why a verifier cannot use an answer; None if it can, or if only the user's function knows."""
    return BUILT_IN[reference].answer_problem(answer) if reference in BUILT_IN else None


def solution_of(problem: Problem, reference: str) -> str | None:
    """Return a problem's worked solution, that of the data or one that a solver of its verifier finds; None without."""
    solve = BUILT_IN[reference].solve if reference in BUILT_IN else None
    return solve(problem.answer) if problem.solution is None and solve is not None else problem.solution


def _installed(name: str) -> RewardFunction:
    point = installed_verifiers()[name]
    try:
        function: RewardFunction = plugins.load(point)
        if not callable(function):
            raise plugins.unusable(point, "it is no function of problem and response")
    except plugins.PluginError as error:
        raise _problem(name, str(error)) from error
    return function


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
