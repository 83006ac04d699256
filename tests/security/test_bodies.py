"""Bodies made to hurt: bombs, numbers without end, bodies without end; every one is refused, none is a failure."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import orjson
import pytest

from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from bapo.records import EventRecord
from tests.support.fake_worker import FakeWorker
from tests.support.journals import lines_of, step
from tests.support.services import BackendServer

DEEP = 100_000


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, object]:
    """Of a server that waits a second for a body."""
    return {"body_seconds": 1.0}


@pytest.fixture(scope="module")
def http(backend_server: BackendServer) -> Iterator[httpx.Client]:
    with backend_server.http() as http:
        http.headers["Authorization"] = f"Bearer {backend_server.admin_token}"
        yield http


def _post(http: httpx.Client, path: str, content: bytes, **headers: str) -> httpx.Response:
    return http.post(f"/api/v1{path}", content=content, headers={"Content-Type": "application/json", **headers})


BOMBS = {
    "deep lists": b"[" * DEEP,
    "deep lists that end": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"changes":' * DEEP + b"1" + b"}" * DEEP,
    "deep value": b'{"name":"x","recipe":"countdown-demo","changes":{"method.c1":'
    + b"[" * 5_000
    + b"]" * 5_000
    + b"}}",
    "as deep as is read": b'{"name":"x","recipe":"countdown-demo","changes":{"method.c1":'
    + b"[" * 1_000
    + b"]" * 1_000
    + b"}}",
    "deep but legal value": b'{"name":"x","recipe":"countdown-demo","changes":{"method.c1":'
    + b"[" * 150
    + b"]" * 150
    + b"}}",
    "huge integer": b'{"name":"x","recipe":"countdown-demo","priority":' + b"9" * 100_000 + b"}",
    "integer beyond 64 bits": b'{"name":"x","recipe":"countdown-demo","changes":{"training.seed":' + b"9" * 30 + b"}}",
    "huge float": b'{"name":"x","recipe":"countdown-demo","changes":{"training.learning_rate":1e999999}}',
    "NaN": b'{"name":"x","recipe":"countdown-demo","changes":{"training.learning_rate":NaN}}',
    "infinity": b'{"name":"x","recipe":"countdown-demo","changes":{"training.learning_rate":-Infinity}}',
    "half a character": b'{"name":"\\ud800","recipe":"countdown-demo"}',
    "NUL": b'{"name":"a\\u0000b","recipe":"countdown-demo"}',
    "no UTF-8": b'{"name":"\xff\xfe","recipe":"countdown-demo"}',
    "no JSON": b"x=1&y=2",
    "a list": b"[]",
    "null": b"null",
    "a string": b'"x"',
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_the_usual_form(http: httpx.Client, name: str) -> None:
    for path in ("/runs", "/configs/validate"):
        answer = _post(http, path, BOMBS[name])
        assert answer.status_code in (400, 413, 422), (path, answer.text[:300])
        assert {"code", "remedy", "request_id"} <= answer.json().keys()


def test_of_a_key_that_comes_twice_the_last_counts(http: httpx.Client) -> None:
    answer = _post(http, "/runs", b'{"name":"first","name":"second","recipe":"countdown-demo","start":false}')
    assert answer.json()["name"] == "second"


def test_nothing_is_unpacked_on_the_way_in(http: httpx.Client) -> None:
    bomb = gzip.compress(b'{"name":"' + b"x" * 50_000_000 + b'"}')
    assert len(bomb) < 100_000
    for encoding in ("gzip", "deflate", "br", "zstd"):
        answer = _post(http, "/runs", bomb, **{"Content-Encoding": encoding})
        assert answer.status_code in (400, 415, 422), encoding


def test_a_body_that_is_too_large_is_refused_announced_or_not(http: httpx.Client) -> None:
    large = b'{"name":"' + b"x" * 2_100_000 + b'"}'
    assert _post(http, "/runs", large).status_code == 413

    def pieces() -> Iterator[bytes]:
        for begin in range(0, len(large), 65_536):
            yield large[begin : begin + 65_536]

    headers = {"Content-Type": "application/json"}
    assert http.post("/api/v1/runs", content=pieces(), headers=headers).status_code == 413


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/auth/login", "/api/v1/workers/runs/x/records"])
def test_a_body_that_never_ends_is_ended(backend_server: BackendServer, path: str) -> None:
    url = httpx.URL(backend_server.url)
    token = backend_server.worker_token if "workers" in path else backend_server.admin_token
    with socket.create_connection((url.host, url.port or 80), timeout=60) as connection:
        connection.sendall(
            f"POST {path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nAuthorization: Bearer {token}\r\n"
            'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"a"'.encode()
        )
        answer = connection.recv(65_536)
    assert b" 408 " in answer.split(b"\r\n", 1)[0]
    assert b"too_slow" in answer or b"too_slow" in connection_rest(answer)


def connection_rest(answer: bytes) -> bytes:
    """Head and body may come in two packets."""
    return b"too_slow" if answer.endswith(b"\r\n\r\n") else b""


# ---------------------------------------------------------------- lines of a journal


def _run(admin: Client, name: str = "attacked") -> RunDetail:
    return admin.create_run(RunCreate(name=name, recipe="countdown-demo"))


EVENT = orjson.loads(
    lines_of([EventRecord(attempt=1, step=1, event="warning", message="", data={"payload": "HERE"})])[0]
)
PAYLOADS = {
    "deep": "[" * 900 + "]" * 900,
    "deeper": "[" * DEEP + "]" * DEEP,
    "beyond 64 bits": "9" * 40,
    "very long number": "9" * 100_000,
    "huge float": "1e999",
    "NaN": "NaN",
    "NUL": '"a\\u0000b"',
    "half a character": '"\\ud800"',
    "a million characters": json.dumps("x" * 1_000_000),
}


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_line_made_to_hurt_holds_up_no_other(admin: Client, worker: FakeWorker, name: str) -> None:
    claim = worker.begin(_run(admin))
    line = json.dumps(EVENT).replace('"HERE"', PAYLOADS[name])
    worker.upload_lines(claim, [line, *lines_of([step(1), step(2)])])
    assert admin.run(claim.run_id).step == 2
    assert admin.records(claim.run_id, type="event").items is not None


@pytest.mark.parametrize("value", [2**31, 2**63, 2**70, -(2**70), 10**400])
def test_a_number_that_no_column_holds_holds_up_no_other(admin: Client, worker: FakeWorker, value: int) -> None:
    claim = worker.begin(_run(admin))
    bad = json.loads(lines_of([step(1)])[0])
    bad["fresh_histogram"] = [value]
    bad["prompts"] = []
    worse = json.loads(lines_of([step(1)])[0])
    worse["step"] = value
    worker.upload_lines(claim, [json.dumps(bad), json.dumps(worse), *lines_of([step(1), step(2)])])
    assert admin.run(claim.run_id).step == 2


@pytest.mark.parametrize("num_steps", ["x", None, [], -1, 2**31, 1.5, True])
def test_an_event_that_says_nonsense_holds_up_no_other(admin: Client, worker: FakeWorker, num_steps: object) -> None:
    claim = worker.begin(_run(admin))
    nonsense = {**EVENT, "event": "started", "data": {"num_steps": num_steps}}
    answers = [
        {**EVENT, "event": "parameter_change", "data": data}
        for data in ({"id": {"a": 1}}, {"id": "a", "set": "x"}, {"id": "b", "set": {}, "applied_step": num_steps})
    ]
    worker.upload_lines(claim, [*map(json.dumps, [nonsense, *answers]), *lines_of([step(1)])])
    assert admin.run(claim.run_id).step == 1


def test_an_import_takes_the_same_care(admin: Client, tmp_path: Path, http: httpx.Client) -> None:
    answer = _post(http, "/imports", b'{"name":"x","source":"y","attempts":1,"config":' + b"[" * DEEP)
    assert answer.status_code in (400, 422)
    answer = _post(http, "/imports", b'{"name":"x","source":"y","attempts":99999999999999999999,"config":{}}')
    assert answer.status_code == 422
