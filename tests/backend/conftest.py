"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bapo.api import RunCreate, RunDetail
from bapo.client import Client
from tests.backend.fake_worker import FakeWorker
from tests.services import BackendServer


@pytest.fixture(scope="module")
def worker(backend_server: BackendServer) -> Iterator[FakeWorker]:
    """The one worker of the module; it takes every run."""
    worker = FakeWorker(backend_server)
    yield worker
    worker.close()


@pytest.fixture
def run(admin: Client) -> RunDetail:
    """A queued run of the demo."""
    return admin.create_run(RunCreate(name="demo", recipe="countdown-demo"))
