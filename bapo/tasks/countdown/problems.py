"""Countdown problems, and how they are written as prompts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bapo.rollout import prompt_identity
from bapo.tasks.base import Problem

COMPACT_TEMPLATE = "{nums}={target}"
"""Short prompts for the shipped model: `3 7 12=26`."""


@dataclass(frozen=True, slots=True)
class CountdownProblem:
    """A row of Countdown-Tasks-3to4."""

    nums: tuple[int, ...]
    target: int

    @property
    def multiset(self) -> tuple[int, ...]:
        """The numbers in ascending order, which held-out and training problems never share."""
        return tuple(sorted(self.nums))

    @property
    def content(self) -> tuple[tuple[int, ...], int]:
        """The problem regardless of the order of its numbers."""
        return self.multiset, self.target

    def as_problem(self, data_source: str, prompt_template: str) -> Problem:
        """Return the problem with its prompt, made of a template with `{nums}` (space separated) and `{target}`."""
        nums = " ".join(map(str, self.nums))
        prompt = prompt_template.replace("{nums}", nums).replace("{target}", str(self.target))
        answer = {"nums": list(self.nums), "target": self.target}
        return Problem(prompt_identity(data_source, prompt), data_source, prompt, answer)


def as_problems(problems: Iterable[CountdownProblem], data_source: str, prompt_template: str) -> tuple[Problem, ...]:
    """Return all the problems with their prompts, in order."""
    return tuple(problem.as_problem(data_source, prompt_template) for problem in problems)
