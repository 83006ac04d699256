"""Uploads that the server fetches: from where it may, as far as there is room, and never in half."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler

import pytest
from sqlalchemy import text

from backend.files.uploads import sources
from backend.files.uploads.fetcher import LIMITS
from backend.files.uploads.store import UploadStore
from backend.kit.database import Database
from bapo.api.uploads import UploadFetch, UploadInfo, UploadRegister
from bapo.client import Client
from bapo.client.uploads import wait_until_checked
from tests.support.receiver import Receiver, receiving, respond
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person, running_backend, wait_until
from tests.support.waiting import PATIENCE_SECONDS

Answer = Callable[[BaseHTTPRequestHandler], object]
MAX_BYTES = 100_000


@pytest.fixture(scope="module")
def source() -> Iterator[Receiver]:
    with receiving() as receiver:
        receiver.url = receiver.url.removesuffix("/hook")
        yield receiver


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str, tmp_path_factory: pytest.TempPathFactory, source: Receiver
) -> Iterator[BackendServer]:
    with running_backend(
        postgres_url,
        tmp_path_factory.mktemp("backend"),
        upload_hosts="127.0.0.1",
        upload_hub_url=source.url,
        upload_max_bytes=MAX_BYTES,
        upload_quota_bytes=2 * MAX_BYTES,
    ) as server:
        yield server


def lines(count: int) -> bytes:
    return b"".join(json.dumps({"question": f"{n} + {n} = ?", "answer": 2 * n}).encode() + b"\n" for n in range(count))


def fetched(client: Client, url: str, **fields: str) -> UploadInfo:
    return wait_until_checked(client, client.fetch_upload(UploadFetch.model_validate({"url": url, **fields})))


def in_pieces(*pieces: bytes, length: int | None = None) -> Answer:
    """An answer that ends where the connection does, and says this length, or none."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if length is not None:
            handler.send_header("Content-Length", str(length))
        handler.end_headers()
        for piece in pieces:
            handler.wfile.write(piece)
        handler.close_connection = True

    return answer


@pytest.mark.parametrize("says_length", [True, False])
def test_what_is_fetched_is_checked_as_if_it_had_been_sent(member: Client, source: Receiver, says_length: bool) -> None:
    content = lines(60)
    source.answer = in_pieces(content[:100], content[100:], length=len(content) if says_length else None)
    upload = fetched(member, f"{source.url}/deep/sums.jsonl?key=secret")
    assert (upload.state, upload.file_name, upload.num_bytes) == ("checked", "sums.jsonl", len(content))
    # What follows the question mark may be a secret.
    assert upload.source == f"{source.url}/deep/sums.jsonl"
    assert upload.report is not None
    assert upload.report.num_kept == 60
    made = member.register_upload(upload.id, UploadRegister(name=f"sums-{says_length}"))
    (resource,) = [each for each in member.resources("dataset").items if each.id == made.resource_id]
    assert resource.details["source"] == upload.source


def test_a_name_of_the_hub_is_a_file_in_a_revision_wherever_the_hub_has_it(member: Client, source: Receiver) -> None:
    content = lines(50)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/datasets/openai/gsm8k/resolve/v1.0/main/a%20b.jsonl":
            respond(handler, 302, Location="/store/4f2a")
        else:
            respond(handler, *((200, content) if handler.path == "/store/4f2a" else (404,)))

    source.answer = answer
    upload = fetched(member, "hf://datasets/openai/gsm8k@v1.0/main/a b.jsonl")
    assert (upload.state, upload.file_name, upload.num_bytes) == ("checked", "a b.jsonl", len(content))
    member.delete_upload(upload.id)
    missing = fetched(member, "hf://openai/weights/model.zip")
    assert (missing.kind, missing.state) == ("model", "failed")
    assert source.received[-1].path == "/openai/weights/resolve/main/model.zip"
    member.delete_upload(missing.id)
    with refuses(422, "forbidden_address", field="url"):
        member.fetch_upload(UploadFetch(url="hf://datasets/openai"))


REFUSED: dict[str, tuple[Answer, str]] = {
    "missing": (lambda handler: respond(handler, 404), "answered 404: there is no such repository, revision or file"),
    "private": (lambda handler: respond(handler, 401), "an administrator sets BAPO_UPLOAD_HUB_TOKEN_FILE"),
    "empty": (lambda handler: respond(handler, 200), "the file is empty"),
    "announced too large": (in_pieces(b"{", length=MAX_BYTES + 1), "the largest file that is taken has 100,000 bytes"),
    "too large": (in_pieces(*[lines(1000)] * 4), "the largest file that is taken has 100,000 bytes"),
    "a pickle": (in_pieces(b"\x80\x04\x95."), "this is a pickle, which is never read"),
    "cut": (in_pieces(lines(3), length=5_000), "the connection failed"),
    "compressed": (
        lambda handler: respond(handler, 200, b"x", Content_Encoding="gzip"),
        "sends it compressed",
    ),
    "elsewhere": (lambda handler: respond(handler, 302, Location="http://127.0.0.2/x"), "BAPO_UPLOAD_HOSTS"),
    "metadata": (lambda handler: respond(handler, 302, Location="http://169.254.169.254/x"), "is never permitted"),
    "a file": (lambda handler: respond(handler, 302, Location="file:///etc/passwd"), "begins with https://"),
    "circle": (lambda handler: respond(handler, 302, Location=handler.path), "redirected more than 5 times"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_source_that_cannot_be_fetched_says_why_and_leaves_nothing(
    member: Client, source: Receiver, backend_server: BackendServer, name: str
) -> None:
    source.answer, reason = REFUSED[name]
    upload = fetched(member, f"{source.url}/rows.jsonl")
    assert upload.state == "failed"
    assert upload.problem is not None
    assert reason in upload.problem
    assert not UploadStore(backend_server.settings.upload_store).folder(upload.id).exists()
    member.delete_upload(upload.id)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.2/rows.jsonl",
        "http://169.254.169.254/rows.jsonl",
        "http://user:secret@127.0.0.1/rows.jsonl",
        "ftp://127.0.0.1/rows.jsonl",
        "/etc/passwd",
        "https://127.0.0.1/rows.txt",
        # With the token of the hub these would be asked for at other addresses of it.
        "hf://datasets/a/b/../../c/d.jsonl",
        "hf://datasets/a/b/c/..",
        "hf://../b",
        "hf://datasets/a/..@main/d.jsonl",
        "hf://datasets/a/b@../d.jsonl",
        "hf://datasets/a/b//d.jsonl",
        "hf://datasets/a/b/./d.jsonl",
        "hf://datasets/a/b/..\\d.jsonl",
    ],
)
def test_an_address_that_leads_nowhere_is_refused_at_once(member: Client, url: str) -> None:
    with refuses(422, field="url"):
        member.fetch_upload(UploadFetch(url=url))
    assert not member.uploads().items


