"""What machines watch: health, readiness, metrics; and what the log says of a request."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client import CollectorRegistry, Counter
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from backend.fleet.dispatch.dispatcher import Dispatcher
from backend.kit.database import Database
from backend.kit.instruments import count_on_commit
from backend.ops.metrics import reason_label
from backend.ops.readiness import STUCK_SECONDS
from bapo.api.runs import RunCreate
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import step
from tests.support.services import BackendServer, RedisServer, context_of, new_database, running_backend, wait_until


@pytest.fixture(scope="module")
def server(
    postgres_url: str, redis_server: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BackendServer]:
    """A server with a broker."""
    with running_backend(postgres_url, tmp_path_factory.mktemp("backend"), redis_server.url) as server:
        yield server


def readiness(server: BackendServer) -> tuple[int, dict[str, bool]]:
    with server.http() as http:
        answer = http.get("/readyz")
    return answer.status_code, {check["name"]: check["ok"] for check in answer.json()["checks"]}


def test_a_whole_server_is_ready(server: BackendServer) -> None:
    wait_until(lambda: readiness(server)[0] == 200)
    assert readiness(server)[1] == {"database": True, "schema": True, "dispatcher": True, "broker": True}


def test_an_idle_connection_lives_longer_than_in_the_pools_of_its_clients(server: BackendServer) -> None:
    kept_by_clients = httpx.Limits().keepalive_expiry
    assert kept_by_clients is not None
    assert server.server.config.timeout_keep_alive > 2 * kept_by_clients


def test_a_broker_that_is_away_is_named_and_comes_back(server: BackendServer, redis_server: RedisServer) -> None:
    wait_until(lambda: readiness(server)[0] == 200)
    redis_server.stop()
    try:
        wait_until(
            lambda: readiness(server) == (503, {"database": True, "schema": True, "dispatcher": True, "broker": False})
        )
        with server.http() as http:
            assert http.get("/healthz").status_code == 200
    finally:
        redis_server.start()
    wait_until(lambda: readiness(server)[0] == 200)


def test_a_dispatcher_that_is_stuck_is_named(server: BackendServer, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = context_of(server).part(Dispatcher)
    monkeypatch.setattr(dispatcher, "seconds_in_round", lambda: STUCK_SECONDS + 1)
    wait_until(lambda: readiness(server)[1].get("dispatcher") is False)


def samples(text: str) -> dict[str, float]:
    """Every sample by its name and labels."""
    return {
        sample.name + "".join(f"|{name}={value}" for name, value in sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(server: BackendServer, **headers: str) -> httpx.Response:
    with server.http() as http:
        return http.get("/metrics", headers=headers)


def test_metrics_tell_what_happens_without_naming_anybody(server: BackendServer) -> None:
    before = samples(scrape(server).text)
    name = "somebodys-secret-plan"
    with server.client() as client:
        worker = FakeWorker(server)
        run = client.create_run(RunCreate(name=name, recipe="countdown-demo"))
        claim = worker.begin(run)
        worker.upload(claim, [step(1), step(2)])
        client.run(run.id)
        client.run(run.id)
        with pytest.raises(ApiError):
            client.run("nobody")
        worker.close()
    text = scrape(server).text
    after = samples(text)

    def more(key: str) -> float:
        return after[key] - before.get(key, 0.0)

    route = "|method=GET|route=/api/v1/runs/{run_id}"
    assert more(f"bapo_http_requests_total{route}|status=200") == 2
    assert more(f"bapo_http_requests_total{route}|status=404") == 1
    assert more(f"bapo_http_request_seconds_count{route}") == 3
    assert more("bapo_ingest_lines_total|kind=records") == 2
    assert more("bapo_ingest_points_total") > 2
    assert more("bapo_ingest_bytes_total|kind=records") > 100
    assert after["bapo_runs|status=running"] >= 1
    assert after["bapo_workers|state=online"] == 1
    assert after["bapo_worker_slots"] == 100
    assert after["bapo_worker_slots_busy"] >= 1
    assert after["bapo_dispatcher_leader"] == 1
    assert after["bapo_database_up"] == 1
    assert after["bapo_queue_runs|reason=no_worker"] == 0
    assert after["bapo_database_max_connections"] > after["bapo_database_connections"] > 0
    assert name not in text
    assert run.id not in text
    assert "admin" not in text


def test_a_path_that_no_route_takes_makes_no_label(server: BackendServer) -> None:
    with server.client() as client:
        client.http.get("http://ignored.example/".replace("http://ignored.example", server.url) + "a-made-up-path")
    assert "a-made-up-path" not in scrape(server).text


def test_an_event_stream_is_counted_while_it_is_open(server: BackendServer) -> None:
    def streams() -> float:
        return samples(scrape(server).text)["bapo_event_streams"]

    with server.client() as client, client.events():
        wait_until(lambda: streams() == 1)
    wait_until(lambda: streams() == 0)


def test_without_a_token_only_this_machine_reads_the_metrics(server: BackendServer) -> None:
    assert scrape(server).status_code == 200
    for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        answer = scrape(server, **{header: "203.0.113.7"})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_with_a_token_nothing_else_reads_the_metrics(postgres_server: str, tmp_path: Path) -> None:
    file = tmp_path / "metrics-token"
    with (
        new_database(postgres_server) as url,
        running_backend(url, tmp_path, metrics_token_file=file) as guarded,
    ):
        assert file.stat().st_mode & 0o777 == 0o600
        assert scrape(guarded).status_code == 401
        for wrong in (guarded.admin_token, guarded.worker_token, "x"):
            assert scrape(guarded, Authorization=f"Bearer {wrong}").status_code == 401
        assert scrape(guarded, Authorization=f"Bearer {file.read_text().strip()}").status_code == 200
        with guarded.http() as http:
            headers = {"Authorization": f"Bearer {file.read_text().strip()}"}
            assert http.get("/api/v1/runs", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        ("", "promised"),
        ("waits for a worker: none is connected", "no_worker"),
        ("waits for a free slot", "no_free_slot"),
        ("waits for a worker on box, which has its folder", "folder_elsewhere"),
        ("held by Ada", "held"),
        ("waits: ada has 2 of 2 runs", "limit"),
        ("needs 4 GPUs, and no connected worker has that many: box has 2", "needs"),
        ("will be retried at 03:04:05 UTC: waits for a free slot", "tried_again_later"),
        ("something new", "other"),
    ],
)
def test_a_reason_becomes_one_of_a_few_labels(reason: str, label: str) -> None:
    assert reason_label(reason) == label


def test_a_change_is_logged_with_who_and_which_run(server: BackendServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "backend")
    with server.client() as client:
        run = client.create_run(RunCreate(name="logged", recipe="countdown-demo"))
        me = client.me().id
        client.http.headers["X-Request-ID"] = "from-the-caller"
        client.star(run.id)

    def told() -> list[dict[str, object]]:
        return [found for found in map(vars, caplog.records) if found.get("request_id") == "from-the-caller"]

    # The line is written after the answer.
    wait_until(lambda: bool(told()))
    (facts,) = told()
    assert (facts["user_id"], facts["run_id"], facts["request_id"]) == (me, run.id, "from-the-caller")
    assert (facts["method"], facts["status"]) == ("PUT", 204)


def test_the_diagnosis_is_for_administrators(server: BackendServer) -> None:
    with server.client() as client:
        found = client.diagnosis()
    assert found.database.revision == found.database.needed_revision
    assert found.broker.reachable
    assert found.broker.append_only is False
    assert found.runs_dir.writable
    assert {file.mode for file in found.secret_files} == {"600"}
    with Client(server.url, token=server.worker_token) as worker, pytest.raises(ApiError, match="HTTP 403"):
        worker.diagnosis()


def test_what_is_rolled_back_is_not_counted(database: Database) -> None:
    registry = CollectorRegistry()
    counter = Counter("tried", "Of this test.", registry=registry)
    with database.session() as session:
        session.begin()
        count_on_commit(session, counter, 3)
        session.rollback()
    assert registry.get_sample_value("tried_total") == 0
    with database.session() as session, session.begin():
        session.execute(select(1))
        count_on_commit(session, counter, 2)
    assert registry.get_sample_value("tried_total") == 2
