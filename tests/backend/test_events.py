"""Event streams, over a real connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import anyio
import httpx
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from backend.kit import events
from backend.kit.database import Database
from backend.notices.events import endpoints, hub
from bapo.api.records import StreamEvent
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import ApiError, AsyncClient, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, event, step, tracking
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person, running_backend, wait_until
from tests.support.waiting import PATIENCE_SECONDS


def until(events: Iterator[StreamEvent], name: str) -> list[StreamEvent]:
    """Events up to the first of this name."""
    found = []
    for each in events:
        found.append(each)
        if each.event == name:
            return found
    raise AssertionError(f"the stream ended before {name}: {found}")


def test_a_stream_begins_with_how_the_run_stands(admin: Client, run: RunDetail) -> None:
    with admin.events(run.id) as events:
        first = next(events)
    assert first.event == "status"
    assert first.data["run_id"] == run.id
    assert (first.data["status"], first.data["step"], first.data["num_steps"]) == ("queued", 0, 150)


def test_what_is_stored_is_announced_in_order(
    backend_server: BackendServer, worker: FakeWorker, admin: Client, run: RunDetail
) -> None:
    claim = worker.begin(run)
    with backend_server.client() as reader, reader.events(run.id) as events:
        next(events)
        worker.upload(claim, [step(1), step(2)])
        worker.upload(claim, [evaluation(2, 0.3), tracking(2), event("checkpoint", 2)])
        worker.report(claim, "succeeded")
        found = until(events, "status")
    assert [each.event for each in found] == ["step", "evaluation", "tracking", "event", "status"]
    assert [each.id for each in found] == sorted({each.id for each in found})
    assert found[0].data == {
        "run_id": run.id,
        "from_step": 1,
        "step": 2,
        "num_steps": 150,
        "num_rollouts": 512,
        "reward_mean": 0.5,
    }
    assert found[1].data["dataset"] == "CD-34"
    assert found[3].data["event"] == "checkpoint"
    assert found[4].data["status"] == "succeeded"


def test_a_break_is_made_up_for(backend_server: BackendServer, worker: FakeWorker, run: RunDetail) -> None:
    claim = worker.begin(run)
    with backend_server.client() as reader:
        with reader.events(run.id) as events:
            last_id = next(events).id
        for number in (1, 2, 3):
            worker.upload(claim, [step(number)])
        with reader.events(run.id, last_id) as events:
            missed = [next(events) for _ in range(3)]
            worker.upload(claim, [step(4)])
            live = next(events)
    assert [each.data["step"] for each in missed] == [1, 2, 3]
    assert live.data["step"] == 4
    with backend_server.client() as reader, reader.events(run.id, missed[1].id) as events:
        assert [next(events).data["step"] for _ in range(2)] == [3, 4]


@pytest.mark.parametrize("in_header", [True, False])
def test_a_stream_goes_on_from_the_run_that_was_read(
    backend_server: BackendServer, worker: FakeWorker, run: RunDetail, in_header: bool
) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1)])
    with backend_server.client() as reader:
        read = reader.run(run.id)
        assert read.step == 1
        worker.upload(claim, [step(2)])
        headers = {"Last-Event-ID": str(read.last_event_id)} if in_header else {}
        params = {"after": 0 if in_header else read.last_event_id}
        with reader.http.stream("GET", f"runs/{run.id}/events", headers=headers, params=params) as answer:
            data = next(line for line in answer.iter_lines() if line.startswith("data:"))
    assert json.loads(data.removeprefix("data:"))["step"] == 2


def test_all_runs_share_a_stream(backend_server: BackendServer, admin: Client) -> None:
    with backend_server.client() as reader, reader.events() as events:
        ids = {admin.create_run(RunCreate(name="x", start=False)).id for _ in range(2)}
        seen: set[str] = set()
        for each in events:
            seen.add(each.data["run_id"])
            if ids <= seen:
                break


def test_a_stream_of_one_run_is_silent_about_others(
    backend_server: BackendServer, admin: Client, worker: FakeWorker, run: RunDetail
) -> None:
    claim = worker.begin(run)
    with backend_server.client() as reader, reader.events(run.id) as events:
        next(events)
        admin.create_run(RunCreate(name="other", start=False))
        worker.upload(claim, [step(1)])
        assert next(events).event == "step"


def test_an_unknown_run_has_no_stream(admin: Client) -> None:
    with pytest.raises(ApiError) as refusal, admin.events("nothing"):
        pass
    assert refusal.value.status == 404


async def _read_async(server: BackendServer, run_id: str) -> StreamEvent:
    async with AsyncClient(server.url, token=server.admin_token) as client:
        assert (await client.run(run_id)).id == run_id
        async with client.events(run_id) as events:
            return await anext(events)


def test_the_awaitable_client_reads_the_same(backend_server: BackendServer, run: RunDetail) -> None:
    assert anyio.run(_read_async, backend_server, run.id).data["run_id"] == run.id


def test_every_new_step_is_seen_in_order(
    backend_server: BackendServer, worker: FakeWorker, admin: Client, run: RunDetail
) -> None:
    claim = worker.begin(run)
    seen: list[int] = []
    opened = threading.Event()

    def read() -> None:
        with backend_server.client() as reader, reader.events(run.id) as events:
            next(events)
            opened.set()
            for each in events:
                if each.event == "step":
                    seen.append(each.data["step"])
                if each.data["step"] == 20:
                    return

    reader = threading.Thread(target=read)
    reader.start()
    assert opened.wait(PATIENCE_SECONDS)
    for number in range(1, 21):
        worker.upload(claim, [step(number)])
    reader.join()
    assert seen == list(range(1, 21))


def second_server(first: BackendServer, folder: Path) -> AbstractContextManager[BackendServer]:
    """Another server of the same deployment, with the same tokens."""
    settings = first.settings
    return running_backend(
        settings.database_url,
        folder,
        settings.broker_url,
        admin_token_file=settings.admin_token_file,
        worker_token_file=settings.worker_token_file,
    )


def test_two_servers_share_their_events(
    backend_server: BackendServer, tmp_path_factory: pytest.TempPathFactory, admin: Client
) -> None:
    second = second_server(backend_server, tmp_path_factory.mktemp("second"))
    with second as other, other.client() as reader, reader.events() as events:
        run = admin.create_run(RunCreate(name="x", start=False))
        assert next(each for each in events if each.data["run_id"] == run.id).event == "status"


def test_the_listener_comes_back(
    backend_server: BackendServer, database: Database, worker: FakeWorker, run: RunDetail
) -> None:
    claim = worker.begin(run)
    with backend_server.client() as reader, reader.events(run.id) as events:
        next(events)
        with database.engine.begin() as connection:
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            connection.execute(text(query))
        worker.upload(claim, [step(1)])
        assert next(events).data["step"] == 1


def test_a_server_that_stops_ends_its_streams(
    backend_server: BackendServer, tmp_path_factory: pytest.TempPathFactory, run: RunDetail
) -> None:
    third = second_server(backend_server, tmp_path_factory.mktemp("third"))
    # Of one run: others may be lost meanwhile, which a stream of all runs tells.
    with third as server, server.client() as client, client.events(run.id) as events:
        assert next(events).event == "status"
        server.server.stop()
        assert list(events) == []


def test_streams_say_that_they_are_alive(
    backend_server: BackendServer, run: RunDetail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.notices.events.endpoints.SILENCE_SECONDS", 0.02)
    headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
    address = f"{backend_server.url}/api/v1/runs/{run.id}/events"
    with httpx.stream("GET", address, headers=headers, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert any(line == ": still here" for line in answer.iter_lines())


def test_streams_of_one_person_are_bounded_and_keep_nobody_else_out(
    backend_server: BackendServer, run: RunDetail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MOST_OF_PERSON", 2)
    token = add_person(backend_server, "greedy")
    with backend_server.client(token) as greedy, backend_server.client() as other, ExitStack() as opened:
        for _ in range(2):
            next(opened.enter_context(greedy.events(run.id)))
        with refuses(429, "too_many_streams"), greedy.events(run.id) as events:
            next(events)
        with other.events(run.id) as events:
            assert next(events).event == "status"
        opened.close()
        wait_until(lambda: _opens(greedy, run.id))


def _opens(client: Client, run_id: str) -> bool:
    try:
        with client.events(run_id) as events:
            return next(events).event == "status"
    except ApiError:
        return False


def test_streams_that_were_let_in_at_once_end_beyond_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "MOST_OF_PERSON", 1)

    async def ends() -> list[bool]:
        listening = hub.EventHub(Database("postgresql+psycopg://nobody@localhost/none"))
        async with (
            listening.subscribe("a", None) as first,
            listening.subscribe("a", None) as second,
            listening.subscribe("b", None) as third,
        ):
            return [await _has_ended(each) for each in (first, second, third)]

    assert anyio.run(ends) == [False, True, False]


def test_a_server_starts_although_its_database_restarts_meanwhile(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "RECONNECT_SECONDS", 0.01)
    database = Database(postgres_url)
    starting = hub.EventHub(database)
    killed = iter([OperationalError("SELECT max(id)", {}, Exception("the connection is closed"))])
    latest_id = events.latest_id

    def latest(session: Session) -> int:
        # The connection that listens is there; that of the first query is not.
        for error in killed:
            raise error
        return latest_id(session)

    monkeypatch.setattr(events, "latest_id", latest)

    async def start() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with starting.running():
                pass

    anyio.run(start)
    database.close()


async def _has_ended(subscription: hub.Subscription) -> bool:
    try:
        return await subscription.next(0.01) is None
    except TimeoutError:
        return False


def test_old_events_are_forgotten(backend_server: BackendServer, database: Database, admin: Client) -> None:
    admin.create_run(RunCreate(name="x", start=False))
    with database.session() as session, session.begin():
        events.prune(session, 3600)
        old = {event.id for event in events.events_after(session, 0, None)}
        assert old
        events.prune(session, -1)
        # The server may announce another meanwhile.
        assert old.isdisjoint(event.id for event in events.events_after(session, 0, None))


def test_what_is_rolled_back_is_not_announced(
    backend_server: BackendServer, database: Database, admin: Client, run: RunDetail
) -> None:
    with database.session() as session:
        # Of this run: the server may lose another test's run meanwhile.
        before = events.events_after(session, 0, run.id)
        events.announce(session, run.id, "status", {})
        session.rollback()
        session.commit()
        assert events.events_after(session, 0, run.id) == before != []
    wait_until(lambda: admin.run(run.id).id == run.id)
