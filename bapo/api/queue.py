"""What waits and why, and what runs where."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from bapo.api.base import Body
from bapo.api.runs import RunStatus


class WaitingRun(Body):
    """A run that no trainer works on yet."""

    id: str
    name: str
    owner: str
    method: str
    attempt: int
    """Attempts so far: above 0, it goes on from a checkpoint."""
    step: int
    """Completed training steps."""
    num_steps: int
    position: int
    """1 is the next one; priority comes first, then the time of queueing."""
    priority: int
    queued_at: datetime
    reason: str | None
    """Why it waits; None in the second before the server has looked."""
    promised_to: str | None
    """Name of the worker that it was sent to and that has not taken it yet."""
    expected_seconds: float | None
    """Until a slot is expected to be free for it, from the remaining time of what runs; None where that is not
    known."""
    may_cancel: bool
    """Whether the caller may."""


class HeldRun(Body):
    """A run in a worker's slot."""

    id: str
    name: str
    owner: str
    method: str
    status: RunStatus
    attempt: int
    state: Literal["assigned", "claimed", "running"]
    """`assigned`: sent and not taken yet; `claimed`: its trainer starts; `running`: its trainer is up."""
    since: datetime
    """When the attempt was given to the worker."""
    lease_expires_at: datetime | None
    """Without a heartbeat by then, the run is lost and queued again."""
    step: int
    num_steps: int
    eta_seconds: float | None
    may_cancel: bool


class WorkerSlots(Body):
    """A worker with what its slots hold."""

    id: str
    name: str
    host: str
    version: str
    slots: int
    gpus: Sequence[str]
    online: bool
    """Its last heartbeat is fresh."""
    last_seen_at: datetime
    registered_at: datetime
    """Its latest start."""
    system: dict[str, float]
    """What it reported last: memory in bytes, utilisation in percent."""
    runs: Sequence[HeldRun]
    """Those that the caller may see."""
    busy: int = 0
    """Slots in use or promised, also by runs that the caller may not see."""


class QueueState(Body):
    """The whole queue at one moment."""

    waiting: Sequence[WaitingRun]
    """Of the first 500 those that the caller may see; their places count the others too."""
    num_waiting: int
    """Also of those that the caller may not see."""
    workers: Sequence[WorkerSlots]
    """Online ones first, each by name."""
    slots: int
    """Of the workers that are online."""
    busy: int
    """Of these, in use or promised."""
