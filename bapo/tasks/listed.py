"""A task made of given problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bapo.tasks.base import Problem
from bapo.tasks.verifiers import Verifier


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
