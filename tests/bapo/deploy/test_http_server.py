"""What comes before a request is bounded: a head without an end holds up nobody, a slow one not for long."""

from __future__ import annotations

import asyncio
import gc
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from bapo.deploy import http_server
from bapo.deploy.http_server import MAX_FRAMING_BYTES, MAX_HEAD_BYTES, OPEN_FILES, BoundedHttp, Server, listen
from tests.support.serving import serving
from tests.support.waiting import wait_until

READ_BYTES = 262_144
"""What asyncio reads at once, at most."""


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await PlainTextResponse("hello")(scope, receive, send)


@pytest.fixture(scope="module")
def address() -> Iterator[httpx.URL]:
    with serving(hello) as url:
        yield httpx.URL(url)


def connect(address: httpx.URL) -> socket.socket:
    return socket.create_connection((address.host, address.port or 80), timeout=60)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def test_a_head_of_the_usual_size_is_served(address: httpx.URL) -> None:
    with httpx.Client(base_url=address, timeout=60) as client:
        for _ in range(3):
            assert client.get("/", headers={"X-Long": "x" * 30_000}).text == "hello"


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\nX-Long: ", b"GET /"])
def test_a_head_without_an_end_is_refused_while_it_comes_in(address: httpx.URL, start: bytes) -> None:
    with connect(address) as connection:
        connection.sendall(start)
        sent = 0
        try:
            while sent < 50_000_000:
                sent += connection.send(b"x" * 10_000)
            answer = connection.recv(1000)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""
        # What lies in the kernel's buffers was sent too.
        assert sent < MAX_HEAD_BYTES + READ_BYTES + 10_000_000
        assert not answer or status_of(answer) in (400, 431)


CHUNKED = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"


