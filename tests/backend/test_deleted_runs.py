"""A run that is deleted is gone at once, whichever way it is asked for."""

from __future__ import annotations

from collections.abc import Container

import httpx
import pytest
from sqlalchemy import func, update

from backend.kit.database import Database
from backend.models import Run
from backend.readings.visits.cache import VisitCache
from backend.readings.what_if import RecordingCache
from bapo.api.readings import WhatIfRequest
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from tests.support.declared import ROUTES
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, sample, step, tracking
from tests.support.refusals import refuses
from tests.support.services import BackendServer, context_of, wait_until

QUERIES = {
    "metrics": "keys=actor/entropy",
    "metric-groups": "groups=actor/entropy",
    "migration": "from=1&to=2",
}
"""What an address of a run cannot be read without."""
OF_SEVERAL = (
    "/api/v1/metrics?run={run_id}&keys=actor/entropy",
    "/api/v1/compare?run={run_id}",
    "/api/v1/compare/curves?run={run_id}&keys=actor/entropy",
)


@pytest.fixture
def trained(admin: Client, worker: FakeWorker) -> RunDetail:
    """An ended run with records of every kind."""
    run = admin.create_run(RunCreate(name="to be deleted", recipe="countdown-demo"))
    claim = worker.begin(run)
    worker.upload(claim, [evaluation(0, 0.25), *map(step, (1, 2, 3)), tracking(3), evaluation(3, 0.5)])
    worker.upload(claim, [sample(1), sample(2)], "samples")
    worker.upload_lines(claim, ["a line"], "log")
    worker.report(claim, "succeeded")
    return admin.run(run.id)


def addresses(run_id: str) -> list[str]:
    """Every address that says something about a run."""
    found = []
    for permission, method, path in map(str.split, ROUTES.strip().splitlines()):
        if method == "GET" and permission == "read" and "{run_id}" in path:
            query = QUERIES.get(path.rpartition("/")[2])
            address = path.replace("{prompt_id:path}", "shared").replace("{artifact_id}", "nothing")
            address = address.replace("{chat_id}", "nothing")
            address = address.replace("{kind}", "never_solved")
            found.append(address + (f"?{query}" if query else ""))
    return [address.replace("{run_id}", run_id) for address in (*found, *OF_SEVERAL)]


def statuses(http: httpx.Client, run_id: str) -> dict[str, int]:
    """What each answers now."""
    found = {}
    for address in addresses(run_id):
        # The stream of events does not end: the status is enough.
        with http.stream("GET", address) as answer:
            found[address] = answer.status_code
    return found


def test_every_address_of_a_deleted_run_answers_404(
    admin: Client, trained: RunDetail, backend_server: BackendServer
) -> None:
    context = context_of(backend_server)
    headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
    with httpx.Client(base_url=backend_server.url, headers=headers, timeout=60) as http:
        before = statuses(http, trained.id)
        admin.what_if(trained.id, WhatIfRequest(set={"method.c1": "1/4"}))
        others = {address for address in before if "/artifacts/nothing" in address or "/chats/nothing" in address}
        assert {address: status for address, status in before.items() if status != 200} == dict.fromkeys(others, 404)
        assert trained.id in context.part(VisitCache)._entries
        assert trained.id in context.part(RecordingCache)._entries
        assert any(trained.id in question for question in context.answers._entries)

        admin.delete_run(trained.id)
        assert set(statuses(http, trained.id).values()) == {404}
        with refuses(404):
            admin.what_if(trained.id, WhatIfRequest(set={"method.c1": "1/4"}))
    # Nor does a list name it.
    assert trained.id not in {run.id for run in admin.runs(limit=500, archived="shown").items}


def test_a_kept_answer_is_not_given_before_the_server_hears_that_the_run_is_deleted(
    admin: Client, trained: RunDetail, backend_server: BackendServer
) -> None:
    admin.metrics(trained.id, ["actor/entropy"])
    assert any(trained.id in question for question in context_of(backend_server).answers._entries)
    # As another server deletes it, whose word is still on its way.
    database = Database(backend_server.settings.database_url)
    with database.session() as session, session.begin():
        session.execute(update(Run).where(Run.id == trained.id).values(trashed_at=func.now()))
    database.close()
    with refuses(404):
        admin.metrics(trained.id, ["actor/entropy"])


def test_what_was_kept_in_memory_goes_with_the_run(
    admin: Client, trained: RunDetail, backend_server: BackendServer
) -> None:
    context = context_of(backend_server)
    admin.metrics(trained.id, ["actor/entropy"])
    admin.what_if(trained.id, WhatIfRequest(set={"method.c1": "1/4"}))
    kept: list[Container[str]] = [context.part(VisitCache)._entries, context.part(RecordingCache)._entries]
    assert all(trained.id in each for each in kept)
    admin.delete_run(trained.id)
    wait_until(
        lambda: (
            all(trained.id not in each for each in kept)
            and not any(trained.id in question for question in context.answers._entries)
        )
    )


def test_a_stream_of_a_deleted_run_ends(admin: Client, trained: RunDetail, backend_server: BackendServer) -> None:
    headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
    with (
        httpx.Client(base_url=backend_server.url, headers=headers, timeout=60) as http,
        http.stream("GET", f"/api/v1/runs/{trained.id}/events") as answer,
    ):
        lines = answer.iter_lines()
        assert next(line for line in lines if line.startswith("event:")) == "event: status"
        admin.delete_run(trained.id)
        assert [line for line in lines if line.startswith("event:")] == []
