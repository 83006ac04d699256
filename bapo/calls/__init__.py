"""Every call of the API once: method, path, what is sent and what comes back."""

from __future__ import annotations

from bapo.calls.accounts import AccountCalls
from bapo.calls.alerts import AlertCalls
from bapo.calls.artifacts import ArtifactCalls
from bapo.calls.base import Call, Endpoint, get, post, run_path
from bapo.calls.checkpoints import CheckpointCalls
from bapo.calls.compare import CompareCalls
from bapo.calls.configs import ConfigCalls
from bapo.calls.difficulty import DifficultyCalls
from bapo.calls.imports import ImportCalls
from bapo.calls.people import PeopleCalls
from bapo.calls.prompts import PromptCalls
from bapo.calls.queue import QueueCalls
from bapo.calls.records import RecordCalls
from bapo.calls.resources import ResourceCalls
from bapo.calls.runs import RunCalls
from bapo.calls.samples import SampleCalls
from bapo.calls.service import ServiceCalls
from bapo.calls.storage import StorageCalls
from bapo.calls.studies import StudyCalls
from bapo.calls.sweeps import SweepCalls
from bapo.calls.views import ViewCalls
from bapo.calls.webhooks import WebhookCalls
from bapo.calls.what_if import WhatIfCalls
from bapo.calls.workers import WorkerCalls


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
    SweepCalls,
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


__all__ = ["Call", "Calls", "Endpoint", "get", "post", "run_path"]