async def reads_all(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer the length of the body and the names of the headers once the body has come in."""
    if scope["type"] != "http":
        return
    num_bytes, more = 0, True
    while more:
        message = await receive()
        num_bytes += len(message.get("body", b""))
        more = message.get("more_body", False)
    names = b" ".join(name for name, _ in scope["headers"]).decode()
    await PlainTextResponse(f"{num_bytes} {names}")(scope, receive, send)


@pytest.fixture(scope="module")
def reader() -> Iterator[httpx.URL]:
    with serving(reads_all) as url:
        yield httpx.URL(url)


@pytest.mark.parametrize("app", ["address", "reader"])
@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"0\r\nX-A: ", b"a" * 10_000),
        (b"0\r\n", b"X-A: aaaa\r\n" * 1_000),
        (b"5;name=", b"a" * 10_000),
        (b"0;name=", b"a" * 10_000),
        (b"5\r\nhello\r\n0\r\nX-A: ", b"a" * 10_000),
    ],
    ids=["long trailer", "many trailers", "extension", "last extension", "trailer after a body"],
)
def test_what_frames_a_body_without_an_end_is_refused_while_it_comes_in(
    request: pytest.FixtureRequest, app: str, start: bytes, more: bytes
) -> None:
    with connect(request.getfixturevalue(app)) as connection:
        connection.sendall(CHUNKED + start)
        sent = 0
        try:
            while sent < 50_000_000:
                sent += connection.send(more)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < MAX_FRAMING_BYTES + READ_BYTES + 10_000_000


def test_chunks_and_trailers_of_the_usual_size_are_served(reader: httpx.URL) -> None:
    # 20,000 chunks of 10 bytes are framed by 9 bytes each, 180,000 in sum: each piece begins the count again.
    chunks = b"a;x=y\r\n0123456789\r\n" * 20_000
    with connect(reader) as connection:
        for _ in range(2):
            connection.sendall(CHUNKED + chunks + b"0\r\nX-Sum: 1\r\n\r\n")
            answer = connection.recv(1000)
            assert status_of(answer) == 200
            assert b"200000 host transfer-encoding" in answer


def test_a_trailer_becomes_no_header_of_the_request(reader: httpx.URL) -> None:
    with connect(reader) as connection:
        connection.sendall(CHUNKED + b"1\r\na\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
        assert connection.recv(1000).endswith(b"1 host transfer-encoding")


@pytest.mark.parametrize("body", [b"", b"Content-Length: 5\r\n\r\nhello"])
def test_a_tunnel_is_refused(address: httpx.URL, body: bytes) -> None:
    with connect(address) as connection:
        connection.sendall(b"CONNECT /runs HTTP/1.1\r\nHost: 127.0.0.1\r\n" + (body or b"\r\n"))
        assert status_of(connection.recv(1000)) == 501
        assert connection.recv(1000) == b""


def test_a_head_that_comes_in_drops_is_ended(address: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.5)
    with connect(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        answer = connection.recv(1000)
    assert status_of(answer) == 408


def test_a_connection_that_says_nothing_is_ended(address: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.5)
    with connect(address) as connection:
        assert status_of(connection.recv(1000)) == 408
        assert connection.recv(1000) == b""


def test_the_next_request_of_a_connection_has_its_own_time(address: httpx.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    deadlines: list[asyncio.TimerHandle] = []
    expect_head = BoundedHttp._expect_head

    def noted(protocol: BoundedHttp) -> None:
        expect_head(protocol)
        assert protocol._deadline is not None
        deadlines.append(protocol._deadline)

    monkeypatch.setattr(BoundedHttp, "_expect_head", noted)
    request = f"GET / HTTP/1.1\r\nHost: {address.host}\r\n\r\n".encode()
    with connect(address) as connection:
        for number in range(1, 4):
            connection.sendall(request)
            assert status_of(connection.recv(1000)) == 200
            assert [deadline.cancelled() for deadline in deadlines] == [True] * number
        monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.5)
        connection.sendall(request[:10])
        assert status_of(connection.recv(1000)) == 408


@pytest.mark.parametrize("rest", [b"", b"x" * 100])
def test_a_body_that_nobody_reads_any_more_ends_its_connection(
    address: httpx.URL, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(http_server, "LINGER_SECONDS", 0.5)
    request = f"POST / HTTP/1.1\r\nHost: {address.host}\r\nContent-Length: 1000\r\n\r\n".encode()
    with connect(address) as connection:
        connection.sendall(request)
        assert status_of(connection.recv(1000)) == 200
        connection.sendall(rest)
        assert connection.recv(1000) == b"", "the connection is held by a body without an end"


def test_a_body_that_comes_in_after_its_answer_keeps_the_connection(
    address: httpx.URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols: list[BoundedHttp] = []
    connection_made = BoundedHttp.connection_made

    def noted(protocol: BoundedHttp, transport: asyncio.Transport) -> None:
        protocols.append(protocol)
        connection_made(protocol, transport)

    monkeypatch.setattr(BoundedHttp, "connection_made", noted)
    head = f"POST / HTTP/1.1\r\nHost: {address.host}\r\nContent-Length: 4\r\n\r\n".encode()
    with connect(address) as connection:
        for _ in range(3):
            connection.sendall(head)
            assert status_of(connection.recv(1000)) == 200
            wait_until(lambda: protocols[0]._last_moment is not None)
            last_moment = protocols[0]._last_moment
            connection.sendall(b"late")
            wait_until(lambda: protocols[0]._last_moment is None)
            assert last_moment is not None
            assert last_moment.cancelled()
        connection.sendall(head)
        assert status_of(connection.recv(1000)) == 200


class Held:
    """An app whose answers to /held wait until they are let go."""

    def __init__(self) -> None:
        self.num_held = 0
        self.let_go = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/held":
            self.num_held += 1
            await asyncio.to_thread(self.let_go.wait)
        await hello(scope, receive, send)


GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def ask(connection: socket.socket) -> int:
    connection.sendall(GET)
    return status_of(connection.recv(1000))


def test_where_all_connections_have_a_request_in_progress_a_further_one_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 2)
    app = Held()
    with serving(app) as url, ExitStack() as opened:
        address = httpx.URL(url)
        held = [opened.enter_context(connect(address)) for _ in range(2)]
        for connection in held:
            connection.sendall(GET.replace(b"GET /", b"GET /held"))
        wait_until(lambda: app.num_held == 2)
        with connect(address) as third:
            assert ask(third) == 503
            assert third.recv(1000) == b""
        app.let_go.set()
        assert [status_of(connection.recv(1000)) for connection in held] == [200, 200]


@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nX-Long: ", GET], ids=["silent", "slow head", "kept alive"])
def test_idle_connections_make_room_for_others(
    address: httpx.URL, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(http_server, "MOST_CONNECTIONS", 3)
    with ExitStack() as opened:
        # One of somebody else, idle for longest: of those who have many, one goes first.
        other = opened.enter_context(socket.create_connection((address.host, address.port or 80), 60, ("127.0.0.2", 0)))
        assert ask(other) == 200
        for _ in range(10):
            idle = opened.enter_context(connect(address))
            if start:
                idle.sendall(start)
            if start == GET:
                # While it is answered, it is not idle.
                assert status_of(idle.recv(1000)) == 200
        with connect(address) as newcomer:
            assert ask(newcomer) == 200
            assert ask(newcomer) == 200
        assert ask(other) == 200


def test_a_port_that_is_taken_leaves_no_socket_open() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            listen("127.0.0.1", taken.getsockname()[1])
        # A socket that is left open warns when it is collected, which fails the test.
        gc.collect()


def test_a_server_may_open_more_files_than_the_usual_1024() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limits[1] == resource.RLIM_INFINITY or limits[1] >= 1_100, "this machine permits no more"
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, limits[1]))
    try:
        Server(hello, lambda: None)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert hard == limits[1]
    assert soft == (OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard))
