"""The client over cuts: what is sent again, what is followed on, what is waited for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bapo.api.records import StreamEvent
from bapo.api.runs import RunCreate, RunDetail, RunStatus
from bapo.client import ApiError, AsyncClient, BapoError, Client, UnreachableError
from bapo.client.call import Retries
from tests.support.fake_worker import FakeWorker
from tests.support.journals import step
from tests.support.refusals import refuses
from tests.support.services import BackendServer, wait_until
from tests.support.waiting import PATIENCE_SECONDS

FAST = Retries(count=3, first_seconds=0.01, most_seconds=0.02)


class Shaky(HTTPServer):
    """Answers with these statuses, one after the other."""

    def __init__(self, statuses: Sequence[int]) -> None:
        super().__init__(("127.0.0.1", 0), ShakyHandler)
        self.statuses = list(statuses)
        self.seen: list[str] = []


class ShakyHandler(BaseHTTPRequestHandler):
    server: Shaky

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(f"{self.command} {self.headers.get('Idempotency-Key', '')}".strip())
        self.send_response(self.server.statuses.pop(0))
        self.end_headers()

    do_GET = _answer  # noqa: N815
    do_POST = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@contextmanager
def shaky(*statuses: int) -> Iterator[tuple[Shaky, Client]]:
    with Shaky(statuses) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with Client(f"http://127.0.0.1:{server.server_port}", token="t") as client:
            client.core.retries = FAST
            yield server, client
        server.shutdown()
        thread.join()


def test_reading_is_tried_again_until_it_is_answered() -> None:
    with shaky(503, 502, 404) as (server, client), refuses(404):
        client.run("x")
    assert server.seen == ["GET"] * 3


def test_it_is_given_up_after_the_retries() -> None:
    # 1 try and 3 more.
    with shaky(503, 503, 503, 503, 200) as (server, client), pytest.raises(ApiError) as refusal:
        client.run("x")
    assert refusal.value.is_passing
    assert len(server.seen) == 4


def test_a_submission_is_sent_again_with_its_key_and_an_action_is_not() -> None:
    with shaky(503, 409) as (server, client), pytest.raises(ApiError):
        client.create_run(RunCreate(name="x"), idempotency_key="k")
    assert server.seen == ["POST k", "POST k"]
    with shaky(503, 200) as (server, client), refuses(503):
        client.stop("x")
    assert server.seen == ["POST"]


def test_waits_double_and_what_the_server_asks_for_counts() -> None:
    retries = Retries(count=5, first_seconds=1.0, most_seconds=3.0)
    for tried, longest in ((0, 1.0), (1, 2.0), (2, 3.0), (3, 3.0)):
        assert all(longest / 2 <= retries.pause_seconds(tried) <= longest for _ in range(20))
    assert retries.wait_seconds("GET", {}, 4, None) is not None
    assert retries.wait_seconds("GET", {}, 5, None) is None
    assert retries.wait_seconds("DELETE", {}, 0, None) is None


def test_every_failure_is_one_kind_of_error(admin: Client) -> None:
    with Client("http://127.0.0.1:1") as nowhere, pytest.raises(BapoError) as away:
        nowhere.me()
    assert isinstance(away.value, UnreachableError)
    assert (away.value.code, away.value.field, away.value.request_id) == ("unreachable", None, None)
    assert str(away.value).startswith("http://127.0.0.1:1 cannot be reached (")
    with pytest.raises(BapoError) as wrong:
        admin.create_run(RunCreate(name="x", changes={"method.c1": 7}))
    error = wrong.value
    assert (error.code, error.field, error.value, error.is_passing) == ("invalid_config", "method.c1", 7, False)
    assert error.request_id
    assert [problem.field for problem in error.problems] == ["method.c1"]


def test_pages_are_walked_to_the_end(admin: Client) -> None:
    made = [admin.create_run(RunCreate(name=f"page {index}", tags=["walked"], start=False)).id for index in range(5)]
    pages = list(admin.pages(admin.runs, tag="walked", limit=2))
    assert [len(page.items) for page in pages] == [2, 2, 1]
    assert [run.id for page in pages for run in page.items] == made[::-1]


class Gate:
    """A TCP proxy in front of a server, whose connections can be cut."""

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._pairs: list[socket.socket] = []
        self.num_connections = 0
        self.is_open = True
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self.is_open:
                near.close()
                continue
            self.num_connections += 1
            far = socket.create_connection(self._target)
            self._pairs += [near, far]
            for source, sink in ((near, far), (far, near)):
                thread = threading.Thread(target=self._pump, args=(source, sink))
                thread.start()
                self._threads.append(thread)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        for each in self._pairs:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()
        for each in self._pairs:
            each.close()


@pytest.fixture
def gate(backend_server: BackendServer) -> Iterator[Gate]:
    gate = Gate(backend_server.url)
    yield gate
    gate.close()


def test_events_go_on_after_cuts_none_left_out_and_none_twice(
    backend_server: BackendServer, gate: Gate, worker: FakeWorker, run: RunDetail
) -> None:
    claim = worker.begin(run)
    seen: list[StreamEvent] = []
    cuts: list[BapoError | None] = []

    def listen() -> None:
        with Client(gate.url, token=backend_server.admin_token) as client:
            for event in client.follow(run.id, on_cut=cuts.append):
                seen.append(event)

    listening = threading.Thread(target=listen)
    listening.start()
    wait_until(lambda: bool(seen))
    for number in range(1, 7):
        if number % 2:
            gate.is_open = number != 3
            gate.cut()
        worker.upload(claim, [step(number)])
        gate.is_open = True
    worker.report(claim, "succeeded")
    listening.join(PATIENCE_SECONDS)
    assert not listening.is_alive()
    covered = [
        number
        for event in seen
        if event.event == "step"
        for number in range(event.data["from_step"], event.data["step"] + 1)
    ]
    assert covered == [1, 2, 3, 4, 5, 6]
    assert seen[-1].data["status"] == "succeeded"
    assert cuts
    identifiers = [event.id for event in seen]
    assert identifiers == sorted(set(identifiers))


def test_waiting_ends_where_it_should(admin: Client, worker: FakeWorker, run: RunDetail) -> None:
    assert admin.wait(run.id, "queued").status == RunStatus.QUEUED
    claim = worker.begin(run)
    assert admin.wait(run.id, {"running", "paused"}, timeout_seconds=PATIENCE_SECONDS).status == RunStatus.RUNNING
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        admin.wait(run.id, timeout_seconds=0.2)
    worker.upload(claim, [step(1), step(2)])
    assert admin.wait(run.id, lambda now: now.step >= 2, timeout_seconds=PATIENCE_SECONDS).step == 2
    worker.report(claim, "failed", "out of memory")
    # Nothing will come after the end, whatever is waited for.
    assert admin.wait(run.id, "paused", timeout_seconds=PATIENCE_SECONDS).status_reason == "out of memory"


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_the_awaitable_client_does_the_same(
    backend_server: BackendServer, worker: FakeWorker, run: RunDetail
) -> None:
    claim = worker.begin(run)
    worker.upload(claim, [step(1)])
    worker.report(claim, "succeeded")
    async with AsyncClient(backend_server.url, token=backend_server.admin_token) as client:
        assert [event.data["status"] async for event in client.follow(run.id)] == ["succeeded"]
        assert (await client.wait(run.id)).status == RunStatus.SUCCEEDED
        pages = [page async for page in client.pages(client.runs, search=run.id, limit=1)]
        assert [each.id for page in pages for each in page.items] == [run.id]
        draft = await client.create_run(RunCreate(name="draft", start=False))
        with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
            await client.wait(draft.id, timeout_seconds=0.2)


def test_a_server_that_stays_away_is_given_up(backend_server: BackendServer, gate: Gate, run: RunDetail) -> None:
    with Client(gate.url, token=backend_server.admin_token) as client:
        following = client.follow(run.id, patience_seconds=0.0)
        assert next(following).event == "status"
        gate.is_open = False
        gate.cut()
        with pytest.raises(UnreachableError):
            next(following)


def test_the_environment_names_server_and_token(
    backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("BAPO_SERVER", backend_server.url)
    with pytest.raises(ValueError, match="no token for http://127"):
        Client.from_environment()
    monkeypatch.setenv("BAPO_TOKEN", backend_server.admin_token)
    with Client.from_environment() as client:
        assert client.me().name == "admin"
        assert client.core.retries.count > 0
