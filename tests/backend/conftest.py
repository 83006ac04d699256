"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from tests.support.services import BackendServer, RedisServer, new_database, running_backend


@pytest.fixture
def server(postgres_server: str, redis_server: RedisServer, tmp_path: Path) -> Iterator[BackendServer]:
    """A server with a database of its own, so that nobody else's runs wait."""
    redis_server.client.flushall()
    with new_database(postgres_server) as url, running_backend(url, tmp_path, redis_server.url) as server:
        yield server


@pytest.fixture
def people(server: BackendServer) -> Iterator[Client]:
    """Its administrator."""
    with server.client() as client:
        yield client


@pytest.fixture
def run(admin: Client) -> RunDetail:
    """A queued run of the demo."""
    return admin.create_run(RunCreate(name="demo", recipe="countdown-demo"))
