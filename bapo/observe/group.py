"""One rollout group as a trainer reports it, and the part of it that can be recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from bapo.files.prompt_lists import read_prompt_list
from bapo.message_text import MessageError, chat_text
from bapo.observe.flags import flag_of, is_cut_of
from bapo.rollout import prompt_identity

Message = Mapping[str, Any]
"""A message of a chat, with `role` and `content`."""
Prompt = str | Sequence[Message]

MOST_CHARACTERS = 100_000
"""Longest text kept of a prompt or a response; the identity is that of the whole prompt."""
DATA_SOURCE = "observed"
"""Data source of prompts for which the trainer names none."""


@dataclass(frozen=True, slots=True)
class Group:
    """The responses of one policy to one prompt, with their rewards."""

    prompt: Prompt
    """Text, or messages of a chat. Equal prompts of one data source are one prompt."""
    rewards: Sequence[float]
    """One per response; a list, an array or a tensor."""
    responses: Sequence[str] | None = None
    """Texts, in the order of the rewards."""
    num_tokens: Sequence[int] | None = None
    """Length of each response in tokens."""
    is_cut: Sequence[bool] | None = None
    """True if each response was cut at the token limit."""
    answer: str | Mapping[str, Any] | None = None
    """Ground truth that the rewards were computed with."""
    policy_version: int | None = None
    """Training steps that the policy which answered had completed: `step - 1` on-policy."""
    in_batch: bool = True
    """True if the trainer trains on the group in this step."""
    source: str | None = None
    """Data source of the prompt, such as "gsm8k"; None: that of the step."""


class RejectedGroupError(ValueError):
    """A group that cannot be recorded; the message says why and what to do."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


class CheckedGroup(NamedTuple):
    """A group as it is recorded."""

    prompt_id: str
    rewards: Sequence[float]
    num_correct: int
    total: float
    """Sum of the rewards."""
    is_plain: bool
    """True if all rewards are 0 or 1."""
    is_constant: bool
    """True if all rewards are equal, so that the group has no gradient."""
    num_tokens: Sequence[int] | None
    is_cut: Sequence[bool] | None
    policy_version: int | None
    in_batch: bool


@lru_cache(maxsize=20_000)
def _identity(data_source: str, text: str) -> str:
    # Most prompts come again each epoch, and the hash is the most expensive part of a step.
    return prompt_identity(data_source, text)


def identity(data_source: str, text: str) -> str:
    """Return the identity as `prompt_identity` does; that of a very long prompt is not cached."""
    return _identity(data_source, text) if len(text) <= 4_000 else prompt_identity(data_source, text)


def prompt_text(prompt: Prompt) -> str:
    """Return the prompt as one text; a chat of one message is its content, so that it equals the same prompt as a text.

    Raises RejectedGroupError for anything else.
    """
    if isinstance(prompt, str):
        return prompt
    kind = type(prompt).__name__
    try:
        messages = list(prompt)
    except TypeError:
        messages = []
    if not messages or isinstance(prompt, Mapping):
        raise RejectedGroupError("prompt", f"prompt is a {kind}: give a text, or messages with role and content")
    try:
        return chat_text(messages)
    except MessageError as error:
        raise RejectedGroupError("prompt", f"prompt is a {kind}: {error}") from None


def checked(group: Group, group_size: int, threshold: float, source: str | None) -> CheckedGroup:
    """Return a group of `group_size` responses, counted by the threshold. Raises RejectedGroupError."""
    try:
        return _checked(group, group_size, threshold, source)
    except RejectedGroupError:
        raise
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        # A value of a wrong type costs its group, and not the step.
        raise RejectedGroupError("group", f"{error}: give a Group whose fields are of their types") from None


