"""The interface of a task: problems to train on, held-out problems, and a verified reward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from bapo.isolation.limits import Limits

JUDGE_LIMITS = Limits(memory_bytes=2 * 2**30, cpu_seconds=3)
"""Limits of a verifier that parses mathematics or calls a library, and can hang or exhaust the memory."""
JUDGE_SECONDS = 60.0


class Turn(NamedTuple):
    """A message of a chat."""

    role: str
    """`system`, `user`, `assistant` or `tool`."""
    content: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One verifiable problem; equal prompts of one source have equal identities over steps, attempts and runs."""

    prompt_id: str
    data_source: str
    """Data set of the problem, as in the metric `val-core/<source>/acc/mean@8`."""
    prompt: str
    """Content of the user message, before the chat template; of several messages, their text with their roles."""
    answer: Mapping[str, Any] = field(hash=False)
    """Input of the verifier; JSON values only."""
    images: tuple[bytes, ...] = field(default=(), hash=False, repr=False)
    """Encoded images (PNG, JPEG, WebP), in the order of the prompt's `<image>` marks."""
    turns: tuple[Turn, ...] = ()
    """The messages of the prompt; empty for one of the user, whose content is `prompt`."""
    solution: str | None = field(default=None, compare=False, repr=False)
    """Worked solution, a response that a warm start or a method may learn from; None where the data have none."""

    @property
    def messages(self) -> Sequence[Turn]:
        """The prompt as messages, before the chat template."""
        return self.turns or (Turn("user", self.prompt),)


class Problems(NamedTuple):
    """All problems of a task."""

    train: Sequence[Problem]
    """Training problems in a fixed order, no prompt twice."""
    held_out: Mapping[str, Sequence[Problem]]
    """Held-out problems by the name of their set; none shares its content with a training problem."""


class Task(Protocol):
    """Problems with a verifier."""

    @property
    def name(self) -> str:
        """Name of the task, as in `task.type`."""

    @property
    def train(self) -> Sequence[Problem]:
        """Training problems in a fixed order, no prompt twice."""

    @property
    def evaluation_sets(self) -> Mapping[str, Sequence[Problem]]:
        """Held-out problems by the name of their set; none shares its content with a training problem."""

    @property
    def num_reward_failures(self) -> int:
        """Responses so far on which the verifier failed; they got no reward."""

    def reward(self, problem: Problem, response_text: str) -> int:
        """Return 1 for a verified response, 0 for any other; never raises, whatever the response."""


def has_images(task: Task) -> bool:
    """Return whether any of its problems, held-out ones included, has an image."""
    return any(problem.images for problems in (task.train, *task.evaluation_sets.values()) for problem in problems)
