"""Runs: submission, lists, details, requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AwareDatetime, Field, StrictBool, StringConstraints, model_validator

from bapo.analysis.findings.finding import Severity
from bapo.analysis.result import AppliedChange
from bapo.api.base import Body, JsonObject, Name, Page, Parameters, Text
from bapo.api.configs import ConfigDraft
from bapo.run.control import StopMoment

__all__ = ["AppliedChange", "StopMoment"]


class RunStatus(StrEnum):
    """States of a run; `backend/runs/states.py` has the table of legal moves."""

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


RECENT_STEPS = 10
"""Steps over which noisy figures of a run are averaged, the newest included: as many as r_tot does."""
MAX_TAGS = 50
MAX_BULK = 500
"""Most runs that one request names."""
MAX_MATCHING = 10_000
"""Most runs of one request that a filter finds."""

TERMINAL_STATUSES = frozenset({RunStatus.CANCELLED, RunStatus.SUCCEEDED, RunStatus.FAILED})
"""Nothing happens to a run in one of these by itself; a failed one can be tried again by hand."""


Tag = Annotated[Name, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
"""A word or two on a run."""


class RunCreate(ConfigDraft):
    """A run to submit."""

    name: Name = Field(min_length=1, max_length=200, examples=["BAPO with a wider c1"])
    tags: Sequence[Tag] = Field(default=(), max_length=MAX_TAGS, examples=[["demo"]])
    notes: Text = Field(default="", max_length=100_000)
    group: Name | None = Field(default=None, max_length=200)
    """Name of the group that the run belongs to."""
    priority: int = Field(default=50, ge=0, le=100)
    """Higher starts first."""
    start: StrictBool = True
    """False keeps the run as a draft."""


class RunUpdate(Body):
    """Fields to change; omitted fields stay as they are."""

    name: Name | None = Field(default=None, min_length=1, max_length=200, examples=["a better name"])
    tags: Sequence[Tag] | None = Field(default=None, max_length=MAX_TAGS)
    notes: Text | None = Field(default=None, max_length=100_000)
    """Markdown."""
    priority: int | None = Field(default=None, ge=0, le=100)
    """Higher starts first; applies while the run waits."""
    archived: StrictBool | None = None
    """Lists leave out archived runs. A waiting or active run cannot be archived."""


Condition = Annotated[Text, StringConstraints(max_length=1_000)]
"""A condition on a column of the run list."""
ColumnName = Annotated[Text, StringConstraints(min_length=1, max_length=300)]
"""A column of the run list: a built-in name, `config.` before a field, or `metric.` before a key."""
CONFIG_COLUMN, METRIC_COLUMN = "config.", "metric."
"""Prefixes of columns for config fields and metrics, whose values a run includes on request."""
SORT_CHARACTERS = 301
MAX_COLUMNS = 50


class RunFilters(Parameters):
    """Filters of the run list; omitted filters match every run."""

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
    """Only runs that the caller has starred."""
    archived: Literal["hidden", "shown", "only"] = "hidden"
    """Visibility of archived runs."""
    created_after: AwareDatetime | None = None
    """At that time or later."""
    created_before: AwareDatetime | None = None
    """Before that time."""
    min_step: int | None = Field(default=None, ge=0, le=2**31 - 1)
    max_step: int | None = Field(default=None, ge=0, le=2**31 - 1)
    min_best: float | None = Field(default=None, ge=0, le=1)
    """Lowest best evaluation, as a share."""
    max_best: float | None = Field(default=None, ge=0, le=1)
    trash: Literal["hidden", "only"] = "hidden"
    """`only` lists the runs in the trash instead."""
    where: Sequence[Condition] = Field(default=(), max_length=20, examples=[["config.method.c1>=0.25", "name~wide"]])
    """All of these. COLUMN is any column that the list can be sorted by: `COLUMN = A, B` is one of these, or `!=` none;
    `>=`, `<=`, `>`, `<` compare numbers and times; `COLUMN ~ TEXT` contains the text; `COLUMN is missing`, `is
    present`. A JSON list holds values with commas: `COLUMN = ["a, b"]`."""


class RunQuery(RunFilters):
    """A page of the run list."""

    sort: str = Field(default="-created_at", max_length=SORT_CHARACTERS)
    """Column, prefixed with - for descending: a built-in one, `config.FIELD` or `metric.KEY` (its newest value). Where
    it holds texts and numbers, missing values come first, then texts, numbers and truth values."""
    columns: Sequence[ColumnName] = Field(default=(), max_length=MAX_COLUMNS, examples=[["config.method.c1"]])
    """Config fields and metrics to return in each row's `values`."""
    cursor: str | None = Field(default=None, max_length=2_000)
    """`next_cursor` of the previous page; each run is returned once."""
    offset: int = Field(default=0, ge=0, le=10_000_000)
    """Number of rows to skip; not together with a cursor."""
    limit: int = Field(default=50, ge=1, le=500)


