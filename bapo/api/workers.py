"""What workers and the server say to one another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, field_validator

from bapo.api.base import Body, Page, Text
from bapo.run.control import StopMoment


class GpuInfo(Body):
    """A GPU that a worker may give to runs."""

    index: int = Field(ge=0, le=65_535)
    """As `CUDA_VISIBLE_DEVICES` counts."""
    name: Text = Field(default="GPU", max_length=200)
    memory_gib: float | None = Field(default=None, ge=0, le=1_000_000)
    """None where the machine cannot say."""


class WorkerInfo(Body):
    """A worker, for people."""

    id: str
    name: str
    host: str
    slots: int
    busy: int
    """Slots in use or promised."""
    gpus: Sequence[GpuInfo]
    version: str
    online: bool
    """Its last heartbeat is fresh."""
    draining: bool = False
    """It gets no new runs."""
    last_seen_at: datetime
    run_ids: Sequence[str]
    system: dict[str, float]


class DrainRequest(Body):
    """Let a worker run empty."""

    hand_on: bool = False
    """Also end the runs that it has, at the next step boundary and after a checkpoint, and queue them again for other
    workers. Without shared storage they wait for a worker on the same host, which has their folders."""


class WorkerPage(Page):
    """The workers that have ever registered."""

    items: Sequence[WorkerInfo]


class WorkerRegistration(Body):
    """A worker introduces itself at every start."""

    name: Text = Field(min_length=1, max_length=200)
    host: Text
    slots: int = Field(ge=1, le=1024)
    gpus: Sequence[GpuInfo] = Field(default=(), max_length=1024)
    """The GPUs that it may use."""
    memory_gib: float | None = Field(default=None, ge=0, le=1_000_000_000)
    """Main memory of its machine."""
    version: Text

    @field_validator("gpus")
    @classmethod
    def _each_gpu_once(cls, gpus: Sequence[GpuInfo]) -> Sequence[GpuInfo]:
        if len({gpu.index for gpu in gpus}) < len(gpus):
            raise ValueError("two GPUs have the same index: name each once")
        return gpus


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


class ForkSource(Body):
    """A checkpoint of another run."""

    run_id: str
    run_dir: str
    step: int


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
    fork: ForkSource | None = None
    """What the run goes on from, where it does not begin at step 0."""
    settled: Sequence[str] = ()
    """Requests of the control file that need no answer any more: the run was stopped or paused otherwise, or they
    were withdrawn."""
    gpus: Sequence[int] | None = None
    """Indices of the worker's GPUs that are reserved for the run: its trainer sees no others. None: it sees what there
    is."""


class AttemptHeartbeat(Body):
    """One attempt as its worker sees it."""

    run_id: str
    fencing_token: int
    step: int


class WorkerHeartbeat(Body):
    """Sent every few seconds; extends the leases of the attempts named."""

    worker_id: str
    attempts: Sequence[AttemptHeartbeat]
    system: dict[str, float] = Field(default={})


class PendingControl(Body):
    """A request to append to a run's control file."""

    run_id: str
    id: str
    author: str
    at_step: int | None
    set: dict[str, Any]
    stop: bool
    when: StopMoment = "step"
    """Of a stop."""
    withdraws: str | None = None
    """Identifier of an earlier request that shall not take effect."""


class HeartbeatAnswer(Body):
    """What the server wants the worker to do."""

    controls: Sequence[PendingControl]
    revoked: Sequence[str]
    """Runs that no longer belong to this worker: end their trainers."""
    has_chores: bool = False
    """Whether there is something to pack, delete or measure: `POST /workers/chores` says what."""
    hand_back: Sequence[str] = ()
    """Runs to be ended at the next step boundary, after a checkpoint, and given back: the worker is draining."""


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
    """`running` is sent once, when the trainer is up; `stopped` answers a stop or a pause; what is `lost` is tried
    again."""
    step: int = 0
    reason: str | None = None
    cannot_write: bool = False
    """Of what is `lost`: its disk took no more. It is tried again after a pause, as room seldom comes at once."""
