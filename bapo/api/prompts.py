"""Training prompts of a run, or across runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from bapo.analysis.stories import Story
from bapo.api.base import Body, Page, Text
from bapo.api.runs import RunStatus
from bapo.rollout import BatchSource

__all__ = ["Story"]


PromptOrder = Literal["first_step", "last_step", "last_accuracy", "first_accuracy", "gain", "visits", "variance"]


class PromptFilter(Body):
    """Filters and order of prompts; a prompt must match all filters."""

    story: Story | None = None
    """How the prompt's accuracy developed; `GET …/prompts` counts each."""
    source: BatchSource | None = None
    """Visited at least once from this source."""
    search: Text | None = Field(default=None, max_length=200)
    """Part of the ID, or of the text if stored."""
    min_first: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses at the first evaluation."""
    max_first: int | None = Field(default=None, ge=0, le=100_000)
    min_last: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses at the last evaluation."""
    max_last: int | None = Field(default=None, ge=0, le=100_000)
    sort: PromptOrder = "first_step"
    descending: bool = False


class PromptSummary(Body):
    """A training prompt over the whole run."""

    prompt_id: str
    text: str | None
    """Beginning of its text, if stored."""
    num_visits: int
    num_evaluations: int
    first_correct: int
    last_correct: int
    group_size: int
    first_accuracy: float
    last_accuracy: float
    gain: float
    """Last minus first accuracy."""
    variance: float
    """Variance of the accuracy over the evaluations."""
    first_step: int
    last_step: int
    stories: Sequence[Story]
    steps: Sequence[int]
    """Steps of its visits; at most a hundred, evenly spaced, with the first and the last."""
    num_correct: Sequence[int]
    sources: Sequence[BatchSource]


class PromptTotals(Body):
    """Totals over all prompts of a run, regardless of the filter."""

    num_prompts: int
    num_visits: int
    num_evaluations: int
    num_never_solved: int
    """Prompts with 0/G at every evaluation."""
    first_accuracy: float | None
    """Mean over the prompts; null without prompts."""
    last_accuracy: float | None
    last_step: int
    """Last recorded step."""


class PromptPage(Page):
    """Prompts in the requested order."""

    items: Sequence[PromptSummary]
    total: int
    """Number of matching prompts on all pages."""
    stories: dict[Story, int]
    """Number of prompts by story, with all other filters applied."""
    totals: PromptTotals


class PromptVisits(Body):
    """Columns, one row per visit, by step."""

    step: Sequence[int]
    source: Sequence[BatchSource]
    num_correct: Sequence[int]
    policy_version: Sequence[int | None]
    """None where an observed trainer did not tell."""
    staleness: Sequence[int | None]
    """Staleness of the responses: step - 1 - policy version."""
    in_batch: Sequence[bool]
    reason: Sequence[str | None]
    """Why it was not trained on."""


class PromptTrackings(Body):
    """Columns, one row per tracking sample."""

    step: Sequence[int]
    replicate: Sequence[int]
    """1: the base model sampled a second time."""
    num_correct: Sequence[int]
    group_size: Sequence[int]


class PromptNeighbours(Body):
    """Position of the prompt in the filtered list."""

    total: int
    position: int | None
    """From 1; null if the filter does not match it."""
    previous_id: str | None
    next_id: str | None


class PromptDetail(PromptSummary):
    """A training prompt with everything stored about it."""

    answer: dict[str, Any] | None
    """Ground truth used by the verifier, if stored."""
    visits: PromptVisits
    trackings: PromptTrackings
    neighbours: PromptNeighbours


class PromptInRun(Body):
    """Summary of a prompt in one run."""

    run_id: str
    run_name: str
    status: RunStatus
    method: str
    num_visits: int
    first_correct: int
    last_correct: int
    group_size: int
    last_step: int


class PromptInRuns(Page):
    """Summaries of a prompt in the newest runs that trained on it."""

    items: Sequence[PromptInRun]
    num_runs_searched: int