def dripping(pieces: bytes, stopped: threading.Event) -> Answer:
    """An answer that goes on with these bytes, a few at a time, until it is stopped or nobody reads it any more."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        with suppress(OSError):
            handler.wfile.write(pieces)
            while not stopped.wait(0.05):
                handler.wfile.write(b"xxxxx")

    return answer


@pytest.mark.parametrize("start", [b"X-Long: ", b"Content-Length: 50000\r\n\r\n{"], ids=["head", "file"])
def test_a_source_that_drips_is_given_up(
    member: Client, source: Receiver, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr(sources, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(sources, "LEAST_BYTES", 10_000)
    stopped = threading.Event()
    source.answer = dripping(start, stopped)
    upload = fetched(member, f"{source.url}/rows.jsonl")
    stopped.set()
    assert upload.problem is not None
    assert "sends less than 10,000 bytes in 1 s: try again later, or download and upload it" in upload.problem
    member.delete_upload(upload.id)


def test_slow_sources_of_other_users_do_not_delay_a_first_fetch(
    source: Receiver, backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sources just fast enough to be kept: about 100 bytes a second, where 10 are required.
    monkeypatch.setattr(sources, "SILENT_SECONDS", 1.0)
    monkeypatch.setattr(sources, "LEAST_BYTES", 10)
    content, stopped = lines(60), threading.Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if "slow" in handler.path:
            dripping(b"Content-Length: 5000\r\n\r\n{", stopped)(handler)
        else:
            respond(handler, 200, content)

    source.answer = answer

    def slow_paths() -> list[str]:
        return [each.path for each in source.received if "slow" in each.path]

    with ExitStack() as stack:
        stack.callback(stopped.set)
        for user in range(5):
            client = stack.enter_context(backend_server.client(add_person(backend_server, f"slow-{user}")))
            for number in range(3):
                upload = client.fetch_upload(UploadFetch(url=f"{source.url}/slow-{user}-{number}.jsonl"))
                stack.callback(client.delete_upload, upload.id)
        # Of four users two each, then the first one of the fifth.
        wait_until(lambda: len(slow_paths()) == LIMITS.unreserved + 1)
        quick = stack.enter_context(backend_server.client(add_person(backend_server, "quick")))
        assert fetched(quick, f"{source.url}/rows.jsonl").state == "checked"
        assert Counter(path.split("-")[1] for path in slow_paths()) == {"0": 2, "1": 2, "2": 2, "3": 2, "4": 1}


def test_a_server_fetches_nothing_unless_it_is_told_from_where(server: BackendServer, people: Client) -> None:
    assert people.uploads().fetch_hosts == []
    with refuses(403, "no_fetches", field="url"):
        people.fetch_upload(UploadFetch(url="https://example.org/rows.jsonl"))


def test_what_is_deleted_or_cut_short_by_a_restart_is_never_there_in_half(
    member: Client, source: Receiver, backend_server: BackendServer
) -> None:
    content, arrives = lines(200), threading.Event()

    def slow(handler: BaseHTTPRequestHandler) -> None:
        in_pieces(content[:1000], length=len(content))(handler)
        assert arrives.wait(PATIENCE_SECONDS)

    source.answer = slow
    store = UploadStore(backend_server.settings.upload_store)
    upload = member.fetch_upload(UploadFetch(url=f"{source.url}/rows.jsonl"))
    wait_until(lambda: member.upload(upload.id).num_bytes == len(content))
    member.delete_upload(upload.id)
    arrives.set()
    assert not member.uploads().items

    # As a server leaves it that was killed: it begins again, and keeps nothing of before.
    source.answer = in_pieces(content)
    upload = fetched(member, f"{source.url}/rows.jsonl")
    database = Database(backend_server.settings.database_url)
    with database.session() as session, session.begin():
        values = {"id": upload.id}
        session.execute(text("UPDATE uploads SET state = 'fetching', received_bytes = 7 WHERE id = :id"), values)
    database.close()
    again = wait_until_checked(member, member.upload(upload.id))
    assert (again.state, again.num_bytes) == ("checked", len(content))
    assert again.report is not None
    assert again.report.num_kept == 200
    assert store.received(upload.id).read_bytes() == content
    member.delete_upload(upload.id)
