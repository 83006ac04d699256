"""Messages between workers and the server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, StrictBool, field_validator

from bapo.api.base import Body, Name, Page, Text
from bapo.run.control import StopMoment

Delivery = Literal["broker", "https"]
"""Channel by which a worker gets its runs: `broker`, by Celery from a Redis queue; `https`, by polling the server."""
LONGEST_WAIT_SECONDS = 20.0
"""Maximum duration of a worker's request for runs: below the limits of common proxies (30 s and more)."""


class GpuInfo(Body):
    """A GPU that a worker may use."""

    index: int = Field(ge=0, le=65_535)
    """Index of the GPU, as in `CUDA_VISIBLE_DEVICES`."""
    name: Text = Field(default="GPU", max_length=200)
    memory_gib: float | None = Field(default=None, ge=0, le=1_000_000)
    """Null if the machine cannot tell."""


class WorkerInfo(Body):
    """A worker."""

    id: str
    name: str
    host: str
    slots: int
    busy: int
    """Slots in use or assigned."""
    gpus: Sequence[GpuInfo]
    version: str
    online: bool
    """True if its last heartbeat is recent."""
    draining: bool = False
    """True if it is draining: it gets no new runs."""
    drain_before: datetime | None = None
    """When its machine ends: until then it gives its runs back, and takes none that would not fit."""
    last_seen_at: datetime
    run_ids: Sequence[str]
    delivery: Delivery = "broker"
    """Channel by which it gets its runs."""
    system: dict[str, float]


class DrainRequest(Body):
    """Options for draining a worker."""

    hand_on: StrictBool = False
    """Also end the runs that it has, at the next step boundary and after a checkpoint, and queue them again for other
    workers. Without shared storage they wait for a worker on the same host, which has their folders."""


class WorkerPage(Page):
    """All registered workers."""

    items: Sequence[WorkerInfo]


class WorkerRegistration(Body):
    """Sent by a worker at every start."""

    name: Name = Field(min_length=1, max_length=200)
    host: Text
    slots: int = Field(ge=1, le=1024)
    gpus: Sequence[GpuInfo] = Field(default=(), max_length=1024)
    """The GPUs that it may use."""
    memory_gib: float | None = Field(default=None, ge=0, le=1_000_000_000)
    """Main memory of its machine."""
    version: Text
    drain_before: datetime | None = None
    """When its machine ends; null if that is not known."""
    delivery: Delivery = "broker"
    """Channel by which it gets its runs; with `https` it polls `POST /workers/deliveries`."""

    @field_validator("gpus")
    @classmethod
    def _each_gpu_once(cls, gpus: Sequence[GpuInfo]) -> Sequence[GpuInfo]:
        if len({gpu.index for gpu in gpus}) < len(gpus):
            raise ValueError("two GPUs have the same index: name each once")
        return gpus


class WorkerWelcome(Body):
    """Settings that a worker needs to accept runs."""

    worker_id: str
    queue: str
    """Celery queue of the worker."""
    broker_url: str
    """Address of the broker, for workers of earlier releases that name none; empty for a worker that needs none."""
    runs_dir: str
    """The server's folder of run folders."""
    runs_dir_shared: bool = False
    """True if that folder is mounted on all machines."""
    heartbeat_seconds: float


class AssignedRunsRequest(Body):
    """A worker asks which runs it should claim."""

    worker_id: str
    wait_seconds: float = Field(default=LONGEST_WAIT_SECONDS, ge=0, le=LONGEST_WAIT_SECONDS, allow_inf_nan=False)
    """Time to wait for a run if there is none yet, seconds."""


class AssignedRuns(Body):
    """Runs that were assigned to a worker. An answer that is lost is given again; a run is a worker's by its claim."""

    run_ids: Sequence[str]
    """Empty: ask again."""


class ClaimRequest(Body):
    """Claims the run that was assigned to the worker."""

    worker_id: str


class ForkSource(Body):
    """A checkpoint of another run."""

    run_id: str
    run_dir: str
    step: int


class ContentFile(Body):
    """A file of uploaded content."""

    path: str
    sha256: str
    num_bytes: int


class RunContent(Body):
    """Uploaded data, or an uploaded model, that a config names."""

    path: str
    """File or folder, as written in the config."""
    files: Sequence[ContentFile]


class Claim(Body):
    """A claimed run."""

    run_id: str
    attempt: int
    fencing_token: int
    """Sent with every later message about this attempt; old tokens are refused."""
    config: dict[str, Any]
    """The complete config."""
    config_digest: str | None = None
    """SHA-256 of the config when it was checked: JSON with sorted keys. Null for a run of an earlier release."""
    run_dir: str
    """Folder that the trainer writes to."""
    fork: ForkSource | None = None
    """The checkpoint that the run starts from, if it is a fork."""
    settled: Sequence[str] = ()
    """Requests of the control file that need no answer any more: the run was stopped or paused otherwise, or they
    were withdrawn."""
    gpus: Sequence[int] | None = None
    """Indices of the worker's GPUs that are reserved for the run: its trainer sees no others. None: it sees what there
    is."""
    resource_roots: Sequence[str] = ()
    """Folders whose files the config may name; the worker checks it again, with its own links."""
    contents: Sequence[RunContent] = ()
    """Uploaded files that the config names; a worker without access to these paths downloads the files to them."""


class AttemptHeartbeat(Body):
    """An attempt, as its worker sees it."""

    run_id: str
    fencing_token: int
    step: int
    start_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """From the start of an attempt to the end of its first step; null until that is measured."""
    stop_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """From SIGTERM to the end, after a step and a checkpoint; null until that is measured."""


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
    """When a stop takes effect."""
    withdraws: str | None = None
    """ID of an earlier request to withdraw."""


class HeartbeatAnswer(Body):
    """The server's requests to a worker."""

    controls: Sequence[PendingControl]
    revoked: Sequence[str]
    """Runs that no longer belong to this worker: end their trainers."""
    has_chores: bool = False
    """True if there are maintenance jobs: get them with `POST /workers/chores`."""
    hand_back: Sequence[str] = ()
    """Runs to stop at the next step boundary, after a checkpoint, and to give back: the worker is draining."""


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
    """The number of stored bytes of a file."""

    next_offset: int


class AttemptOutcome(Body):
    """State of a trainer: running, or ended and how."""

    fencing_token: int
    status: Literal["running", "succeeded", "failed", "stopped", "lost"]
    """`running`: sent once, when the trainer is up; `stopped`: stopped or paused on request; `lost`: will be retried.
    """
    step: int = 0
    reason: str | None = None
    cannot_write: StrictBool = False
    """True if an attempt was lost because its disk is full. It is retried after a delay."""
