"""Responses kept as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from bapo.api.base import Page, Parameters, Text
from bapo.rollout import BatchSource

MAX_STEP = 2**31 - 1


class SampleFilter(Parameters):
    """Filters of sampled groups; a group must match all of them."""

    step: int | None = Field(default=None, ge=0, le=MAX_STEP)
    """Only this step, regardless of the range."""
    from_step: int | None = Field(default=None, ge=0, le=MAX_STEP)
    to_step: int | None = Field(default=None, ge=0, le=MAX_STEP)
    prompt_id: Text | None = Field(default=None, max_length=1_000)
    source: BatchSource | None = None
    min_correct: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses."""
    max_correct: int | None = Field(default=None, ge=0, le=100_000)
    search: Text | None = Field(default=None, max_length=200)
    """Part of the prompt or of a response, in any case."""


class SamplePage(Page):
    """Lines of samples.jsonl, newest step first.

    Each response has an `answer_span` besides: [start, end] of its answer in `text`, in characters; null without one.
    """

    items: Sequence[dict[str, Any]]
    total: int | None = None
    """Number of matching groups on all pages; null if only a full search could tell."""
    num_searched: int | None = None
    """Groups searched for this page; null without a search."""
    first_step: int | None = None
    """First step with matching groups, regardless of steps and search."""
    newest_step: int | None = None
    previous_step: int | None = None
    """Nearest such step before `step` or before the newest."""
    next_step: int | None = None