class RunExport(RunFilters):
    """Filters and order of an export."""

    sort: str = Field(default="-created_at", max_length=SORT_CHARACTERS)
    """Column, prefixed with - for descending."""
    columns: Sequence[ColumnName] = Field(default=(), max_length=MAX_COLUMNS)
    """Config fields and metrics to export after the built-in columns."""


RunOrigin = Literal["trained here", "imported", "observed"]


class RunSummary(Body):
    """A row of the run list."""

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
    """Mean fresh reward of the newest ten steps."""
    eval_name: str | None
    """Name of the evaluation, such as "CD-34 avg@8"."""
    eval_base: float | None
    """First evaluation; null where it was of other problems than the newest."""
    eval_latest: float | None
    eta_seconds: float | None
    status_reason: str | None
    """Why it failed, was lost, or waits."""
    eval_best: float | None = None
    """Best evaluation of that name."""
    eval_best_step: int | None = None
    """Step of the best evaluation; the first of several."""
    eval_num_problems: int | None = None
    """Problems of the newest evaluation of that name; base and best are of the same."""
    eval_problems: str | None = None
    """Digest of these problems, and after a hyphen of their answers where these are recorded: accuracies of runs with
    different ones are not comparable."""
    num_gpus: int = 0
    """GPUs of the newest attempt; 0 on the CPU."""
    compute_hours: float = 0.0
    """GPU-hours of all attempts until now; slot-hours of attempts without GPUs."""
    cost: float | None = None
    """Cost of those hours; null if the deployment sets no price for them."""
    currency: str = "USD"
    """Currency of the cost."""
    notes_start: str = ""
    """First characters of the notes."""
    is_starred: bool = False
    """By the caller."""
    archived_at: datetime | None = None
    project: str = ""
    """Name of its project."""
    storage_bytes: int | None = None
    """Size of its folder and records; null if not measured yet."""
    num_findings: int | None = None
    """Findings when the run was last looked at; null if it was not yet."""
    gravest_finding: Severity | None = None
    """Severity of the most severe of them."""
    origin: RunOrigin = "trained here"
    """Trained by a worker of this server, imported from a folder, or observed while another trainer made it."""
    trashed_at: datetime | None = None
    """Since when it is in the trash; null if it is not."""
    trashed_by: str | None = None
    """User who moved it there."""
    values: Mapping[str, Any] = {}
    """Config fields and metrics that the list was asked for, by column; a column is left out where it has no value."""


RunAction = Literal["start", "stop", "pause", "resume", "retry", "hold", "release", "change", "clone", "fork", "delete"]


