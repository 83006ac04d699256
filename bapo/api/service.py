"""Health and diagnosis of the server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bapo.api.base import Body
from bapo.api.workers import Delivery


class ReadinessCheck(Body):
    """Result of one check."""

    name: str
    ok: bool
    message: str


class Readiness(Body):
    """Readiness of the server, with each check."""

    ready: bool
    version: str
    checks: Sequence[ReadinessCheck]


class DatabaseFacts(Body):
    """PostgreSQL, as the server sees it."""

    version: str
    revision: str | None
    """Revision of the schema."""
    needed_revision: str
    connections: int
    max_connections: int
    size_bytes: int


class BrokerFacts(Body):
    """Redis, as the server sees it; null for what it does not report."""

    reachable: bool
    problem: str | None = None
    version: str | None = None
    maxmemory_policy: str | None = None
    maxmemory_bytes: int | None = None
    used_memory_bytes: int | None = None
    append_only: bool | None = None
    write_failed: bool | None = None
    """True if its last write to disk failed."""


class FolderFacts(Body):
    """The folder of the runs, as the server sees it."""

    path: str
    writable: bool
    problem: str | None = None
    free_bytes: int | None = None
    total_bytes: int | None = None


class SecretFile(Body):
    """A file with a token."""

    path: str
    mode: str
    """Octal, such as `600`."""


class SingleSignOnFacts(Body):
    """The provider of single sign-on, as the server finds it."""

    issuer: str
    redirect_uri: str
    """To be registered at the provider."""
    problem: str | None = None
    """Why its documents cannot be used; null where they can."""
    client_problem: str | None = None
    """Why it does not accept the client ID and secret; null where it does, or could not be asked."""
    accepts_redirect: bool | None = None
    """True if it knows the redirect address; null if it does not say."""
    ends_sessions: bool = False
    """True if a logout can end its session too."""
    clock_skew_seconds: float | None = None
    """Clock of the provider minus the server's."""


class WorkerFacts(Body):
    """A worker, as of its last heartbeat."""

    name: str
    host: str
    version: str
    online: bool
    seconds_since_heartbeat: float
    clock_skew_seconds: float | None = None
    """Clock of the worker minus the database's."""
    runs_dir_writable: bool | None = None
    sees_runs_dir: bool | None = None
    """True if its folder of runs is the server's."""
    runs_dir_free_bytes: int | None = None
    num_gpus: int = 0
    delivery: Delivery = "broker"
    """Channel by which it gets its runs."""


class Diagnosis(Body):
    """Facts about a server, for `bapo doctor`."""

    version: str
    now: datetime
    public_url: str
    hosts: Sequence[str]
    runs_dir_shared: bool
    dispatcher_alive: bool
    database: DatabaseFacts
    broker: BrokerFacts
    runs_dir: FolderFacts
    secret_files: Sequence[SecretFile]
    workers: Sequence[WorkerFacts]
    single_sign_on: SingleSignOnFacts | None = None
    """Null where it is not set up."""
