"""The queue of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from bapo.api.base import Body, Text
from bapo.api.runs import RunStatus
from bapo.api.workers import Delivery, GpuInfo


class WaitingRun(Body):
    """A queued run."""

    id: str
    name: str
    owner: str
    method: str
    attempt: int
    """Number of attempts so far; above 0, it resumes from a checkpoint."""
    step: int
    """Completed training steps."""
    num_steps: int
    position: int | None
    """1 is the next to start; null while it is held."""
    priority: int
    queued_at: datetime
    gpus: int = 0
    """Number of GPUs that it needs on one worker."""
    gpus_optional: bool = False
    """True if a worker without GPUs can take it."""
    memory_gib: float = 0.0
    """Memory that it needs."""
    gpu_memory_gib: float | None = None
    """Minimum memory of each of its GPUs."""
    held_by: str | None = None
    """User who holds it."""
    is_placed: bool = False
    """True if an administrator set its place: fair shares do not change it."""
    retry: str | None = None
    """State of retries, such as "try 2 of 3 again after: the trainer was ended by SIGKILL"."""
    reason: str | None
    """Why it waits; null until the server has looked."""
    promised_to: str | None
    """Name of the worker that it is assigned to and that has not claimed it yet."""
    expected_seconds: float | None
    """Expected wait, from the remaining time of active runs; null if unknown."""
    may_cancel: bool
    """True if the caller may cancel, hold and move it and change its priority."""


class HeldRun(Body):
    """A run in a worker's slot."""

    id: str
    name: str
    owner: str
    method: str
    status: RunStatus
    attempt: int
    state: Literal["assigned", "claimed", "running"]
    """`assigned`: sent, not claimed yet; `claimed`: its trainer is starting; `running`: its trainer is up."""
    since: datetime
    """When the attempt was assigned to the worker."""
    lease_expires_at: datetime | None
    """Without a heartbeat until then, the run is lost and queued again."""
    step: int
    num_steps: int
    eta_seconds: float | None
    may_cancel: bool
    gpus: Sequence[int] = ()
    """Indices of the GPUs reserved for it."""
    memory_gib: float = 0.0
    """Memory reserved for it."""
    stop_seconds: float | None = None
    """About how long it takes to stop, after its step and a checkpoint; null until that is measured."""


class GpuSlot(GpuInfo):
    """A GPU of a worker."""

    is_held: bool = False
    """True if it is reserved for a run."""
    run_id: str | None = None
    """That run, if the caller may see it."""


class WorkerSlots(Body):
    """A worker and the runs in its slots."""

    id: str
    name: str
    host: str
    version: str
    slots: int
    gpus: Sequence[GpuSlot]
    online: bool
    """True if its last heartbeat is recent."""
    last_seen_at: datetime
    registered_at: datetime
    """When it last started."""
    system: dict[str, float]
    """Last reported memory in bytes and utilisation in percent."""
    runs: Sequence[HeldRun]
    """Runs that the caller may see."""
    busy: int = 0
    """Slots in use or assigned, including by runs that the caller may not see."""
    memory_gib: float | None = None
    """Null if not reported."""
    draining: bool = False
    """True if it is draining: it gets no new runs."""
    hands_on: bool = False
    """True if it also gives back its runs while it drains."""
    drain_before: datetime | None = None
    """When its machine ends: until then it gives its runs back, and takes none that would not fit."""
    delivery: Delivery = "broker"
    """Channel by which it gets its runs."""


class QueueState(Body):
    """The whole queue at one moment."""

    waiting: Sequence[WaitingRun]
    """The first 500 that the caller may see; their places count the others too."""
    num_waiting: int
    """Including those that the caller may not see."""
    workers: Sequence[WorkerSlots]
    """Online ones first, each by name."""
    slots: int
    """Slots of online workers."""
    busy: int
    """Slots of these that are in use or assigned."""
    may_administer: bool = False
    """True if the caller may drain and forget workers, move any run and set limits."""


class QueueMove(Body):
    """New place of a queued run: set exactly one of the three.

    It takes the priority of the run that it is moved to, where that is another. Its owner moves it among their own
    runs, which exchange their places; if an administrator moves a run past those of other users, it and all runs before
    it get fixed places, which fair shares do not change.
    """

    before: Text | None = Field(default=None, max_length=200)
    """ID of a queued run."""
    after: Text | None = Field(default=None, max_length=200)
    """ID of a queued run."""
    to: Literal["top", "bottom"] | None = None
    """Top or bottom of the whole queue for administrators, else of one's own runs."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.before, self.after, self.to].count(None) != 2:
            raise ValueError("give one of before, after and to")
        return self


class UserLimit(Body):
    """Limit of a user's runs on workers."""

    user: str
    """Name of the user."""
    max_running: int | None
    """The user's own limit; null: the server's default."""
    running: int
    """Runs on workers now, including assigned ones."""
    waiting: int


class UserLimits(Body):
    """Limits of all users by name."""

    default: int | None
    """For users without their own limit; null: unlimited."""
    items: Sequence[UserLimit]


class LimitChange(Body):
    """A user's new limit."""

    max_running: int | None = Field(ge=0, le=100_000)
    """Null: the server's default."""