class RunDetail(RunSummary):
    """A run."""

    config: dict[str, Any]
    """The complete config that it was submitted with."""
    applied_changes: Sequence[AppliedChange] = ()
    """Parameter changes that its trainer applied since, in the order of their steps."""
    explicit: dict[str, Any]
    """The fields that were set."""
    diff: dict[str, tuple[Any, Any]]
    """Differences to the parent or the recipe."""
    notes: str
    priority: int
    worker: str | None
    allowed_actions: Sequence[RunAction]
    held_by: str | None = None
    """User who holds the waiting run."""
    num_retries: int = 0
    """Retries in a row until now without a further step."""
    max_retries: int = 0
    """Most such retries before the run fails."""
    retry_reason: str | None = None
    """Why it was retried last."""
    may_edit: bool = False
    """True if the caller may change name, tags and notes."""
    may_archive: bool = False
    """True if the caller may archive or unarchive it now."""
    parent_name: str | None = None
    fork_step: int | None = None
    """Step of the parent's checkpoint that it started from; null if it is not a fork."""
    study_id: str | None = None
    """The study that it belongs to."""
    stopping_when: StopMoment | None = None
    """When the stop or pause under way takes effect."""
    stop_seconds: float | None = None
    """About how long it takes to stop at the next step boundary, after a checkpoint; null if nothing trains, and until
    that is measured."""
    last_event_id: int | None = None
    """The newest event included in this state; its event stream continues after it without a gap."""
    revision: int | None = None
    """Grows with every stored record: whatever was worked out of its records holds for as long as it stays."""


class StopRequest(Body):
    """When to stop a run. A run that is not training is cancelled at once."""

    when: StopMoment = "step"
    """`now`: the trainer is killed where it does not end within seconds, and steps after the newest checkpoint are
    lost; `step`: at the next step boundary, after a checkpoint; `checkpoint`: after the next regular checkpoint. A
    run that is stopping already takes a more urgent moment only."""


class PauseRequest(Body):
    """When to pause a run."""

    when: Literal["step", "checkpoint"] = "step"
    """`step`: at the next step boundary, after a checkpoint; `checkpoint`: after the next regular checkpoint."""


class StopAnswer(RunDetail):
    """The run, and the cost of stopping it."""

    steps_lost: int
    """Completed steps that no checkpoint holds: what `now` loses, with the step under way. 0 where the stop waits for
    a checkpoint, or nothing trains."""


class RestoreAnswer(RunDetail):
    """The run that is back from the trash."""

    notice: str | None = None
    """Missing part of it, such as its folder; null if it is complete."""


class RunFork(Body):
    """A fork of a run at one of its checkpoints."""

    step: int = Field(ge=1, examples=[25])
    """Step of one of the parent's checkpoints."""
    name: Name = Field(min_length=1, max_length=200, examples=["wider c1 from step 25"])
    changes: JsonObject = Field(default={}, examples=[{"method.c1": 0.25}])
    """Dotted fields and their new values, against the config in force at that step."""
    tags: Sequence[Tag] = Field(default=(), max_length=MAX_TAGS)
    notes: Text = Field(default="", max_length=100_000)
    group: Name | None = Field(default=None, max_length=200)
    priority: int = Field(default=50, ge=0, le=100)
    start: StrictBool = True
    """False keeps the fork as a draft."""


class RunPage(Page):
    """Runs in the requested order."""

    items: Sequence[RunSummary]
    total: int
    """Number of matching runs on all pages."""
    num_sets: int | None = None
    """Number of held-out sets behind the accuracies that the runs are sorted by if there are several: then their order
    compares different measurements. Null otherwise."""


class ColumnInfo(Body):
    """A config field or a metric that the run list can show, sort, filter and group by."""

    name: str
    """`config.FIELD` or `metric.KEY`."""
    num_runs: int
    """Runs that have it, of those looked at."""
    varies: bool
    """True if the runs differ in it."""
    is_mixed: bool = False
    """True if it is a number in some runs and a text in others: texts sort before numbers."""


class RunColumns(Body):
    """Config fields and metrics of runs, those that vary first."""

    items: Sequence[ColumnInfo]
    num_runs: int
    """Runs looked at: the newest of the filter."""


class RunGrouping(RunFilters):
    """Runs in groups: by which column, and the figures of each group."""

    by: ColumnName = Field(examples=["method", "config.method.c1"])
    """`method`, `study`, `group`, `tag`, `recipe`, `owner`, `config` (all but the seed), or any other column that holds
    texts or numbers. A run with several tags is in several groups."""
    metrics: Sequence[ColumnName] = Field(default=("eval_latest",), max_length=10)
    """Columns with numbers whose mean, standard deviation, least and greatest value each group has."""
    offset: int = Field(default=0, ge=0, le=1_000_000)
    limit: int = Field(default=100, ge=1, le=500)


