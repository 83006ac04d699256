"""Runs: submitted, listed, read, steered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from bapo.api.base import Body, JsonObject, Page, Text
from bapo.api.configs import ConfigDraft


class RunStatus(StrEnum):
    """States of a run; the legal moves stand in one table in `backend/runs/states.py`."""

    DRAFT = "draft"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    CANCELLED = "cancelled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"


TERMINAL_STATUSES = frozenset({RunStatus.CANCELLED, RunStatus.SUCCEEDED, RunStatus.FAILED})
"""A run in one of these never runs again under its id."""


class RunCreate(ConfigDraft):
    """Submit a run."""

    name: Text = Field(min_length=1, max_length=200, examples=["BAPO with a wider c1"])
    tags: Sequence[Text] = Field(default=(), max_length=50, examples=[["demo"]])
    notes: Text = Field(default="", max_length=100_000)
    group: Text | None = Field(default=None, max_length=200)
    """Runs with the same group belong together."""
    priority: int = Field(default=50, ge=0, le=100)
    """Higher starts first."""
    start: bool = True
    """False leaves a draft."""


class RunUpdate(Body):
    """Change what people wrote about a run."""

    name: Text | None = Field(default=None, min_length=1, max_length=200, examples=["a better name"])
    tags: Sequence[Text] | None = Field(default=None, max_length=50)
    notes: Text | None = Field(default=None, max_length=100_000)


class RunSummary(Body):
    """A row of the run history."""

    id: str
    name: str
    status: RunStatus
    method: str
    recipe: str | None
    step: int
    """Completed training steps."""
    num_steps: int
    attempt: int
    tags: Sequence[str]
    group: str | None
    owner: str
    parent_id: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    num_rollouts: int
    reward_mean: float | None
    """Latest step's mean fresh reward."""
    eval_name: str | None
    """Such as "CD-34 avg@8"."""
    eval_base: float | None
    """First evaluation."""
    eval_latest: float | None
    eta_seconds: float | None
    status_reason: str | None
    """Why it failed, was lost or waits."""


class RunDetail(RunSummary):
    """One run."""

    config: dict[str, Any]
    """Complete."""
    explicit: dict[str, Any]
    """What was set."""
    diff: dict[str, tuple[Any, Any]]
    """Against the parent, or the recipe."""
    notes: str
    priority: int
    worker: str | None
    allowed_actions: Sequence[Literal["start", "stop", "pause", "resume", "change", "clone", "delete"]]


class RunPage(Page):
    """Runs, in the order that was asked for."""

    items: Sequence[RunSummary]
    total: int
    """Runs that the filter matches, on all pages."""


class ParameterChange(Body):
    """New values for a running run, at a step boundary."""

    set: JsonObject = Field(min_length=1, examples=[{"method.c1": 0.25}])
    at_step: int | None = Field(default=None, ge=1)
    """First step that they hold for; empty: the next one."""


class ControlInfo(Body):
    """A stop, pause or parameter change that somebody asked for, and what became of it."""

    id: str
    kind: Literal["stop", "pause", "change"]
    author: str
    created_at: datetime
    set: dict[str, Any]
    at_step: int | None
    state: Literal["pending", "applied", "refused"]
    applied_step: int | None
    reason: str | None


class AuditEntry(Body):
    """Who did what, when."""

    at: datetime
    author: str
    action: str
    detail: dict[str, Any]


class History(Body):
    """A run's audit trail and control requests."""

    audit: Sequence[AuditEntry]
    controls: Sequence[ControlInfo]
