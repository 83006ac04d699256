"""The server's settings, read from environment variables."""

from __future__ import annotations

import ipaddress
import os
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import Field, ValidationInfo, field_validator

from backend.kit.outbound_addresses import AddressPolicy
from bapo.config.paths import PermittedFolders
from bapo.deploy.settings import BrokerAddress, PublicAddress, ServiceSettings, with_password

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class Settings(ServiceSettings):
    """Environment variables, each with the prefix `BAPO_`."""

    database_password_file: Path | None = None
    """File with the password of `BAPO_DATABASE_URL`, where the address itself holds none."""
    database_url: str
    """PostgreSQL database, as `postgresql+psycopg://user@host/name`."""
    broker_password_file: Path | None = None
    """File with the password of Redis, where its addresses hold none."""
    broker_url: BrokerAddress
    """Celery broker, `redis://…` or `redis+socket:///…`."""
    worker_broker_url: BrokerAddress = ""
    """Address of the broker for workers on other machines; defaults to `BAPO_BROKER_URL`."""
    runs_dir: Path
    """Folder of the run folders."""
    runs_dir_shared: bool = False
    """Whether all workers share `runs_dir`; otherwise a run stays on the host that started it."""
    admin_token_file: Path
    """File with the administrator's token; created with mode 600 if missing."""
    worker_token_file: Path
    """File with the token of the workers on this machine; created with mode 600 if missing."""
    metrics_token_file: Path | None = None
    """File with the token for `/metrics`; created with mode 600 if missing. If unset, only this machine may."""
    public_url: PublicAddress = "http://127.0.0.1:8000"
    """Public address of the dashboard; its host and origin are allowed."""
    allowed_hosts: str = ""
    """Additional host names that requests may use, separated by commas."""
    lease_seconds: float = Field(default=25.0, gt=0)
    """A run whose worker sends no heartbeat for this long is lost and queued again.
    """
    trusted_proxies: str = ""
    """Addresses or networks of dashboards and proxies whose `X-Forwarded-For` is trusted, separated by commas; those
    of this machine always are."""
    session_seconds: float = Field(default=30 * 86_400.0, gt=0)
    """Lifetime of a login."""
    login_code_seconds: float = Field(default=3_600.0, gt=0)
    """Lifetime of a one-time code."""
    password_link_seconds: float = Field(default=3 * 86_400.0, gt=0)
    """Lifetime of a password link."""
    max_attempts_without_progress: int = Field(default=3, ge=1)
    """A run fails after this many attempts in a row that completed no further step; a run's `resources.retries`
    takes precedence."""
    retry_delay_seconds: float = Field(default=10.0, ge=0)
    """Delay before a retry after two failures in a row without a further step; doubled after each further failure, up
    to sixteen times. After a full disk the delay is six times as long, from the first failure."""
    max_running_per_user: int | None = Field(default=None, ge=0)
    """Maximum runs per user on workers at a time; unlimited if unset. Administrators can set a user's own limit."""
    queue_patience_seconds: float = Field(default=4 * 3_600.0, gt=0)
    """A run that has waited longer starts before all younger runs of its priority, regardless of fair shares."""
    stream_retention_seconds: float = Field(default=86_400.0, gt=0)
    """How long an interrupted event stream can be resumed."""
    gpu_hour_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of a GPU-hour until an administrator sets prices on the page Prices; if unset, no costs of runs on GPUs are
    shown."""
    cpu_hour_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of a slot-hour on a machine without GPUs, likewise; if unset, no costs of runs on the CPU are shown."""
    currency: str = Field(default="USD", min_length=1, max_length=10)
    """Currency of these prices, an ISO 4217 code."""

    body_seconds: float = Field(default=60.0, gt=0)
    """Maximum time to receive the body of a request."""
    artifacts_dir: Path | None = None
    """Folder of the downloads, shared by all servers; defaults to `artifacts` beside `runs_dir`."""
    artifact_quota_bytes: int = Field(default=200_000_000_000, ge=1)
    """Maximum size of all downloads; beyond it, new ones are refused until others expire."""
    artifact_days: float = Field(default=7.0, gt=0)
    """Downloads expire after this many days; they can be requested again."""

    retention_samples_days: float | None = Field(default=None, gt=0)
    """Days after a run's end at which its sampled responses are deleted; never by default."""
    retention_log_days: float | None = Field(default=None, gt=0)
    """Days after a run's end at which its logs are deleted; never by default."""
    retention_checkpoints_days: float | None = Field(default=None, gt=0)
    """Days after a run's end at which its checkpoints are deleted; never by default."""
    retention_archived_days: float | None = Field(default=None, gt=0)
    """Days after archiving at which a run is deleted; never by default."""

    resource_roots: str = ""
    """Folders whose data sets, models and verifiers may be registered and named in configs, separated by the system's
    path separator; workers must see them under the same paths. Runs' folders and downloads are never among them."""

    webhook_allowed_hosts: str = ""
    """Internal receivers that webhooks may call: host names (`*.example.org` for all below), addresses and networks
    such as `10.1.0.0/16`, separated by commas. If unset, webhooks call public addresses only."""

    @field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, url: str, info: ValidationInfo) -> str:
        scheme, _, rest = url.partition("://")
        if scheme not in ("postgresql", "postgres", "postgresql+psycopg") or not rest:
            raise ValueError("only PostgreSQL is supported: use postgresql+psycopg://user:password@host:5432/name")
        return with_password(f"postgresql+psycopg://{rest}", info.data.get("database_password_file"))

    @field_validator("broker_url", "worker_broker_url")
    @classmethod
    def _has_its_password(cls, url: str, info: ValidationInfo) -> str:
        return with_password(url, info.data.get("broker_password_file"))

    @field_validator("webhook_allowed_hosts")
    @classmethod
    def _readable(cls, text: str) -> str:
        AddressPolicy.of(text)
        return text

    @cached_property
    def webhook_policy(self) -> AddressPolicy:
        """Addresses that webhooks may call."""
        return AddressPolicy.of(self.webhook_allowed_hosts)

    @cached_property
    def permitted_folders(self) -> PermittedFolders:
        """Folders whose files may be registered and named in configs, links followed."""
        return PermittedFolders(
            roots=[Path(root).resolve() for root in self.resource_roots.split(os.pathsep) if root.strip()],
            closed=[self.runs_dir.resolve(), self.artifact_store.resolve()],
        )

    @cached_property
    def artifact_store(self) -> Path:
        """Folder of the files that people download."""
        return self.artifacts_dir or self.runs_dir.parent / "artifacts"

    @cached_property
    def proxy_networks(self) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
        """Networks of the proxies that are believed. Raises ValueError for what is none."""
        named = (each.strip() for each in self.trusted_proxies.split(","))
        return tuple(ipaddress.ip_network(each, strict=False) for each in named if each)

    @property
    def secrets(self) -> list[str]:
        """Passwords within the addresses."""
        addresses = (self.database_url, self.broker_url, self.worker_broker_url)
        return [unquote(password) for url in addresses if (password := urlsplit(url).password)]

    @property
    def heartbeat_seconds(self) -> float:
        """Time between two heartbeats of a worker: several fit into a lease, and a stop is heard soon."""
        return min(2.0, self.lease_seconds / 5)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """Host names that a request may be addressed to, lower case, without ports."""
        named = (host.strip().lower() for host in self.allowed_hosts.split(","))
        public = urlsplit(self.public_url).hostname
        return LOOPBACK_HOSTS | {host for host in named if host} | ({public} if public else set())

    @cached_property
    def origins(self) -> frozenset[str]:
        """Origins of our own pages."""
        parts = urlsplit(self.public_url)
        return frozenset({f"{parts.scheme}://{parts.netloc}".lower()})
