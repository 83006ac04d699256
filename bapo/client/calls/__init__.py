"""Every call of the API once: method, path, what is sent and what comes back."""

from __future__ import annotations

from bapo.client.calls.accounts import AccountCalls
from bapo.client.calls.alerts import AlertCalls
from bapo.client.calls.artifacts import ArtifactCalls
from bapo.client.calls.boards import BoardCalls
from bapo.client.calls.prompts import PromptCalls
from bapo.client.calls.records import RecordCalls
from bapo.client.calls.resources import ResourceCalls
from bapo.client.calls.runs import RunCalls
from bapo.client.calls.studies import StudyCalls
from bapo.client.calls.workers import WorkerCalls


class Calls(
    AccountCalls,
    RunCalls,
    RecordCalls,
    PromptCalls,
    ResourceCalls,
    ArtifactCalls,
    StudyCalls,
    AlertCalls,
    WorkerCalls,
    BoardCalls,
):
    """The table of calls."""