def _checked(group: Group, group_size: int, threshold: float, source: str | None) -> CheckedGroup:
    # One line per check: this runs for each group of each step on the trainer's own thread.
    rewards = numbers(group.rewards)
    if len(rewards) != group_size:
        raise RejectedGroupError(
            "group_size",
            f"rewards has {len(rewards)} values, and the run's groups have {group_size}: "
            "accuracies are counted out of one size, so give all groups that",
        )
    ones = rewards.count(1.0)
    is_plain = ones + rewards.count(0.0) == group_size
    if is_plain and 0 <= threshold < 1:
        num_correct, total, is_constant = ones, float(ones), ones in (0, group_size)
    else:
        total = sum(rewards)
        if not math.isfinite(total):
            bad = next((each for each in rewards if not math.isfinite(each)), math.inf)
            raise RejectedGroupError("reward", f"rewards holds {bad}: give finite numbers")
        num_correct = len([reward for reward in rewards if reward > threshold])
        is_constant = rewards.count(rewards[0]) == group_size
    if group.responses is not None and len(group.responses) != group_size:
        raise _wrong_length("responses", group.responses, group_size)
    lengths = None if group.num_tokens is None else [int(number) for number in group.num_tokens]
    if lengths is not None and len(lengths) != group_size:
        raise _wrong_length("num_tokens", lengths, group_size)
    if lengths is not None and not 0 <= min(lengths) <= max(lengths) < 2**31:
        raise RejectedGroupError("num_tokens", f"num_tokens = {str(lengths)[:80]}: give the tokens of each, from 0")
    cuts = None if group.is_cut is None else [_flag("is_cut", flag, is_cut_of) for flag in _listed(group.is_cut)]
    if cuts is not None and len(cuts) != group_size:
        raise _wrong_length("is_cut", cuts, group_size)
    version = group.policy_version
    if version is not None and not 0 <= version < 2**31:
        raise RejectedGroupError("policy_version", f"policy_version = {version}: give the steps completed, from 0")
    data_source = group.source or source or DATA_SOURCE
    if not _is_data_source(data_source):
        raise RejectedGroupError("source", f"source = {data_source[:50]!r}…: give at most 200 printable characters")
    return CheckedGroup(
        identity(data_source, prompt_text(group.prompt)),
        rewards,
        num_correct,
        total,
        is_plain,
        is_constant,
        lengths,
        cuts,
        None if version is None else int(version),
        _flag("in_batch", group.in_batch, flag_of),
    )


def _listed(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def _flag(name: str, given: Any, read: Callable[[Any], bool]) -> bool:
    try:
        return read(given)
    except ValueError as error:
        raise RejectedGroupError(name, f"{name} has {str(given)[:80]!r}: {error}") from None


def _wrong_length(name: str, given: Sequence[Any], group_size: int) -> RejectedGroupError:
    return RejectedGroupError(name, f"{name} has {len(given)} values for {group_size} rewards: give one of each")


@lru_cache(maxsize=1_000)
def _is_data_source(name: str) -> bool:
    return len(name) <= 200 and name.isprintable()


def numbers(values: Any) -> list[float]:
    """Return the numbers of a list, an array or a tensor. Raises RejectedGroupError."""
    listed = _listed(values)
    try:
        if isinstance(listed, str | Mapping):
            # Its letters, or its keys, might be numbers.
            raise TypeError
        return list(map(float, listed))
    except (TypeError, ValueError, OverflowError):
        raise RejectedGroupError("reward", f"rewards = {str(values)[:80]}: give one number per response") from None


def clipped(text: str) -> str:
    """Return the text, cut where it is too long to be kept; a prompt of a megabyte must not fill the journal."""
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]} … ({len(text) - MOST_CHARACTERS:,} characters more)"


def without(
    path: str | Path, *, prompt_column: str = "prompt", source_column: str = "data_source"
) -> Callable[[Mapping[str, Any]], bool]:
    """Return whether a row of a dataset stays, for `dataset.filter(observe.without("prompts.csv"))`.

    `path`: what `bapo findings RUN --prompts KIND` printed. The columns are those that the run was observed with; rows
    without a data source are those of a run without one. Raises ValueError for a file that lists no prompts.
    """
    listed = frozenset(read_prompt_list(Path(path)))

    def stays(row: Mapping[str, Any]) -> bool:
        return identity(row.get(source_column) or DATA_SOURCE, prompt_text(row[prompt_column])) not in listed

    return stays
