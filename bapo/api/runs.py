"""Runs: submitted, listed, read, steered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, StringConstraints, model_validator

from bapo.api.base import Body, JsonObject, Page, Text
from bapo.api.configs import ConfigDraft
from bapo.run.control import StopMoment

__all__ = ["StopMoment"]


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


MAX_TAGS = 50
MAX_BULK = 500
"""Most runs of one request."""

TERMINAL_STATUSES = frozenset({RunStatus.CANCELLED, RunStatus.SUCCEEDED, RunStatus.FAILED})
"""Nothing happens to a run in one of these by itself; a failed one can be tried again by hand."""


Tag = Annotated[Text, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
"""A word or two on a run."""


class RunCreate(ConfigDraft):
    """Submit a run."""

    name: Text = Field(min_length=1, max_length=200, examples=["BAPO with a wider c1"])
    tags: Sequence[Tag] = Field(default=(), max_length=MAX_TAGS, examples=[["demo"]])
    notes: Text = Field(default="", max_length=100_000)
    group: Text | None = Field(default=None, max_length=200)
    """Runs with the same group belong together."""
    priority: int = Field(default=50, ge=0, le=100)
    """Higher starts first."""
    start: bool = True
    """False leaves a draft."""


class RunUpdate(Body):
    """Change what people wrote about a run, or put it away."""

    name: Text | None = Field(default=None, min_length=1, max_length=200, examples=["a better name"])
    tags: Sequence[Tag] | None = Field(default=None, max_length=MAX_TAGS)
    notes: Text | None = Field(default=None, max_length=100_000)
    """Markdown."""
    priority: int | None = Field(default=None, ge=0, le=100)
    """Higher starts first; it matters while the run waits."""
    archived: bool | None = None
    """Lists leave archived runs out. A run that waits or runs cannot be archived."""


class RunFilters(Body):
    """Which runs; what is left out does not narrow the list."""

    search: Text | None = Field(default=None, max_length=200)
    """Words, or parts of words, that all occur in name, id, notes, tags, group, owner, or what the config sets, which
    reads `method.c1=0.25`."""
    status: Sequence[RunStatus] = Field(default=(), max_length=20)
    """Any of these."""
    method: Sequence[Text] = Field(default=(), max_length=100)
    """Any of these."""
    tag: Sequence[Text] = Field(default=(), max_length=100)
    """All of these."""
    owner: Sequence[Text] = Field(default=(), max_length=100)
    """Names; any of these."""
    group: Sequence[Text] = Field(default=(), max_length=100)
    """Names; any of these."""
    project: Sequence[Text] = Field(default=(), max_length=100)
    """Names; any of these."""
    starred: bool = False
    """Only those that the caller has starred."""
    archived: Literal["hidden", "shown", "only"] = "hidden"
    """Whether archived runs are among them."""
    created_after: AwareDatetime | None = None
    """At that moment or later."""
    created_before: AwareDatetime | None = None
    """Earlier than that moment."""
    min_step: int | None = Field(default=None, ge=0, le=2**31 - 1)
    max_step: int | None = Field(default=None, ge=0, le=2**31 - 1)
    min_best: float | None = Field(default=None, ge=0, le=1)
    """Least best evaluation, as a share."""
    max_best: float | None = Field(default=None, ge=0, le=1)


class RunQuery(RunFilters):
    """A page of the list, or the one that a cursor or an offset begins."""

    sort: str = Field(default="-created_at", max_length=100)
    """A column, with - before it for descending."""
    cursor: str | None = Field(default=None, max_length=2_000)
    """Goes on after the page that answered it; each run that stays in the list is met once."""
    offset: int = Field(default=0, ge=0, le=10_000_000)
    """Rows left out at the beginning, for a table that jumps; not together with a cursor."""
    limit: int = Field(default=50, ge=1, le=500)


class RunExport(RunFilters):
    """All runs of the list, in an order."""

    sort: str = Field(default="-created_at", max_length=100)
    """A column, with - before it for descending."""


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
    eval_best: float | None = None
    """Best evaluation of that name."""
    eval_best_step: int | None = None
    """Its step; the first of several."""
    num_gpus: int = 0
    """GPUs of the newest attempt; 0 on the CPU."""
    compute_hours: float = 0.0
    """Time of all attempts until now, times their GPUs: GPU-hours; hours of a slot where an attempt has none."""
    cost: float | None = None
    """Price of those hours so far; None where the deployment sets no price for them."""
    currency: str = "USD"
    """Of the cost."""
    notes_start: str = ""
    """First characters of the notes."""
    is_starred: bool = False
    """By the caller."""
    archived_at: datetime | None = None
    project: str = ""
    """Name of the project that it belongs to."""
    storage_bytes: int | None = None
    """What its folder and its records take up; None before they were measured."""


RunAction = Literal["start", "stop", "pause", "resume", "retry", "hold", "release", "change", "clone", "fork", "delete"]


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
    allowed_actions: Sequence[RunAction]
    held_by: str | None = None
    """Who keeps the waiting run from starting, until it is released."""
    num_retries: int = 0
    """How often in a row, until now, it was tried again because its machine failed before a further step."""
    max_retries: int = 0
    """Most of these before the run has failed."""
    retry_reason: str | None = None
    """Why it was last tried again."""
    may_edit: bool = False
    """Whether the caller may change name, tags and notes."""
    may_archive: bool = False
    """Whether the caller may archive it now, or take it out again."""
    parent_name: str | None = None
    fork_step: int | None = None
    """Completed steps of the parent's checkpoint that it goes on from; None where it began by itself."""
    study_id: str | None = None
    """The study that it is a part of."""
    stopping_when: StopMoment | None = None
    """When the stop or pause under way ends the attempt."""
    last_event_id: int | None = None
    """Where the run is read: the newest event that this state has in it. Its stream goes on after it, without a gap."""


