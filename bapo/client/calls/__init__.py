"""Every call of the API once: method, path, what is sent and what comes back."""

from __future__ import annotations

from bapo.client.calls.accounts import AccountCalls
from bapo.client.calls.alerts import AlertCalls
from bapo.client.calls.artifacts import ArtifactCalls
from bapo.client.calls.checkpoints import CheckpointCalls
from bapo.client.calls.compare import CompareCalls
from bapo.client.calls.configs import ConfigCalls
from bapo.client.calls.difficulty import DifficultyCalls
from bapo.client.calls.imports import ImportCalls
from bapo.client.calls.people import PeopleCalls
from bapo.client.calls.prompts import PromptCalls
from bapo.client.calls.queue import QueueCalls
from bapo.client.calls.records import RecordCalls
from bapo.client.calls.resources import ResourceCalls
from bapo.client.calls.runs import RunCalls
from bapo.client.calls.samples import SampleCalls
from bapo.client.calls.service import ServiceCalls
from bapo.client.calls.storage import StorageCalls
from bapo.client.calls.studies import StudyCalls
from bapo.client.calls.views import ViewCalls
from bapo.client.calls.webhooks import WebhookCalls
from bapo.client.calls.what_if import WhatIfCalls
from bapo.client.calls.workers import WorkerCalls


class Calls(
    AccountCalls,
    PeopleCalls,
    ConfigCalls,
    RunCalls,
    RecordCalls,
    PromptCalls,
    SampleCalls,
    DifficultyCalls,
    ImportCalls,
    QueueCalls,
    ResourceCalls,
    StorageCalls,
    ViewCalls,
    ArtifactCalls,
    StudyCalls,
    CheckpointCalls,
    CompareCalls,
    WhatIfCalls,
    AlertCalls,
    WebhookCalls,
    WorkerCalls,
    ServiceCalls,
):
    """The table of calls, one class a domain."""
