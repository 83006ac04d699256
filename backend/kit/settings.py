"""The server's settings, read from environment variables."""

from __future__ import annotations

import ipaddress
import os
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pydantic import Field, field_validator

from backend.kit.outbound_addresses import AddressPolicy
from backend.kit.prices import Prices
from bapo.deploy.settings import ServiceSettings

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


BROKER_SCHEMES = ("redis", "rediss", "redis+socket")


class Settings(ServiceSettings):
    """Environment variables, each with the prefix `BAPO_`."""

    database_url: str
    """PostgreSQL, as `postgresql+psycopg://user@host/name`."""
    broker_url: str
    """Celery's broker, `redis://…` or `redis+socket:///…`."""
    worker_broker_url: str = ""
    """The same broker as workers on other machines reach it; without it they are given `BAPO_BROKER_URL`."""
    runs_dir: Path
    """Folder that holds the runs' folders."""
    runs_dir_shared: bool = False
    """Whether all workers see the same `runs_dir`; otherwise a run stays on the host that began it."""
    admin_token_file: Path
    """Holds the administrator's token; created with mode 600 where missing."""
    worker_token_file: Path
    """Holds the token of the workers on this machine; created with mode 600 where missing."""
    metrics_token_file: Path | None = None
    """Holds the token that reads `/metrics`; created with mode 600 where missing. Without it only this machine may."""
    public_url: str = "http://127.0.0.1:8000"
    """Address that people type: its host and origin are allowed."""
    allowed_hosts: str = ""
    """More host names that requests may name, separated by commas."""
    lease_seconds: float = Field(default=25.0, gt=0)
    """A run whose worker is silent for longer is lost and queued again: with the second between two looks, within 30 s.
    """
    trusted_proxies: str = ""
    """Addresses or networks of dashboards and proxies whose `X-Forwarded-For` is believed, separated by commas; those
    of this machine always are."""
    session_seconds: float = Field(default=30 * 86_400.0, gt=0)
    """How long a login lasts."""
    login_code_seconds: float = Field(default=3_600.0, gt=0)
    """How long a one-time code is good for."""
    password_link_seconds: float = Field(default=3 * 86_400.0, gt=0)
    """How long a link to set a password is good for."""
    max_attempts_without_progress: int = Field(default=3, ge=1)
    """A run that its machines failed this often in a row, without completing a further step, has failed; a run's
    `resources.retries` goes before."""
    retry_delay_seconds: float = Field(default=10.0, ge=0)
    """How long a run waits that its machines failed twice in a row without a further step; twice as long after each
    further time, and at most sixteen times as long. After a full disk it waits six times as long, from the first on."""
    max_running_per_user: int | None = Field(default=None, ge=0)
    """Most runs of one person that workers hold at a time; without it no limit. Administrators set a person's own."""
    queue_patience_seconds: float = Field(default=4 * 3_600.0, gt=0)
    """A run that has waited longer comes before all younger ones of its priority, whoever has how much."""
    stream_retention_seconds: float = Field(default=86_400.0, gt=0)
    """How long an interrupted event stream can be taken up again."""
    gpu_hour_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of one hour of one GPU; without it no costs of runs on GPUs are shown."""
    cpu_hour_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Price of one hour of one slot of a machine without GPUs; without it no costs of runs on the CPU are shown."""
    currency: str = Field(default="USD", min_length=1, max_length=10)
    """What the prices are in."""

    body_seconds: float = Field(default=60.0, gt=0)
    """How long the body of a request may take to come in."""
    artifacts_dir: Path | None = None
    """Folder of the files that people download, which all servers share; by default `artifacts` beside `runs_dir`."""
    artifact_quota_bytes: int = Field(default=200_000_000_000, ge=1)
    """What all downloads together may take up; with more, the next one is refused until others have gone."""
    artifact_days: float = Field(default=7.0, gt=0)
    """A download goes by itself after so many days; it can be asked for again."""

    retention_samples_days: float | None = Field(default=None, gt=0)
    """Responses kept as text go so many days after a run has ended; by default never."""
    retention_log_days: float | None = Field(default=None, gt=0)
    """Logs go so many days after a run has ended; by default never."""
    retention_checkpoints_days: float | None = Field(default=None, gt=0)
    """Checkpoints go so many days after a run has ended; by default never."""
    retention_archived_days: float | None = Field(default=None, gt=0)
    """Archived runs are deleted after so many days in the archive; by default never."""

    resource_roots: str = ""
    """Folders beneath which data sets, models and verifiers may be registered, separated by the system's path
    separator; the workers must see them under the same paths."""

    webhook_allowed_hosts: str = ""
    """Receivers of webhooks that may be inside: host names (`*.example.org` for all beneath), addresses and networks
    such as `10.1.0.0/16`, separated by commas. Without it only public addresses are reached."""

    @field_validator("database_url")
    @classmethod
    def _is_postgresql(cls, url: str) -> str:
        scheme, _, rest = url.partition("://")
        if scheme not in ("postgresql", "postgres", "postgresql+psycopg") or not rest:
            raise ValueError("only PostgreSQL is supported: use postgresql+psycopg://user:password@host:5432/name")
        return f"postgresql+psycopg://{rest}"

    @field_validator("broker_url", "worker_broker_url")
    @classmethod
    def _is_redis(cls, url: str) -> str:
        if url and url.partition("://")[0] not in BROKER_SCHEMES:
            raise ValueError(
                "the broker must be Redis: use redis://:password@host:6379/0, rediss://… or redis+socket://…"
            )
        return url

    @field_validator("public_url")
    @classmethod
    def _is_an_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("give the public address, such as https://bapo.example.org")
        return url

    @field_validator("webhook_allowed_hosts")
    @classmethod
    def _readable(cls, text: str) -> str:
        AddressPolicy.of(text)
        return text

    @cached_property
    def webhook_policy(self) -> AddressPolicy:
        """Where webhooks may lead."""
        return AddressPolicy.of(self.webhook_allowed_hosts)

    @cached_property
    def permitted_roots(self) -> tuple[Path, ...]:
        """The folders beneath which resources may lie, links followed."""
        return tuple(Path(root).resolve() for root in self.resource_roots.split(os.pathsep) if root.strip())

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
    def prices(self) -> Prices:
        """What an hour of compute costs here."""
        return Prices(self.gpu_hour_price, self.cpu_hour_price, self.currency)

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