class StopRequest(Body):
    """How soon a run stops for good; where nothing trains, it is cancelled at once."""

    when: StopMoment = "step"
    """`now`: the trainer is killed where it does not end within seconds, and steps after the newest checkpoint are
    lost; `step`: at the next step boundary, after a checkpoint; `checkpoint`: after the next regular checkpoint. A
    run that is stopping already takes a more urgent moment only."""


class PauseRequest(Body):
    """How soon a run pauses."""

    when: Literal["step", "checkpoint"] = "step"
    """`step`: at the next step boundary, after a checkpoint; `checkpoint`: after the next regular checkpoint."""


class StopAnswer(RunDetail):
    """The run, and what its stop costs."""

    steps_lost: int
    """Completed steps that no checkpoint holds: what `now` loses, with the step under way. 0 where the stop waits for
    a checkpoint, or nothing trains."""


class RunFork(Body):
    """A run that goes on from a checkpoint of another one."""

    step: int = Field(ge=1, examples=[25])
    """Completed steps of one of the parent's checkpoints."""
    name: Text = Field(min_length=1, max_length=200, examples=["wider c1 from step 25"])
    changes: JsonObject = Field(default={}, examples=[{"method.c1": 0.25}])
    """Dotted fields and their new values, against the config in force at that step."""
    tags: Sequence[Tag] = Field(default=(), max_length=MAX_TAGS)
    notes: Text = Field(default="", max_length=100_000)
    group: Text | None = Field(default=None, max_length=200)
    priority: int = Field(default=50, ge=0, le=100)
    start: bool = True
    """False leaves a draft."""


class RunPage(Page):
    """Runs, in the order that was asked for."""

    items: Sequence[RunSummary]
    total: int
    """Runs that the filter matches, on all pages."""


class NamedCount(Body):
    """A value that runs have, and how many have it."""

    name: str
    count: int


class RunFacets(Body):
    """What there is to filter by, the most frequent first."""

    methods: Sequence[NamedCount]
    tags: Sequence[NamedCount]
    owners: Sequence[NamedCount]
    groups: Sequence[NamedCount]
    projects: Sequence[NamedCount] = ()


BulkAction = Literal[
    "start",
    "stop",
    "pause",
    "resume",
    "retry",
    "hold",
    "release",
    "archive",
    "unarchive",
    "star",
    "unstar",
    "tag",
    "untag",
    "delete",
]


class BulkRequest(Body):
    """Do one thing to several runs."""

    run_ids: Sequence[Text] = Field(min_length=1, max_length=MAX_BULK, examples=[["kzx3f0a9qe"]])
    action: BulkAction
    tag: Tag | None = None
    """For `tag` and `untag`."""
    when: StopMoment = "step"
    """For `stop` and `pause`, as for one run."""

    @model_validator(mode="after")
    def _tag_where_one_is_needed(self) -> Self:
        if self.action == "pause" and self.when == "now":
            raise ValueError("a pause waits for a checkpoint: give `when` as step or checkpoint, or stop the runs")
        if (self.tag is not None) != (self.action in ("tag", "untag")):
            raise ValueError("give `tag` together with the actions tag and untag, and with no other")
        return self


class BulkResult(Body):
    """What became of one run."""

    run_id: str
    done: bool
    code: str | None = None
    """Of the refusal, such as `not_your_run`."""
    reason: str | None = None
    """Why it was refused, and what to do."""


class BulkAnswer(Body):
    """What became of each run, in the order of the request; a run that is refused does not hold up the others."""

    results: Sequence[BulkResult]
    num_done: int


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
    state: Literal["pending", "applied", "refused", "withdrawn"]
    applied_step: int | None
    reason: str | None
    when: StopMoment | None = None
    """Of a stop or pause."""
    withdrawn_by: str | None = None
    """Who took it back; `state` says whether in time."""


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
