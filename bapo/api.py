"""Request and response bodies of `/api/v1`, one definition for the server, `bapo.client` and the worker.

All times are UTC. Lists answer `{"items": …, "next_cursor": …}`. Errors answer `ErrorBody`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


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


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _storable(value: Any) -> Any:
    """The value, if JSON and PostgreSQL can hold it. Raises ValueError."""
    match value:
        case str():
            if _UNSTORABLE.search(value):
                raise ValueError("the text holds a NUL character or half a character: remove it")
        case bool():
            pass
        case int():
            if not -(2**63) <= value < 2**63:
                raise ValueError("the number does not fit into 64 bits: give a smaller one")
        case float():
            if not math.isfinite(value):
                raise ValueError("NaN and infinities are no JSON numbers: give a finite one")
        case dict():
            for key, member in value.items():
                _storable(key)
                _storable(member)
        case list():
            for member in value:
                _storable(member)
    return value


Text = Annotated[str, AfterValidator(_storable)]
"""Text that can be stored."""
JsonObject = Annotated[dict[str, Any], AfterValidator(_storable)]
"""A JSON object that can be stored."""


class Body(BaseModel):
    """Common base: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class FieldProblem(Body):
    """One thing to mend in a request."""

    field: str
    value: Any = None
    remedy: str


class ErrorBody(Body):
    """Every error of the API."""

    code: str
    """Stable and machine-readable, such as `invalid_config`, `not_found`, `illegal_transition`."""
    field: str | None = None
    value: Any = None
    remedy: str
    """What is wrong and what to do."""
    problems: Sequence[FieldProblem] = ()
    """All problems where there are several; the first is repeated above."""
    request_id: str


# ---------------------------------------------------------------- who


class UserInfo(Body):
    """The caller."""

    id: str
    name: str
    role: Literal["viewer", "member", "admin"]


class Login(Body):
    """What a browser or a script logs in with: a one-time code or a token."""

    code: str | None = Field(default=None, max_length=200, examples=["a code from a login link"])
    token: str | None = Field(default=None, max_length=200)


class Page(Body):
    """One page of a list."""

    next_cursor: str | None = None
    """Ask again with it for the next page; None on the last."""


# ---------------------------------------------------------------- configs


class RecipeInfo(Body):
    """A named starting point."""

    name: str
    title: str
    description: str
    config: dict[str, Any]
    """The fields that it sets."""


class RecipePage(Page):
    """The recipes that the server knows."""

    items: Sequence[RecipeInfo]


class ConfigFieldInfo(Body):
    """What a form needs to know of one config field."""

    path: str
    """Dotted, such as `method.c1`."""
    description: str
    default: Any
    kind: Literal["integer", "number", "fraction", "fraction_range", "text", "flag", "choice", "choices", "list"]
    optional: bool
    """May be left empty."""
    minimum: float | None
    maximum: float | None
    choices: Sequence[str]
    method_types: Sequence[str]
    """Methods that know the field; empty for fields of all methods."""


class ConfigFieldPage(Page):
    """All config fields."""

    items: Sequence[ConfigFieldInfo]


class ConfigDraft(Body):
    """A config to check: a recipe or a parent run, and changes to it."""

    recipe: Text | None = Field(default=None, examples=["countdown-demo"])
    parent_id: Text | None = None
    """Start from this run's config (clone)."""
    changes: JsonObject = Field(default={}, examples=[{"method.c1": 0.25, "training.steps": 50}])
    """Dotted fields and their new values."""


class ThresholdMapRow(Body):
    """What each number of correct responses is at one mean accuracy."""

    r_tot: float
    c2: float
    c3: float
    roles: Sequence[str]
    """For k = 0..G, a `+`-joined subset of `fresh`, `difficult`, `reusable`, or `nothing`."""


class ConfigReport(Body):
    """A checked config."""

    config: dict[str, Any]
    """Complete, with every default."""
    warnings: Sequence[FieldProblem]
    diff: dict[str, tuple[Any, Any]]
    """Dotted field → (parent's value, this value); against the recipe where there is no parent."""
    threshold_map: Sequence[ThresholdMapRow]
    """Empty for methods without thresholds."""
    constants: dict[str, float | None]
    """K1, K2, K3 of Theorem 3.2 (`K3` at r_tot = 0), and `K2_exact`; None where not defined."""


# ---------------------------------------------------------------- runs


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


# ---------------------------------------------------------------- series, prompts, samples


class MetricKeys(Page):
    """Names of the metrics that a run has recorded so far."""

    items: Sequence[str]


class Series(Body):
    """Columnar metrics: `columns[key][i]` belongs to `steps[i]`; None where a step lacks the key."""

    steps: Sequence[int]
    columns: dict[str, Sequence[float | None]]


class HistogramSeries(Body):
    """Counts per accuracy group 0..G of each step."""

    steps: Sequence[int]
    fresh: Sequence[Sequence[int]]
    reevaluated: Sequence[Sequence[int]]
    batch: Sequence[Sequence[int]]


class RecordPage(Page):
    """Whole journal records (step, evaluation, tracking, event), ordered by step."""

    items: Sequence[dict[str, Any]]


