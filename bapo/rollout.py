"""Rollout groups: what one prompt, answered G times by one policy version, is to the algorithm."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal, Self


def prompt_identity(data_source: str, prompt: str, images: Sequence[bytes] = ()) -> str:
    """Return a prompt's stable identifier: its data source and 64 bits of the hash of the raw prompt and its images."""
    digest = hashlib.sha256(prompt.encode())
    for image in images:
        digest.update(hashlib.sha256(image).digest())
    return f"{data_source}:{digest.hexdigest()[:16]}"


ANSWERS_MARK = "-"
"""Before the part of a digest that is of the answers."""


def problems_digest(prompt_ids: Iterable[str], answers: Mapping[str, Any] | None = None) -> str:
    """Return the digest of a held-out set in any order: of its prompts, and after a hyphen of its answers by prompt, if
    these are known.
    """
    prompts = _digest(sorted(prompt_ids))
    if answers is None:
        return prompts
    lines = sorted(
        json.dumps([prompt_id, answer], sort_keys=True, default=str) for prompt_id, answer in answers.items()
    )
    return f"{prompts}{ANSWERS_MARK}{_digest(lines)}"


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def same_problems(one: str, other: str) -> bool:
    """Return whether two digests are of the same problems; answers count only if both digests have them."""
    prompts, _, answers = one.partition(ANSWERS_MARK)
    other_prompts, _, other_answers = other.partition(ANSWERS_MARK)
    return prompts == other_prompts and (not answers or not other_answers or answers == other_answers)


class BatchSource(StrEnum):
    """The source of a group of the training batch (arXiv:2602.20722, Def. 3.1)."""

    FRESH = "fresh"
    """X1: rolled out in this step by the rollout policy α."""
    REEVALUATED = "reevaluated"
    """X2: a difficult prompt answered again by the current policy π_θt."""
    REUSED = "reused"
    """X3: a stored group of good quality from one of the last steps."""


Treatment = Literal["trained", "stored", "seen", "left_out"]
"""Treatment of a group by a line of a method's rule: put into the training batch, kept for later, looked at, or
left out."""


@dataclass(frozen=True, slots=True)
class RolloutGroup:
    """{y_j, r_j}, j = 1..G: the answers of one policy version to one prompt (arXiv:2602.20722, Eq. 4).

    The algorithm reads the counts; `payload` (tensors, or keys of a transfer queue) belongs to the engine that
    made the group and passes through the loop unread, but for the `rewards` that every engine's payload has.
    """

    prompt_id: str
    num_correct: int
    """Verified responses, 0..G."""
    group_size: int
    """G."""
    policy_version: int
    """Completed training steps of the behaviour policy's weights."""
    step: int
    """Training step in which the group was generated, from 1."""
    payload: Any = None
    has_demonstration: bool = False
    """True if the engine holds a verified worked solution of the prompt that a method may train on; checkpoints do not
    say."""

    def __post_init__(self) -> None:
        if not 0 <= self.num_correct <= self.group_size:
            raise ValueError(f"num_correct must lie in 0..{self.group_size}, not {self.num_correct}")

    @property
    def accuracy(self) -> Fraction:
        """μ = num_correct / G, exact: thresholds are compared with fractions, never with floats."""
        return Fraction(self.num_correct, self.group_size)

    def without_payload(self) -> tuple[str, int, int, int, int]:
        """Return the group in a checkpoint's JSON; the engine writes the payload."""
        return self.prompt_id, self.num_correct, self.group_size, self.policy_version, self.step

    @classmethod
    def restored(cls, entry: Sequence[Any], payload: Any) -> Self:
        """Return a group from the output of `without_payload`, with its payload."""
        prompt_id, num_correct, group_size, policy_version, step = entry
        return cls(prompt_id, num_correct, group_size, policy_version, step, payload)

    @property
    def rewards(self) -> Sequence[int]:
        """r_j, 0 or 1 per response, for methods that train on single responses of a group."""
        rewards: Sequence[int] = self.payload.rewards
        return rewards

    @property
    def is_homogeneous(self) -> bool:
        """True if all responses have the same reward, so that every advantage is exactly 0 (Eq. 2)."""
        return self.num_correct in (0, self.group_size)
