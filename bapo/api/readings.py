"""Readings of a run: samples, a walk through a step line by line, what-if analysis under other settings, findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from bapo.analysis.findings.finding import FindingsReport, PromptList
from bapo.analysis.walk.answer import StepWalk
from bapo.analysis.what_if.answer import DEFAULT_DRAWS, WhatIfAnswer
from bapo.api.base import Body, JsonObject, Page, Parameters, Text
from bapo.rollout import BatchSource

__all__ = ["FindingsReport", "PromptList", "StepWalk", "WalkRequest", "WhatIfAnswer", "WhatIfRequest"]


class WhatIfRequest(Body):
    """Fields to change; other fields keep the values that they had in each step."""

    set: JsonObject = Field(default={}, examples=[{"method.c1": 0.25, "method.m": 2}])
    """Dotted fields and their new values, from the first step on."""
    draws: int = Field(default=DEFAULT_DRAWS, ge=2, le=200)
    """Number of random draws of answers that no policy gave: re-evaluations that never happened, DAPO's further rounds,
    groups of another size. More draws give steadier intervals."""
    max_points: int | None = Field(default=None, ge=2, le=100_000)
    """About this many steps at most, keeping the extremes of each column. Empty: every step."""


MAX_STEP = 2**31 - 1


class WalkRequest(Parameters):
    """Parameters of a walk: the step, the thresholds, and the listed groups."""

    step: int | None = Field(default=None, ge=1, le=MAX_STEP)
    """Defaults to the newest."""
    c1: Text | None = Field(default=None, max_length=100, examples=["1/4"])
    """Another difficulty threshold for this step, such as `1/4` or `0.25`; defaults to the recorded one."""
    c2: Text | None = Field(default=None, max_length=100, examples=["1/8"])
    """Another lower reuse threshold for this step."""
    c3: Text | None = Field(default=None, max_length=100, examples=["1/2"])
    """Another upper reuse threshold for this step."""
    limit: int = Field(default=8, ge=0, le=1_000)
    """Most groups to list for each outcome of each line; counts are always of all."""
    offset: int = Field(default=0, ge=0, le=10_000_000)
    """Number of groups to skip in each outcome."""
    line: Text | None = Field(default=None, max_length=100)
    """Key of the only line to list groups of."""
    outcome: Text | None = Field(default=None, max_length=100)
    """Name of the only outcome to list groups of."""


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