class PromptSummary(Body):
    """One training prompt over the whole run."""

    prompt_id: str
    num_visits: int
    first_accuracy: float
    last_accuracy: float
    last_step: int
    steps: Sequence[int]
    num_correct: Sequence[int]
    sources: Sequence[str]


class PromptPage(Page):
    """Prompts, by identifier."""

    items: Sequence[PromptSummary]


class SamplePage(Page):
    """Lines of samples.jsonl."""

    items: Sequence[dict[str, Any]]


class LogChunk(Body):
    """A piece of the trainer's output."""

    text: str
    next_offset: int
    """Ask again with it for what came later."""


class StreamEvent(Body):
    """One server-sent event.

    `step`: steps `data["from_step"]`..`data["step"]` are stored; `evaluation`, `tracking`, `event`: a record of that
    type is stored; `status`: the run's row changed. `data["run_id"]` names the run. After a break, ask again with the
    last `id` in `Last-Event-ID`.
    """

    id: int
    event: Literal["step", "evaluation", "tracking", "event", "status"]
    data: dict[str, Any]


# ---------------------------------------------------------------- imports


class ImportCreate(Body):
    """A run that was trained without a server."""

    name: Text = Field(min_length=1, max_length=200)
    source: Text = Field(min_length=1, max_length=200)
    """Identifies the folder, such as a digest of its config and first record: a second import continues the first."""
    config: JsonObject
    """The folder's config.json."""
    attempts: int = Field(ge=1, le=100_000)
    """Number of the newest attempt in the folder."""
    tags: Sequence[Text] = Field(default=(), max_length=50)
    notes: Text = Field(default="", max_length=100_000)
    group: Text | None = Field(default=None, max_length=200)


class ImportInfo(Body):
    """Where to post the folder's lines."""

    run_id: str
    fencing_token: int
    is_new: bool
    """False when the folder was imported before; its lines are then only completed."""


# ---------------------------------------------------------------- workers (worker token)


class WorkerInfo(Body):
    """A worker, for people."""

    id: str
    name: str
    host: str
    slots: int
    busy: int
    """Slots in use or promised."""
    gpus: Sequence[str]
    version: str
    online: bool
    """Its last heartbeat is fresh."""
    last_seen_at: datetime
    run_ids: Sequence[str]
    system: dict[str, float]


class WorkerPage(Page):
    """The workers that have ever registered."""

    items: Sequence[WorkerInfo]


class WorkerRegistration(Body):
    """A worker introduces itself at every start."""

    name: Text = Field(min_length=1, max_length=200)
    host: Text
    slots: int = Field(ge=1, le=1024)
    gpus: Sequence[Text] = ()
    """Names of the GPUs that it may use."""
    version: Text


class WorkerWelcome(Body):
    """What the worker needs to take work."""

    worker_id: str
    queue: str
    """Its own Celery queue."""
    broker_url: str
    runs_dir: str
    heartbeat_seconds: float


class ClaimRequest(Body):
    """A worker takes the run that was assigned to it."""

    worker_id: str


class Claim(Body):
    """A run handed to one worker, once."""

    run_id: str
    attempt: int
    fencing_token: int
    """Every later message about this attempt carries it; an old one is refused."""
    config: dict[str, Any]
    """Complete."""
    run_dir: str
    """Where the trainer writes."""


class AttemptHeartbeat(Body):
    """One attempt as its worker sees it."""

    run_id: str
    fencing_token: int
    step: int


class WorkerHeartbeat(Body):
    """Sent every few seconds; extends the leases of the attempts named."""

    worker_id: str
    attempts: Sequence[AttemptHeartbeat]
    system: dict[str, float] = {}


class PendingControl(Body):
    """A request to append to a run's control file."""

    run_id: str
    id: str
    author: str
    at_step: int | None
    set: dict[str, Any]
    stop: bool


class HeartbeatAnswer(Body):
    """What the server wants the worker to do."""

    controls: Sequence[PendingControl]
    revoked: Sequence[str]
    """Runs that no longer belong to this worker: end their trainers."""


class RecordBatch(Body):
    """Lines of one attempt's file from a byte offset on; sending a batch again changes nothing.

    The token is that of the run's newest attempt; the file may be an earlier attempt's, whose lines never replace a
    later one's. An empty batch asks how far the server is.
    """

    fencing_token: int
    attempt: int = Field(ge=1, le=100_000)
    kind: Literal["records", "samples", "log"]
    start_offset: int = Field(ge=0)
    """Byte offset of the first line in the attempt's file."""
    end_offset: int = Field(ge=0)
    lines: Sequence[str]
    """Without their newlines."""


class BatchAccepted(Body):
    """How far the server has stored the file."""

    next_offset: int


class AttemptOutcome(Body):
    """How the trainer process ended."""

    fencing_token: int
    status: Literal["running", "succeeded", "failed", "stopped", "lost"]
    """`running` is sent once, when the trainer is up; `stopped` answers a stop or a pause."""
    step: int = 0
    reason: str | None = None
