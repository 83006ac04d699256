"""The database goes away; many ask at once; a route fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest

from bapo.api.runs import RunCreate
from bapo.client import AsyncClient, Client
from tests.support.refusals import refuses
from tests.support.services import BackendServer, new_database, running_backend


def test_a_database_that_is_away_is_no_fault_of_the_request(postgres_server: str, tmp_path: Path) -> None:
    with new_database(postgres_server) as url:
        entered = running_backend(url, tmp_path)
        server = entered.__enter__()
    # The database is dropped now, under the running server.
    try:
        with server.client() as client, refuses(503, "database_unavailable"):
            client.me()
        with server.http() as http:
            assert http.get("/healthz").status_code == 200
            answer = http.get("/readyz")
            assert (answer.status_code, answer.json()["ready"]) == (503, False)
    finally:
        entered.__exit__(None, None, None)


async def _ask_at_once(server: BackendServer, times: int) -> list[str]:
    async with AsyncClient(server.url, token=server.admin_token) as client:
        created = await asyncio.gather(*(client.create_run(RunCreate(name=str(i))) for i in range(times)))
        return [run.name for run in created]


def test_a_hundred_requests_at_once_are_answered(backend_server: BackendServer, admin: Client) -> None:
    names = anyio.run(_ask_at_once, backend_server, 100)
    assert names == [str(i) for i in range(100)]
    assert admin.runs(limit=1).total >= 100


def test_a_fault_of_ours_names_the_request_and_nothing_else(
    backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("the secret is amaranth")

    monkeypatch.setattr("backend.launch.configs.endpoints.shipped_recipes", fail)
    with backend_server.http() as http:
        headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
        answer = http.get("/api/v1/recipes", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "amaranth" not in answer.text
    (record,) = [record for record in caplog.records if record.message == "request failed"]
    assert vars(record)["request_id"] == answer.json()["request_id"]
    assert "the secret is amaranth" in caplog.text
