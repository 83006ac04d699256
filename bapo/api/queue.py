"""The queue of runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import Field, model_validator

from bapo.api.base import Body, Text
from bapo.api.runs import RunStatus
from bapo.api.workers import GpuInfo


class WaitingRun(Body):
    """A queued run."""

    id: str
    name: str
    owner: str
    method: str
    attempt: int
    """Attempts so far: above 0, it goes on from a checkpoint."""
    step: int
    """Completed training steps."""
    num_steps: int
    position: int | None
    """1 is the next one; None while it is held."""
    priority: int
    queued_at: datetime
    gpus: int = 0
    """GPUs of one worker that it needs."""
    gpus_optional: bool = False
    """A worker without any GPU will do too."""
    memory_gib: float = 0.0
    """Memory that it needs to itself."""
    gpu_memory_gib: float | None = None
    """Least memory of each of its GPUs."""
    held_by: str | None = None
    """Who keeps it from starting, until it is released."""
    is_placed: bool = False
    """An administrator gave it its place: no fair share changes it."""
    retry: str | None = None
    """Such as "try 2 of 3 again after: the trainer was ended by SIGKILL"."""
    reason: str | None
    """Why it waits; None in the second before the server has looked."""
    promised_to: str | None
    """Name of the worker that it was sent to and that has not taken it yet."""
    expected_seconds: float | None
    """Until a slot is expected to be free for it, from the remaining time of what runs; None where that is not
    known."""
    may_cancel: bool
    """Whether the caller may; also hold it, move it and change its priority."""


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
    gpus: Sequence[int] = ()
    """Indices of the worker's GPUs that are reserved for it."""
    memory_gib: float = 0.0
    """Memory that is reserved for it."""


class GpuSlot(GpuInfo):
    """A GPU of a worker, and who has it."""

    is_held: bool = False
    """It is reserved for a run."""
    run_id: str | None = None
    """That run, where the caller may see it."""


class WorkerSlots(Body):
    """A worker with what its slots hold."""

    id: str
    name: str
    host: str
    version: str
    slots: int
    gpus: Sequence[GpuSlot]
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
    memory_gib: float | None = None
    """None where it has not said."""
    draining: bool = False
    """It gets no new runs."""
    hands_on: bool = False
    """While it drains: it also gives back the runs that it has."""


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
    may_administer: bool = False
    """Whether the caller may drain and forget workers, move any run and set limits."""


class QueueMove(Body):
    """Where a waiting run shall be: give one of the three.

    It takes the priority of the run that it is moved to, where that is another. Its owner moves it among their own
    runs, which exchange their places; what an administrator moves past somebody else's runs gets its place there and
    then, as do all runs before it: no fair share changes these.
    """

    before: Text | None = Field(default=None, max_length=200)
    """Identifier of a waiting run."""
    after: Text | None = Field(default=None, max_length=200)
    """Identifier of a waiting run."""
    to: Literal["top", "bottom"] | None = None
    """For an administrator of the whole queue, else of one's own runs."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if [self.before, self.after, self.to].count(None) != 2:
            raise ValueError("give one of before, after and to")
        return self


class UserLimit(Body):
    """How many runs somebody may have on workers at a time."""

    user: str
    """Name."""
    max_running: int | None
    """This person's own limit; None: the server's."""
    running: int
    """Runs that workers hold now, promised ones counted."""
    waiting: int


class UserLimits(Body):
    """The limits of everybody, by name."""

    default: int | None
    """For who has none of their own; None: no limit."""
    items: Sequence[UserLimit]


class LimitChange(Body):
    """A person's own limit."""

    max_running: int | None = Field(ge=0, le=100_000)
    """None: the server's."""
