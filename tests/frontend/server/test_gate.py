"""Who gets in at the front door, and with what headers things leave: the dashboard in front of the real server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
import select
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest
from starlette.requests import Request
from starlette.types import Message

from bapo.api.people import ProjectCreate
from bapo.api.runs import RunCreate, RunDetail
from bapo.client import SESSION_COOKIE
from frontend.app import create_app
from frontend.delivery.files import own_files
from frontend.request.session import Api
from frontend.server.bodies import MAX_CALL_BYTES, BodyError, read_body
from frontend.server.login import local_path, login, login_url
from frontend.server.settings import FrontendSettings, host_name
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, add_person
from tests.support.serving import serving
from tests.support.simulation import Simulation


@pytest.fixture(scope="module")
def address(backend_server: BackendServer) -> Iterator[str]:
    """The dashboard in front of the server."""
    settings = FrontendSettings(backend_url=backend_server.url, allowed_hosts="bapo.example.org")
    with serving(create_app(settings)) as url:
        yield url


@pytest.fixture
def visitor(address: str) -> Iterator[httpx.Client]:
    """A browser that has not logged in."""
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture
def member(visitor: httpx.Client, backend_server: BackendServer) -> httpx.Client:
    """A browser that has."""
    answer = visitor.post(
        "/login", data={"secret": backend_server.admin_token}, headers={"Origin": str(visitor.base_url)}
    )
    assert answer.status_code == 303
    return visitor


@pytest.mark.parametrize(
    "path", ["/", "/runs", "/documents/README.md", "/runs/abc?tab=batch", "/new?recipe=countdown-demo", "/no/such/page"]
)
def test_a_page_without_a_session_leads_to_the_login_and_back(visitor: httpx.Client, path: str) -> None:
    answer = visitor.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"] == login_url(path)


def test_the_documents_are_pages(member: httpx.Client) -> None:
    page = member.get("/documents/docs/dashboard.md")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert '<h2 id="compare">Compare</h2>' in page.text
    assert member.get("/documents/docs/images/bapo-step.svg").headers["content-type"] == "image/svg+xml"
    assert member.get("/documents/docs/%2e%2e/pyproject.toml").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/_dash-layout", "/_dash-dependencies", "/assets/style.css", "/_dash-component-suites/dash/deps/react@18.js"],
)
def test_what_a_page_asks_for_needs_a_session_too(visitor: httpx.Client, path: str) -> None:
    assert visitor.get(path).status_code == 401


def test_a_callback_without_a_session_is_refused(visitor: httpx.Client) -> None:
    answer = visitor.post("/_dash-update-component", json={}, headers={"Origin": str(visitor.base_url)})
    assert answer.status_code == 401


def _sent_before_the_answer(address: httpx.URL, path: str, cookie: str = "") -> tuple[int, int]:
    """Sends a body without an end; the status of the answer, and how many bytes had been sent by then."""
    origin = f"{address.host}:{address.port}"
    head = f"POST {path} HTTP/1.1\r\nHost: {origin}\r\nOrigin: http://{origin}\r\nCookie: {cookie}\r\n"
    with socket.create_connection((address.host, address.port or 80), timeout=60) as connection:
        connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        while not select.select([connection], [], [], 0)[0]:
            connection.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            sent += 65_536
        return int(connection.recv(1000).split(b" ", 2)[1]), sent


@pytest.mark.parametrize("path", ["/login", "/set-password"])
def test_a_form_without_an_end_is_refused_while_it_comes_in(visitor: httpx.Client, path: str) -> None:
    status, sent = _sent_before_the_answer(visitor.base_url, path)
    assert status == 413
    assert sent < 20_000_000, "what lies in the kernel's buffers was sent too"


def test_a_call_without_an_end_is_refused_while_it_comes_in(member: httpx.Client) -> None:
    [secret] = member.cookies.values()
    cookie = f"{SESSION_COOKIE}={secret}"
    status, sent = _sent_before_the_answer(member.base_url, "/_dash-update-component", cookie)
    assert status == 413
    assert sent < MAX_CALL_BYTES + 20_000_000


@pytest.mark.parametrize("body", [b"", b"x", b"{}", b"[]", b'{"output": "page.children"}'])
def test_a_malformed_call_is_refused(member: httpx.Client, body: bytes) -> None:
    answer = member.post("/_dash-update-component", content=body, headers={"Origin": str(member.base_url)})
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_call")


@pytest.mark.parametrize(
    "path",
    [
        "/api/../metrics",
        "/api/%2e%2e/metrics",
        "/api/v1/../../metrics",
        "/api%2f..%2fmetrics",
        "/api/./v1/me",
        "/api/..",
    ],
)
def test_an_address_that_leads_out_of_the_api_reaches_nothing(visitor: httpx.Client, path: str) -> None:
    with socket.create_connection((visitor.base_url.host, visitor.base_url.port or 80), timeout=60) as connection:
        # A client library would shorten the path.
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert connection.recv(1000).split(b" ", 2)[1] == b"404"


@pytest.mark.parametrize("origin", [None, "https://evil.example", "null"])
def test_only_our_own_pages_may_act(member: httpx.Client, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    assert member.post("/_dash-update-component", json={}, headers=headers).status_code == 403
    assert member.post("/logout", headers=headers).status_code == 403
    assert member.get("/runs").status_code == 200


def test_a_forged_session_is_none(visitor: httpx.Client) -> None:
    visitor.cookies.set(SESSION_COOKIE, "forged")
    assert visitor.get("/runs").status_code == 303


def test_a_cookie_that_no_server_made_is_no_session(visitor: httpx.Client) -> None:
    for cookie in (b"bapo_session=\xff\xfe", b"bapo_session", b'bapo_session="a b"', b";;=;", b"a=b;"):
        headers = {b"Cookie": cookie, b"Origin": str(visitor.base_url).rstrip("/").encode()}
        assert visitor.get("/runs", headers=headers).status_code == 303
        assert visitor.get("/api/v1/me", headers=headers).status_code == 401
        assert visitor.post("/logout", headers=headers).json() == {"address": "/login"}


def test_the_login_page_tells_where_the_link_is(visitor: httpx.Client) -> None:
    answer = visitor.get("/login?next=/runs/abc")
    assert answer.status_code == 200
    assert "login link" in answer.text
    assert "python -m backend login-code" in answer.text
    assert 'action="/login?next=/runs/abc"' in answer.text


def test_a_wrong_secret_stays_on_the_login_page_and_says_why(visitor: httpx.Client) -> None:
    answer = visitor.post("/login", data={"secret": "wrong<b>"}, headers={"Origin": str(visitor.base_url)})
    assert answer.status_code == 401
    assert 'role="alert"' in answer.text
    assert "<b>" not in answer.text
    assert "set-cookie" not in answer.headers


def test_an_empty_login_says_what_to_paste(visitor: httpx.Client) -> None:
    answer = visitor.post("/login", data={"secret": " "}, headers={"Origin": str(visitor.base_url)})
    assert answer.status_code == 422
    assert "paste a login code or a token" in answer.text


def test_the_login_link_works_once_and_leads_to_the_runs(visitor: httpx.Client, backend_server: BackendServer) -> None:
    settings = backend_server.settings
    environment = {
        f"BAPO_{name.upper()}": str(getattr(settings, name))
        for name in ("database_url", "broker_url", "runs_dir", "admin_token_file", "worker_token_file", "public_url")
    }
    made = subprocess.run(
        [sys.executable, "-m", "backend", "login-code"], env=environment, capture_output=True, text=True, check=True
    )
    code = made.stdout.strip()
    answer = visitor.get("/login", params={"code": code})
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{SESSION_COOKIE}_{visitor.base_url.port}=")
    assert "HttpOnly" in cookie
    assert visitor.get("/runs").status_code == 200
    again = httpx.get(f"{visitor.base_url}/login", params={"code": code}, timeout=60)
    assert again.status_code == 401


def test_the_form_takes_a_code_as_well_as_a_token(member: httpx.Client) -> None:
    assert member.get("/runs").status_code == 200
    assert member.get("/").headers["location"] == "/runs"


def test_logging_out_ends_the_session_at_once(member: httpx.Client) -> None:
    [secret] = member.cookies.values()
    assert member.get("/runs").status_code == 200
    answer = member.post("/logout", headers={"Origin": str(member.base_url)})
    assert (answer.status_code, answer.json()) == (200, {"address": "/login"})
    member.cookies.set(SESSION_COOKIE, secret)
    assert member.get("/runs").status_code == 303


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", ""])
def test_an_unknown_host_is_refused(visitor: httpx.Client, host: str) -> None:
    for path in ("/runs", "/api/v1/me", "/login"):
        assert visitor.get(path, headers={"Host": host}).status_code in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:9", "[::1]:8000", "BAPO.example.org"])
def test_known_hosts_are_served(visitor: httpx.Client, host: str) -> None:
    assert visitor.get("/login", headers={"Host": host}).status_code == 200


def test_host_names_lose_their_port() -> None:
    assert [host_name(host) for host in ("a:1", "A", "[::1]:80", "[::1]")] == ["a", "a", "[::1]", "[::1]"]


def test_the_api_is_behind_the_same_address_with_the_browsers_cookie(member: httpx.Client) -> None:
    assert member.get("/api/v1/me").json()["role"] == "admin"
    assert httpx.get(f"{member.base_url}/api/v1/me", timeout=60).status_code == 401
    assert httpx.get(f"{member.base_url}/healthz", timeout=60).is_success


def test_responses_are_rendered_for_who_is_logged_in(visitor: httpx.Client, backend_server: BackendServer) -> None:
    body = {"texts": [{"text": "so $x$ is \\boxed{42}", "answer": [17, 19]}, {"text": "<b>", "answer": None}]}
    origin = {"Origin": str(visitor.base_url)}
    assert visitor.post("/live/rendered", json=body, headers=origin).status_code == 401
    visitor.post("/login", data={"secret": backend_server.admin_token}, headers=origin)
    assert visitor.post("/live/rendered", json=body).status_code == 403
    boxed, markup = visitor.post("/live/rendered", json=body, headers=origin).json()
    assert boxed[0][2][3][1]["className"] == "formula answer"
    assert markup == [["p", {}, ["<b>"]]]


@pytest.mark.parametrize(
    ("texts", "status", "field"),
    [
        ("x", 422, "texts"),
        ([{"text": 3}], 422, "texts.0.text"),
        ([{"text": "x", "answer": [0]}], 422, "texts.0.answer.1"),
        ([{"text": "x"}] * 257, 422, "texts"),
        ([{"text": "x" * 100_000}] * 5, 413, "texts"),
    ],
)
def test_texts_that_cannot_be_rendered_are_rejected(
    member: httpx.Client, texts: object, status: int, field: str
) -> None:
    answer = member.post("/live/rendered", json={"texts": texts}, headers={"Origin": str(member.base_url)})
    assert (answer.status_code, answer.json()["field"]) == (status, field)
    assert answer.json()["remedy"]


def test_live_news_need_a_session_and_a_sound_question(visitor: httpx.Client, backend_server: BackendServer) -> None:
    assert visitor.get("/live/runs/abc").status_code == 401
    origin = {"Origin": str(visitor.base_url)}
    visitor.post("/login", data={"secret": backend_server.admin_token}, headers=origin)
    assert visitor.get("/live/runs/abc").status_code == 404
    assert visitor.get("/live/elsewhere").status_code == 404
    for after in ("-1", "x", "1.5"):
        answer = visitor.get("/live/runs/abc", params={"after": after})
        assert (answer.status_code, answer.json()["field"]) == (422, "after")
    with backend_server.client() as admin:
        run = admin.create_run(RunCreate(name="asked", recipe="countdown-demo"))
    answer = visitor.get(f"/live/runs/{run.id}", params={"tiles": "1", "tab": "no-such-tab", "x": "no-such-axis"})
    assert answer.json()["progress"]["step"] == "0"
    early = visitor.get(f"/live/runs/{run.id}/charts", params={"tab": "overview"}).json()
    assert early["event"] > 0
    assert early["figures"].keys() == early["empty"].keys() >= {"rewards"}
    asked = {"charts": "rewards,no-such-chart", "axes": "rewards:time"}
    named = visitor.get(f"/live/runs/{run.id}/charts", params=asked)
    assert list(named.json()["figures"]) == ["rewards"]
    assert "request" in visitor.get("/live/runs/abc/charts").json()["problem"]


@pytest.fixture(scope="module")
def outsider(address: str, backend_server: BackendServer) -> Iterator[httpx.Client]:
    """A browser of somebody who is in the default project alone."""
    token = add_person(backend_server, "outsider", projects={"default": "member"})
    with httpx.Client(base_url=address, timeout=60) as client:
        client.post("/login", data={"secret": token}, headers={"Origin": str(client.base_url)})
        yield client


def run_of_its_own_project(server: BackendServer, project: str) -> RunDetail:
    with server.client() as admin:
        admin.create_project(ProjectCreate(name=project))
        return admin.create_run(RunCreate(name=project, recipe="countdown-demo", project=project))


def test_news_that_viewers_share_are_for_those_who_may_see_the_run(
    member: httpx.Client, outsider: httpx.Client, backend_server: BackendServer
) -> None:
    run = run_of_its_own_project(backend_server, "closed")
    asked = {"heard": "1741", "tiles": "1", "scheme": "dark"}
    address = f"/live/runs/{run.id}"
    first = member.get(address, params=asked).json()
    assert first["tiles"]
    assert member.get(address, params=asked).json() == first
    assert member.get(address, params={"heard": "1741", "scheme": "dark"}).json().keys() == {"progress"}
    assert outsider.get("/live/runs/abc").status_code == 404
    assert outsider.get(address, params=asked).status_code == 404


def test_charts_that_are_kept_are_those_of_what_is_recorded_by_now(
    member: httpx.Client, outsider: httpx.Client, backend_server: BackendServer
) -> None:
    run = run_of_its_own_project(backend_server, "sealed")
    worker = FakeWorker(backend_server)
    claim = worker.begin(run)
    records = Simulation(20).train(8).records
    fourth = next(place for place, record in enumerate(records) if record.step == 4)
    address, asked = f"/live/runs/{run.id}/charts", {"charts": "rewards,lengths", "scheme": "light"}
    found = []
    for part in (records[:fourth], records[fourth:]):
        worker.upload(claim, part)
        first, again = (member.get(address, params=asked).json() for _ in range(2))
        assert again | {"event": None} == first | {"event": None}
        assert max(first["figures"]["rewards"]["data"][0]["x"]) == first["until"]
        found.append(first["until"])
    assert found == [3, 8]
    assert member.get(address, params=asked | {"scheme": "dark"}).json()["figures"] != first["figures"]
    assert outsider.get(address, params=asked).json().keys() == {"problem"}
    worker.close()


def test_live_answers_on_migration_are_the_users_own(visitor: httpx.Client, backend_server: BackendServer) -> None:
    assert visitor.get("/live/runs/abc/migration").status_code == 401
    visitor.post("/login", data={"secret": backend_server.admin_token}, headers={"Origin": str(visitor.base_url)})
    assert visitor.get("/live/runs/abc/no-such-part").status_code == 404
    for part in ("migration", "flows"):
        assert visitor.get(f"/live/runs/abc/{part}").status_code == 404
    with backend_server.client() as admin:
        run = admin.create_run(RunCreate(name="unborn", recipe="countdown-demo"))
    # What an address says wrongly is left to the server's choice; steps in disorder are refused with the remedy.
    answer = visitor.get(f"/live/runs/{run.id}/migration", params={"kind": "?", "from": "x", "to": "1e9"})
    assert (answer.json()["steps"], answer.json()["figures"]["migration"]) == ([], None)
    answer = visitor.get(f"/live/runs/{run.id}/flows", params={"steps": "a,,b"})
    assert (answer.json()["steps"], answer.json()["figures"]) == ([0, 0, 0, 0], {"flows": None})
    answer = visitor.get(f"/live/runs/{run.id}/migration", params={"from": "2", "to": "1"})
    assert (answer.status_code, answer.json()["field"]) == (422, "from_step")


def test_pages_carry_a_policy_that_allows_no_foreign_and_no_unknown_script(member: httpx.Client) -> None:
    page = member.get("/runs")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "unsafe" not in scripts
    inline = re.findall(r"<script(?![^>]*src=)(?![^>]*application/json)[^>]*>(.*?)</script>", page.text, re.DOTALL)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in inline]
    assert hashes
    assert all(digest in scripts for digest in hashes)
    for name, value in (
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
    ):
        assert page.headers[name] == value


def test_a_deep_link_brings_our_own_assets_along(member: httpx.Client) -> None:
    page = member.get("/runs/abc?tab=batch")
    assert '"/assets/first.js"' in page.text
    for suffix in ("css", "js"):
        path = re.search(rf'"(/assets/all[^"]+[.]{suffix})"', page.text)
        assert path
        together = member.get(path[1])
        for asset in own_files(suffix):
            last = asset.read_text("utf-8").rstrip().rsplit("\n", 1)[-1]
            assert last in together.text, asset
        assert "icons/" not in together.text


def test_scripts_travel_compressed_and_are_kept_by_the_browser(member: httpx.Client) -> None:
    page = member.get("/runs")
    addresses = re.findall(r'"((?:/assets/all|/_dash-component-suites/)[^"]+)"', page.text)
    assert len(addresses) > 5
    for address in addresses:
        answer = member.get(address)
        assert answer.headers["content-encoding"] == "gzip", address
        assert "immutable" in answer.headers["cache-control"], address
        assert member.get(address, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    plain = member.get(addresses[-1], headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == member.get(addresses[-1]).content


def test_files_that_name_no_version_are_asked_for_again(member: httpx.Client) -> None:
    address = "/_dash-component-suites/dash_mantine_components/async-CodeHighlight.js"
    answer = member.get(address)
    assert answer.headers["cache-control"] == "private, no-cache"
    again = member.get(address, headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


def test_without_a_server_pages_say_so_and_try_again() -> None:
    settings = FrontendSettings(backend_url="http://127.0.0.1:1")
    cookies = {SESSION_COOKIE: "any"}
    with serving(create_app(settings)) as url, httpx.Client(base_url=url, cookies=cookies, timeout=60) as client:
        page = client.get("/runs")
        assert page.status_code == 503
        assert '<meta http-equiv="refresh"' in page.text
        assert client.get("/_dash-layout").status_code == 502
        answer = client.post("/login", data={"secret": "x"}, headers={"Origin": url})
        assert answer.status_code == 503


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/runs/abc?tab=log", "/runs/abc?tab=log"),
        (None, "/runs"),
        ("", "/runs"),
        ("//evil.example", "/runs"),
        ("/\\evil.example", "/runs"),
        ("https://evil.example", "/runs"),
        ("/login?next=/login", "/runs"),
        ("/runs\r\nX: y", "/runs"),
    ],
)
def test_the_login_leads_only_to_our_own_pages(path: str | None, expected: str) -> None:
    assert local_path(path) == expected


def test_a_body_that_is_cut_off_is_not_taken_for_a_whole_one() -> None:
    messages: list[Message] = [
        {"type": "http.request", "body": b"name=a&pass", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> Message:
        return messages.pop(0)

    with pytest.raises(BodyError) as error:
        asyncio.run(read_body(receive, 100))
    assert (error.value.status, error.value.code) == (400, "cut_off")


def test_a_form_that_does_not_come_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontend.server.bodies.BODY_SECONDS", 0.05)

    async def receive() -> Message:
        return await asyncio.Future()

    scope = {"type": "http", "method": "POST", "path": "/login", "query_string": b"", "headers": []}
    answer = asyncio.run(login(Request(scope, receive), Api("http://127.0.0.1:9", 1)))
    assert answer.status_code == 408
    assert b"the body was not received within 0.05 s" in answer.body


def test_pages_load_no_script_that_they_do_not_need(member: httpx.Client) -> None:
    lists, queue = (
        re.findall(r'<script src="/_dash-component-suites/([^"]+)', member.get(path).text)
        for path in ("/runs", "/queue")
    )
    assert not [address for address in lists if re.search("polyfill|dash_table|dash_core_components|/dcc/", address)]
    # The table of the run list; another page knows where it is, and fetches it on the way there.
    table, rest = [address for address in lists if address not in queue]
    assert table.startswith("dash_ag_grid/")
    suites = "/_dash-component-suites/"
    assert f'data-table="{suites}{table}" data-table-rest="{suites}{rest}"' in member.get("/queue").text
    # Nor a worker for WebSockets, which the gate refuses.
    assert "_dash-ws" not in member.get("/queue").text


def test_a_page_comes_with_the_frame_that_it_stands_in(member: httpx.Client, address: str) -> None:
    def asked_from(page: str) -> tuple[str, dict[str, str]]:
        layout = member.get("/_dash-layout", headers={"Referer": page} if page else {})
        place = layout.json()["props"]["children"][0]["props"]
        return layout.text, {name: place.get(name) for name in ("pathname", "search")}

    queue, place = asked_from(f"{address}/queue?by=project")
    assert '"id":"queue-chosen"' in queue
    assert place == {"pathname": "/queue", "search": "?by=project"}
    assert "There is no page at" in asked_from(f"{address}/nowhere")[0]
    # Whoever does not say for which page it is gets the frame, and asks for the page from there.
    frame, place = asked_from("")
    assert '"id":"appshell"' in frame
    assert '"id":"queue-chosen"' not in frame
    assert place == {"pathname": None, "search": None}
