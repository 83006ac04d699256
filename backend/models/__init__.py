"""The tables. Importing this package registers all of them with `Base.metadata`."""

from backend.models.accounts import (
    ApiToken,
    IdempotentRequest,
    LoginAttempt,
    LoginCode,
    Membership,
    PendingSignIn,
    Project,
    ProviderIdentity,
    Session,
    User,
)
from backend.models.alerts import Alert, AlertFollower, AlertRule, AlertWatch
from backend.models.artifacts import Artifact, FolderDeletion, RunStorage
from backend.models.base import Base
from backend.models.boards import Board, BoardLink, SavedView
from backend.models.chats import Chat
from backend.models.prompts import ProjectPrompt, PromptList, PromptListEntry, PromptListVersion, PromptTotals
from backend.models.records import (
    IngestOffset,
    LogPiece,
    MetricChunk,
    MetricKey,
    MetricTail,
    PromptText,
    RunFindings,
    RunMetrics,
    Sample,
    SparseRecord,
    StepRow,
    StreamRow,
)
from backend.models.resources import Resource, RunResource
from backend.models.runs import Attempt, AuditRow, Control, Run, RunGroup, RunStar
from backend.models.studies import Study, StudyRun
from backend.models.uploads import ResourceVersion, Upload
from backend.models.webhooks import Delivery, Webhook
from backend.models.workers import PriceRow, Worker

__all__ = [
    "Alert",
    "AlertFollower",
    "AlertRule",
    "AlertWatch",
    "ApiToken",
    "Artifact",
    "Attempt",
    "AuditRow",
    "Base",
    "Board",
    "BoardLink",
    "Chat",
    "Control",
    "Delivery",
    "FolderDeletion",
    "IdempotentRequest",
    "IngestOffset",
    "LogPiece",
    "LoginAttempt",
    "LoginCode",
    "Membership",
    "MetricChunk",
    "MetricKey",
    "MetricTail",
    "PendingSignIn",
    "PriceRow",
    "Project",
    "ProjectPrompt",
    "PromptList",
    "PromptListEntry",
    "PromptListVersion",
    "PromptText",
    "PromptTotals",
    "ProviderIdentity",
    "Resource",
    "ResourceVersion",
    "Run",
    "RunFindings",
    "RunGroup",
    "RunMetrics",
    "RunResource",
    "RunStar",
    "RunStorage",
    "Sample",
    "SavedView",
    "Session",
    "SparseRecord",
    "StepRow",
    "StreamRow",
    "Study",
    "StudyRun",
    "Upload",
    "User",
    "Webhook",
    "Worker",
]
