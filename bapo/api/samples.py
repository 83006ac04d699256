"""Groups that are kept with their responses as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from bapo.api.base import Body, Page, Text
from bapo.rollout import BatchSource

MAX_STEP = 2**31 - 1


class SampleFilter(Body):
    """Which groups. Everything that is given must hold."""

    step: int | None = Field(default=None, ge=0, le=MAX_STEP)
    """This step only, whatever the range says."""
    from_step: int | None = Field(default=None, ge=0, le=MAX_STEP)
    to_step: int | None = Field(default=None, ge=0, le=MAX_STEP)
    prompt_id: Text | None = Field(default=None, max_length=1_000)
    source: BatchSource | None = None
    min_correct: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses."""
    max_correct: int | None = Field(default=None, ge=0, le=100_000)
    search: Text | None = Field(default=None, max_length=200)
    """Part of the prompt or of a response, whatever its case."""


class SamplePage(Page):
    """Lines of samples.jsonl, newest step first."""

    items: Sequence[dict[str, Any]]
    total: int | None = None
    """Groups that match on all pages; None where only a search of all of them would tell."""
    num_searched: int | None = None
    """Groups that this page's search read; None without one."""
    first_step: int | None = None
    """First step with groups of this filter, its steps and its search left aside."""
    newest_step: int | None = None
    previous_step: int | None = None
    """Nearest such step before `step`, or before the newest."""
    next_step: int | None = None