class Aggregate(Body):
    """A column over the runs of a group that have a number in it."""

    num_runs: int
    mean: float | None
    std: float | None
    """Standard deviation over the runs (n − 1); null for fewer than two, and where all values are the same."""
    min: float | None
    max: float | None
    num_sets: int | None = None
    """Number of held-out sets behind an accuracy if there are several: then it has no mean and no range. Null
    otherwise."""


class GroupedRuns(Body):
    """A group of runs."""

    value: Any
    """Common value of its runs; null if they lack it."""
    label: str
    """The value as text, a method by its name; of `config` the fields in which the groups differ."""
    where: str | None
    """The condition that its runs meet, and no others; null where `tag` says it."""
    tag: str | None = None
    """The tag of its runs, to filter by."""
    num_runs: int
    states: dict[RunStatus, int]
    aggregates: dict[str, Aggregate]
    """By column."""


class RunGroups(Body):
    """Groups of the runs that match, the largest first."""

    items: Sequence[GroupedRuns]
    total: int
    """Number of groups on all pages."""


class NamedCount(Body):
    """A value and the number of runs that have it."""

    name: str
    count: int


class RunFacets(Body):
    """Values to filter by, most frequent first."""

    methods: Sequence[NamedCount]
    tags: Sequence[NamedCount]
    owners: Sequence[NamedCount]
    groups: Sequence[NamedCount]
    projects: Sequence[NamedCount] = ()
    num_trashed: int = 0
    """Runs in the trash."""
    trash_days: float = 0.0
    """Days after which these are deleted for good."""


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
    "restore",
    "purge",
]
"""`delete` moves to the trash; `restore` takes out of it; `purge` deletes for good, in the trash or not."""


class Matching(Body):
    """All runs that a filter finds."""

    filters: RunFilters
    expected: int = Field(ge=1, le=MAX_MATCHING)
    """Number of runs that the user confirmed; another number is rejected."""


class BulkRequest(Body):
    """One action for several runs: for those named, or for all that match a filter."""

    run_ids: Sequence[Text] = Field(default=(), max_length=MAX_BULK, examples=[["kzx3f0a9qe"]])
    matching: Matching | None = None
    """Instead of `run_ids`."""
    action: BulkAction
    tag: Tag | None = None
    """For `tag` and `untag`."""
    when: StopMoment = "step"
    """For `stop` and `pause`, as for one run."""

    @model_validator(mode="after")
    def _runs_named_in_one_way(self) -> Self:
        if bool(self.run_ids) == (self.matching is not None):
            raise ValueError("give either `run_ids`, at least one, or `matching`")
        return self

    @model_validator(mode="after")
    def _tag_where_one_is_needed(self) -> Self:
        if self.action == "pause" and self.when == "now":
            raise ValueError("a pause waits for a checkpoint: give `when` as step or checkpoint, or stop the runs")
        if (self.tag is not None) != (self.action in ("tag", "untag")):
            raise ValueError("give `tag` together with the actions tag and untag, and with no other")
        return self


class BulkResult(Body):
    """Result for one run."""

    run_id: str
    done: bool
    code: str | None = None
    """Code of the error, such as `not_your_run`."""
    reason: str | None = None
    """Why it was refused, and what to do."""


class BulkAnswer(Body):
    """Result for each run, in the requested order."""

    results: Sequence[BulkResult]
    num_done: int


class ParameterChange(Body):
    """New values of parameters, applied at a step boundary."""

    set: JsonObject = Field(min_length=1, examples=[{"method.c1": 0.25}])
    at_step: int | None = Field(default=None, ge=1)
    """First step with the new values; empty: the next one."""


class ControlInfo(Body):
    """A requested stop, pause or parameter change, and its outcome."""

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
    """When a stop or pause takes effect."""
    withdrawn_by: str | None = None
    """User who withdrew it; `state` says whether in time."""


class AuditEntry(Body):
    """An entry of the audit trail."""

    at: datetime
    author: str
    action: str
    detail: dict[str, Any]


class History(Body):
    """The audit trail of a run, and the requests to it."""

    audit: Sequence[AuditEntry]
    controls: Sequence[ControlInfo]
