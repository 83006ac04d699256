"""A client that a generator makes of the description of the API, against a running server."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bapo.client import Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step
from tests.support.services import BackendServer

PACKAGE = "generated_bapo_client"


@pytest.fixture(scope="module")
def generated(admin: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The package, made from what the server says of itself."""
    folder = tmp_path_factory.mktemp("generated")
    document = folder / "openapi.json"
    document.write_bytes(admin.http.get("/openapi.json").content)
    options = ["--path", str(document), "--output-path", str(folder / PACKAGE), "--meta", "none"]
    # In a process of its own: it formats what it made with ruff. Warnings of the generator are failures.
    done = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", *options, "--fail-on-warning"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield importlib.import_module(PACKAGE)
    sys.path.remove(str(folder))


@contextmanager
def client_of(server: BackendServer, token: str | None) -> Iterator[Any]:
    made = importlib.import_module(f"{PACKAGE}.client")
    if token is None:
        client = made.Client(base_url=server.url)
    else:
        client = made.AuthenticatedClient(base_url=server.url, token=token)
    with client:
        yield client


def call(tag: str, operation: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.api.{tag}.{operation}").sync


def model(name: str) -> Any:
    return getattr(importlib.import_module(f"{PACKAGE}.models"), name)


@pytest.mark.api
@pytest.mark.usefixtures("generated")
def test_a_generated_client_logs_in_submits_lists_reads_and_stops(
    backend_server: BackendServer, worker: FakeWorker, admin: Client
) -> None:
    with client_of(backend_server, None) as nobody:
        me = call("account", "login")(client=nobody, body=model("Login")(token=backend_server.admin_token))
    assert (me.name, me.role.value) == ("admin", "admin")

    with client_of(backend_server, backend_server.admin_token) as client:
        changes = model("RunCreateChanges").from_dict({"method.c1": 0.25})
        body = model("RunCreate")(name="generated", recipe="countdown-demo", changes=changes, tags=["made"])
        run = call("runs", "create_run")(client=client, body=body, idempotency_key="once")
        again = call("runs", "create_run")(client=client, body=body, idempotency_key="once")
        assert (run.id, run.status.value, run.diff.to_dict()) == (again.id, "queued", {"method.c1": [0.125, 0.25]})

        page = call("runs", "list_runs")(client=client, tag=["made"], limit=10)
        assert [each.id for each in page.items] == [run.id]
        assert page.total == 1

        claim = worker.begin(admin.run(run.id))
        worker.upload(claim, [step(1, reward_mean=0.25), step(2, reward_mean=0.5), evaluation(2, 0.25)])
        series = call("records", "get_metrics")(client=client, run_id=run.id, keys="critic/rewards/mean")
        assert series.steps == [1, 2]
        assert series.columns.to_dict() == {"critic/rewards/mean": [0.25, 0.5]}

        assert call("runs", "stop_run")(client=client, run_id=run.id).status.value == "stopping"


@pytest.mark.api
@pytest.mark.usefixtures("generated")
def test_its_refusals_are_typed(backend_server: BackendServer) -> None:
    with client_of(backend_server, backend_server.admin_token) as client:
        missing = call("runs", "get_run")(client=client, run_id="nothing")
        assert isinstance(missing, model("ErrorBody"))
        assert missing.code == "not_found"
        changes = model("RunCreateChanges").from_dict({"method.c1": 7, "method.v": 0})
        refused = call("runs", "create_run")(client=client, body=model("RunCreate")(name="x", changes=changes))
        assert {problem.field for problem in refused.problems} == {"method.c1", "method.v"}
    with client_of(backend_server, "not a token") as stranger:
        assert call("account", "me")(client=stranger).code == "not_authenticated"


def test_operations_keep_their_names(admin: Client) -> None:
    document = admin.http.get("/openapi.json").json()
    known = json.loads((Path(__file__).parent / "operations.json").read_text())
    found = {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    # A client that was generated last year goes on working: names and addresses stay, others may come.
    changed = {name: place for name, place in known.items() if found.get(name) != place}
    assert not changed
