"""Training prompts over a whole run, and over all runs."""

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
    """Which prompts, and in which order. Everything that is given must hold."""

    story: Story | None = None
    """A course that the prompt took; `GET …/prompts` counts each."""
    source: BatchSource | None = None
    """Visited from this source at least once."""
    search: Text | None = Field(default=None, max_length=200)
    """Part of the identifier, or of the text where it is stored."""
    min_first: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses at the first evaluation."""
    max_first: int | None = Field(default=None, ge=0, le=100_000)
    min_last: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses at the last evaluation."""
    max_last: int | None = Field(default=None, ge=0, le=100_000)
    sort: PromptOrder = "first_step"
    descending: bool = False


class PromptSummary(Body):
    """One training prompt over the whole run. First and last are its first and last evaluation: a reused group repeats
    an earlier one."""

    prompt_id: str
    text: str | None
    """Its beginning, where a group of it was stored with its responses."""
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
    """Of the accuracy over the evaluations."""
    first_step: int
    last_step: int
    stories: Sequence[Story]
    steps: Sequence[int]
    """Of its visits; of more than a hundred, a hundred evenly spaced ones, the first and the last among them."""
    num_correct: Sequence[int]
    sources: Sequence[BatchSource]


class PromptTotals(Body):
    """All prompts of a run, whatever the filter."""

    num_prompts: int
    num_visits: int
    num_evaluations: int
    num_never_solved: int
    """Prompts with 0/G at every evaluation."""
    first_accuracy: float | None
    """Mean over the prompts; None without any."""
    last_accuracy: float | None
    last_step: int
    """Last step that is recorded."""


class PromptPage(Page):
    """Prompts, in the order that was asked for."""

    items: Sequence[PromptSummary]
    total: int
    """Prompts that the filter matches, on all pages."""
    stories: dict[Story, int]
    """Prompts of each story that the rest of the filter matches."""
    totals: PromptTotals


class PromptVisits(Body):
    """Columns, one row per visit, by step."""

    step: Sequence[int]
    source: Sequence[BatchSource]
    num_correct: Sequence[int]
    policy_version: Sequence[int]
    staleness: Sequence[int]
    """Steps that the policy that answered was behind: step - 1 - policy version."""
    in_batch: Sequence[bool]
    reason: Sequence[str | None]
    """Why it was not trained on."""


class PromptTrackings(Body):
    """Columns, one row per sampling apart from training."""

    step: Sequence[int]
    replicate: Sequence[int]
    """1 is the base model sampled again."""
    num_correct: Sequence[int]
    group_size: Sequence[int]


class PromptNeighbours(Body):
    """Where the prompt stands in the list that the filter gives."""

    total: int
    position: int | None
    """From 1; None where the filter does not match it."""
    previous_id: str | None
    next_id: str | None


class PromptDetail(PromptSummary):
    """One training prompt with all that is stored of it."""

    answer: dict[str, Any] | None
    """Ground truth that the verifier used, where a group of it was stored."""
    visits: PromptVisits
    trackings: PromptTrackings
    neighbours: PromptNeighbours


class PromptInRun(Body):
    """What one run made of a prompt."""

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
    """The newest of the runs that trained on a prompt."""

    items: Sequence[PromptInRun]
    num_runs_searched: int
