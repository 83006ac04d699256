"""Chats with the models of a run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from bapo.api.base import Body, Page, Text
from bapo.run.chat_sides import ChatSide

ChatState = Literal["requested", "answering", "answered", "failed"]
MAX_PROMPT_CHARACTERS = 20_000
MAX_ANSWER_TOKENS = 4_096
_MAX_ANSWER_CHARACTERS = 200_000


def _distinct(sides: Sequence[ChatSide]) -> Sequence[ChatSide]:
    if len(set(sides)) < len(sides):
        raise ValueError("name each side once")
    return sides


class ChatCreate(Body):
    """A message to the models of a run."""

    prompt: Text = Field(min_length=1, max_length=MAX_PROMPT_CHARACTERS, examples=["What is 3 + 4?"])
    """Message of the user, before the chat template. The text of a problem of the run's task is asked as its messages,
    and the answers are verified."""
    sides: Annotated[Sequence[ChatSide], AfterValidator(_distinct)] = Field(
        default=("base", "trained"), min_length=1, max_length=3
    )
    """`base`: what the run started from, before its warm start; `warm_start`: the model that its warm start made;
    `trained`: its newest checkpoint."""
    max_tokens: int = Field(default=256, ge=1, le=MAX_ANSWER_TOKENS)
    """Length at which an answer is cut."""
    temperature: float = Field(default=0.0, ge=0, le=10)
    """Sampling temperature; 0: the likeliest token each time."""
    seed: int = Field(default=0, ge=0, le=2**32 - 1)


class ChatAnswer(Body):
    """The answer of one model, or its beginning."""

    side: ChatSide
    model: Text = Field(max_length=200)
    """`base`, `warm start`, or the step of the checkpoint."""
    text: Text = Field(max_length=_MAX_ANSWER_CHARACTERS)
    num_tokens: int = Field(ge=0, le=MAX_ANSWER_TOKENS)
    is_finished: bool = Field(strict=True)
    is_cut: bool = Field(strict=True)
    """True if the length limit ended it."""
    is_correct: Annotated[bool, Strict()] | None
    """Verdict of the task's verifier; null until the answer is finished, and for prompts outside the task."""


class ChatReport(Body):
    """Report of a worker on the answers so far."""

    worker_id: str
    answers: Sequence[ChatAnswer] = Field(max_length=3)
    is_done: bool = Field(strict=True)
    problem: Text | None = Field(default=None, max_length=2_000)
    """Why there is no answer."""


class ChatInfo(Body):
    """A message to the models of a run, with their answers."""

    id: str
    run_id: str
    author: str
    prompt: str
    sides: Sequence[ChatSide]
    max_tokens: int
    temperature: float
    seed: int
    state: ChatState
    reason: str | None
    """Why it waits or has failed."""
    requested_at: datetime
    answered_at: datetime | None
    answers: Sequence[ChatAnswer]


class ChatPage(Page):
    """The newest chats of a run, newest first, and whether its models can be asked."""

    items: Sequence[ChatInfo]
    sides: Sequence[ChatSide]
    """Models that can be asked."""
    refusal: str | None
    """Why none can be asked now."""
    num_training: int
    """Runs that the worker trains meanwhile; the answers take one CPU thread then."""
