"""Request and response bodies of `/api/v1`, one definition for the server, `bapo.client` and the worker.

All times are UTC. Lists answer `{"items": …, "next_cursor": …}`. Errors answer `ErrorBody`.
"""

from bapo.api.accounts import Login, UserInfo
from bapo.api.base import Body, ErrorBody, FieldProblem, JsonObject, Page, Text
from bapo.api.configs import (
    ConfigDraft,
    ConfigFieldInfo,
    ConfigFieldPage,
    ConfigReport,
    RecipeInfo,
    RecipePage,
    ThresholdMapRow,
)
from bapo.api.events import StreamEvent
from bapo.api.imports import ImportCreate, ImportInfo
from bapo.api.prompts import PromptPage, PromptSummary
from bapo.api.queue import HeldRun, QueueState, WaitingRun, WorkerSlots
from bapo.api.records import HistogramSeries, LogChunk, MetricKeys, RecordPage, SamplePage, Series
from bapo.api.runs import (
    TERMINAL_STATUSES,
    AuditEntry,
    ControlInfo,
    History,
    ParameterChange,
    RunCreate,
    RunDetail,
    RunPage,
    RunStatus,
    RunSummary,
    RunUpdate,
)
from bapo.api.workers import (
    AttemptHeartbeat,
    AttemptOutcome,
    BatchAccepted,
    Claim,
    ClaimRequest,
    HeartbeatAnswer,
    PendingControl,
    RecordBatch,
    WorkerHeartbeat,
    WorkerInfo,
    WorkerPage,
    WorkerRegistration,
    WorkerWelcome,
)

__all__ = [
    "TERMINAL_STATUSES",
    "AttemptHeartbeat",
    "AttemptOutcome",
    "AuditEntry",
    "BatchAccepted",
    "Body",
    "Claim",
    "ClaimRequest",
    "ConfigDraft",
    "ConfigFieldInfo",
    "ConfigFieldPage",
    "ConfigReport",
    "ControlInfo",
    "ErrorBody",
    "FieldProblem",
    "HeartbeatAnswer",
    "HeldRun",
    "HistogramSeries",
    "History",
    "ImportCreate",
    "ImportInfo",
    "JsonObject",
    "LogChunk",
    "Login",
    "MetricKeys",
    "Page",
    "ParameterChange",
    "PendingControl",
    "PromptPage",
    "PromptSummary",
    "QueueState",
    "RecipeInfo",
    "RecipePage",
    "RecordBatch",
    "RecordPage",
    "RunCreate",
    "RunDetail",
    "RunPage",
    "RunStatus",
    "RunSummary",
    "RunUpdate",
    "SamplePage",
    "Series",
    "StreamEvent",
    "Text",
    "ThresholdMapRow",
    "UserInfo",
    "WaitingRun",
    "WorkerHeartbeat",
    "WorkerInfo",
    "WorkerPage",
    "WorkerRegistration",
    "WorkerSlots",
    "WorkerWelcome",
]
