"""The dashboard under a path: between the browser's addresses and our own, and what the front door answers there."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest
from starlette.types import Message

from bapo.api.boards import BoardCreate
from bapo.api.people import PersonCreate
from bapo.api.runs import RunCreate
from bapo.client import Client
from frontend.app import create_app
from frontend.request.prefix import PREFIX, cookie_mark, inward, outward, served, within
from frontend.server.settings import FrontendSettings
from tests.support.services import BackendServer
from tests.support.serving import serving

PUBLIC = "http://127.0.0.1:1/tools/bapo"


def test_our_own_addresses_get_the_prefix_and_others_stay() -> None:
    assert served("/runs") == "/runs"
    token = PREFIX.set("/bapo")
    try:
        assert [
            served("/runs?x=1"),
            served("https://other.test/runs"),
            served("//other.test/runs"),
            served("#part"),
        ] == [
            "/bapo/runs?x=1",
            "https://other.test/runs",
            "//other.test/runs",
            "#part",
        ]
    finally:
        PREFIX.reset(token)


@pytest.mark.parametrize(
    ("path", "prefix", "own"),
    [
        ("/runs/a", "", "/runs/a"),
        ("/bapo/runs/a", "/bapo", "/runs/a"),
        ("/bapo/", "/bapo", "/"),
        ("/bapo", "/bapo", "/"),
        ("/bapo/bapo/x", "/bapo", "/bapo/x"),
        ("/bapox", "/bapo", None),
        ("/runs", "/bapo", None),
        ("", "/bapo", None),
    ],
)
def test_the_prefix_is_a_whole_part_of_the_path(path: str, prefix: str, own: str | None) -> None:
    assert within(path, prefix) == own


def test_a_request_keeps_the_codes_of_its_address() -> None:
    scope = {"type": "http", "path": "/bapo/prompts/a/b", "raw_path": b"/bapo/prompts/a%2Fb", "headers": []}
    inner = inward(scope, "/bapo", "")
    assert inner is not None
    assert (inner["path"], inner["raw_path"]) == ("/prompts/a/b", b"/prompts/a%2Fb")
    assert inward({**scope, "raw_path": b"/%62apo/prompts/a%2Fb"}, "/bapo", "") is None


@pytest.mark.parametrize(
    ("authority", "prefix", "mark"),
    [
        ("bapo.test", "", ""),
        ("bapo.test:8001", "", "_8001"),
        ("[::1]:8001", "", "_8001"),
        ("[::1]", "", ""),
        ("bapo.test", "/tools/bapo", "_~tools~bapo"),
        ("bapo.test:8001", "/bapo", "_8001~bapo"),
    ],
)
def test_cookies_are_named_after_the_port_and_the_path(authority: str, prefix: str, mark: str) -> None:
    assert cookie_mark(authority, prefix) == mark


@pytest.mark.parametrize(
    ("mark", "sent", "own"),
    [
        ("_8001", "theme=dark; bapo_session_8001=a; bapo_next_8001=b", "theme=dark; bapo_session=a; bapo_next=b"),
        # Of another dashboard at the root of this host.
        ("_8001", "bapo_session_8001=a; bapo_session=b", "bapo_session=a"),
        ("_8001", "bapo_session=b; bapo_session_8001=a=", "bapo_session=a="),
        # Of a script that sets the name which the API's description has.
        ("_8001", "bapo_session=b", "bapo_session=b"),
        ("_8001", ";; a=b;  ;", "a=b"),
        ("", "bapo_session=b; bapo_session_8001=a", "bapo_session=b; bapo_session_8001=a"),
    ],
)
def test_a_request_carries_the_cookies_of_this_dashboard(mark: str, sent: str, own: str) -> None:
    scope = {"type": "http", "path": "/", "headers": [(b"host", b"x"), (b"cookie", sent.encode())]}
    inner = inward(scope, "", mark)
    assert inner is not None
    assert inner["headers"] == [(b"host", b"x"), (b"cookie", own.encode())]


@pytest.mark.parametrize(
    ("prefix", "name", "value", "sent"),
    [
        ("/bapo", "location", "/runs?x=/y", "/bapo/runs?x=/y"),
        ("/bapo", "location", "https://sso.test/authorize?x", "https://sso.test/authorize?x"),
        ("/bapo", "location", "//other.test/", "//other.test/"),
        ("/bapo", "location", "http://here.test:8000/api/v1/runs", "/bapo/api/v1/runs"),
        ("", "location", "http://here.test:8000/api/v1/runs", "/api/v1/runs"),
        ("/bapo", "set-cookie", "a=b; Path=/; HttpOnly", "a=b; Path=/bapo; HttpOnly"),
        ("/bapo", "set-cookie", "a=b; HttpOnly; path=/login/callback", "a=b; HttpOnly; path=/bapo/login/callback"),
        ("", "set-cookie", "a=b; Path=/; HttpOnly", "a=b; Path=/; HttpOnly"),
        ("/bapo", "set-cookie", "bapo_session=b; Path=/", "bapo_session_8000~bapo=b; Path=/bapo"),
        ("/bapo", "content-type", "/runs", "/runs"),
    ],
)
def test_headers_lead_the_browser_to_where_the_dashboard_is(prefix: str, name: str, value: str, sent: str) -> None:
    messages: list[Message] = []

    async def keep(message: Message) -> None:
        messages.append(message)

    start = {"type": "http.response.start", "status": 200, "headers": [(name.encode(), value.encode())]}
    send = outward(keep, prefix, "here.test:8000", "_8000~bapo")

    async def answer() -> None:
        await send(start)

    asyncio.run(answer())
    assert messages[0]["headers"] == [(name.encode(), sent.encode())]


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, Any]:
    return {"public_url": PUBLIC}


@pytest.fixture(scope="module")
def address(backend_server: BackendServer) -> Iterator[str]:
    """The dashboard at its root, of which it serves nothing but the path."""
    with serving(create_app(FrontendSettings(backend_url=backend_server.url, public_url=PUBLIC))) as url:
        yield url


@pytest.fixture
def browser(address: str, backend_server: BackendServer) -> Iterator[httpx.Client]:
    """A browser that has logged in."""
    with httpx.Client(base_url=address, timeout=60, headers={"Origin": address}) as client:
        answer = client.post("/tools/bapo/login", data={"secret": backend_server.admin_token})
        assert (answer.status_code, answer.headers["location"]) == (303, "/tools/bapo/runs")
        yield client


@pytest.fixture(scope="module")
def admin(address: str, backend_server: BackendServer) -> Iterator[Client]:
    """A script that is given the address of the dashboard with its path."""
    with Client(f"{address}/tools/bapo/", token=backend_server.admin_token) as client:
        yield client


def test_a_page_leads_to_the_login_and_the_login_back_to_it(address: str, backend_server: BackendServer) -> None:
    with httpx.Client(base_url=address, timeout=60, headers={"Origin": address}) as stranger:
        answer = stranger.get("/tools/bapo/prompts/a%2Fb?project=x")
        assert answer.headers["location"] == "/tools/bapo/login?next=/prompts/a/b%3Fproject%3Dx"
        page = stranger.get(answer.headers["location"]).text
        actions = set(re.findall(r'action="([^"]*)"', page))
        assert actions == {"/tools/bapo/login?next=/prompts/a/b%3Fproject%3Dx"}
        answer = stranger.post(actions.pop(), data={"secret": backend_server.admin_token})
        assert answer.headers["location"] == "/tools/bapo/prompts/a/b?project=x"
        assert "; path=/tools/bapo;" in answer.headers["set-cookie"].lower()
        assert {cookie.name for cookie in stranger.cookies.jar} == {"bapo_session_1~tools~bapo"}
        answer = stranger.post("/tools/bapo/logout")
        assert answer.json() == {"address": "/tools/bapo/login"}
        assert not stranger.cookies


def test_a_browser_is_logged_in_at_two_dashboards_of_one_host(address: str, backend_server: BackendServer) -> None:
    settings = FrontendSettings(backend_url=backend_server.url, session_check_seconds=0)
    with serving(create_app(settings)) as other, httpx.Client(timeout=60) as browser:
        for place in (other, f"{address}/tools/bapo"):
            origin = {"Origin": place.removesuffix("/tools/bapo")}
            answer = browser.post(f"{place}/login", data={"secret": backend_server.admin_token}, headers=origin)
            assert answer.status_code == 303
        # Logged in at the second, still at the first; logged out of the second, still at the first.
        assert browser.get(f"{other}/runs").status_code == 200
        assert browser.get(f"{address}/tools/bapo/runs").status_code == 200
        browser.post(f"{address}/tools/bapo/logout", headers={"Origin": address})
        assert browser.get(f"{other}/runs").status_code == 200
        assert browser.get(f"{address}/tools/bapo/runs").status_code == 303
        assert browser.get(f"{other}/api/v1/me").status_code == 200


def test_the_root_of_the_path_leads_home(browser: httpx.Client) -> None:
    for path in ("/tools/bapo", "/tools/bapo/"):
        assert browser.get(path).headers["location"] == "/tools/bapo/runs"
    assert browser.get("/tools/bapo/sweeps").headers["location"] == "/tools/bapo/studies"


@pytest.mark.parametrize("path", ["/", "/runs", "/tools", "/tools/bapox", "/login", "/assets/logo.svg"])
def test_without_the_path_a_page_says_where_the_dashboard_is(address: str, path: str) -> None:
    answer = httpx.get(address + path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert f"BAPO is served under {PUBLIC}: put /tools/bapo before the address" in answer.text


def test_without_the_path_the_api_says_so_too(address: str) -> None:
    answer = httpx.get(f"{address}/api/v1/runs")
    assert (answer.status_code, answer.json()["code"], answer.json()["value"]) == (404, "wrong_prefix", "/api/v1/runs")
    answer = httpx.post(f"{address}/login", data={"secret": "x"})
    assert (answer.status_code, answer.json()["code"]) == (404, "wrong_prefix")


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/tools/bapo/healthz", "/tools/bapo/readyz"])
def test_a_health_check_knows_no_path(address: str, path: str) -> None:
    assert httpx.get(address + path).status_code in (200, 503)


def test_the_document_of_a_page_asks_for_nothing_outside(browser: httpx.Client) -> None:
    for path in ("/tools/bapo/runs", "/tools/bapo/queue"):
        page = browser.get(path).text
        asked = re.findall(r'(?:src|href|data-plotly|data-table|data-table-rest)="([^"]*)"', page)
        assert len(asked) > 10
        assert [each for each in asked if not each.startswith("/tools/bapo/")] == []
        for each in asked:
            assert browser.get(each).status_code == 200, each
        config = json.loads(re.findall(r'id="_dash-config"[^>]*>(.*?)</script>', page)[0])
        assert config["requests_pathname_prefix"] == "/tools/bapo/"


def _addresses_in(content: object) -> Iterator[str]:
    """Every `href` and `src` of elements of HTML and Mantine; our own links are given ours, their script the rest."""
    if isinstance(content, list) and len(content) == 3 and content[0] == "Link" and isinstance(content[1], dict):
        yield from _addresses_in(content[2])
    elif isinstance(content, list):
        for each in content:
            yield from _addresses_in(each)
    elif isinstance(content, dict):
        is_ours = content.get("type") in ("Link", "Location")
        for name, value in content.items():
            if name in ("href", "src") and isinstance(value, str):
                yield value
            elif is_ours and name == "props":
                yield from _addresses_in(value.get("children"))
            else:
                yield from _addresses_in(value)


def test_every_page_is_found_by_the_address_that_its_browser_names(
    browser: httpx.Client, address: str, admin: Client
) -> None:
    run = admin.create_run(RunCreate(name="one", recipe="countdown-demo"))
    board = admin.create_board(BoardCreate(name="board"))
    pages = ["runs", "new", "compare", "paper", "prompts", "prompt-lists", "boards", "studies", "studies/new", "queue"]
    pages += ["workers", "account", "people", "worker-tokens", "projects", "audit", "prices", "storage", "alerts"]
    pages += ["alerts/rules", "alerts/webhooks", "data", f"runs/{run.id}", f"boards/{board.id}"]
    pages += [f"runs/{run.id}?tab={tab}" for tab in ("artifacts", "findings", "walk", "config", "log")]
    pages += [f"compare?runs={run.id}", f"paper?runs={run.id}"]
    for page in pages:
        whole = f"{address}/tools/bapo/{page}"
        answer = browser.get("/tools/bapo/_dash-layout", headers={"Referer": whole})
        assert answer.status_code == 200
        assert "There is no page at" not in answer.text, page
        assert '"Page not found"' not in answer.text, page
        found = set(_addresses_in(answer.json()))
        assert len(found) > 5
        wrong = [each for each in found if not each.startswith(("/tools/bapo/", "#"))]
        assert wrong == [], page


def test_scripts_use_the_api_its_description_and_its_redirects(admin: Client, browser: httpx.Client) -> None:
    assert admin.me().role == "admin"
    described = browser.get("/tools/bapo/api/v1/openapi.json").json()
    assert described["servers"] == [{"url": "/tools/bapo/", "description": "This server."}]
    reference = browser.get("/tools/bapo/api/v1/docs").text
    assert [each for each in re.findall(r'(?:href|src)="([^#"]*)"', reference) if "://" not in each] == ["openapi.json"]
    answer = browser.get("/tools/bapo/api/v1/runs/")
    assert answer.status_code in (307, 404)
    assert answer.headers.get("location", "/tools/bapo/api/v1/runs") == "/tools/bapo/api/v1/runs"


def test_links_that_leave_the_dashboard_have_the_path(
    admin: Client, browser: httpx.Client, backend_server: BackendServer
) -> None:
    run = admin.create_run(RunCreate(name="linked", recipe="countdown-demo"))
    report = browser.get(f"/tools/bapo/reports/paper.html?runs={run.id}").text
    assert f'href="{PUBLIC}/runs/{run.id}"' in report
    documents = browser.get("/tools/bapo/documents/README.md").text
    assert 'href="/tools/bapo/runs"' in documents
    assert re.findall(r'(?:href|src)="(/(?!tools/bapo/)[^"]*)"', documents) == []
    made = admin.create_person(PersonCreate(name="ada"))
    assert made.link is not None
    page = browser.get(f"/tools/bapo{made.link.path}").text
    assert 'action="/tools/bapo/set-password"' in page
    assert backend_server.settings.oidc_redirect_uri == f"{PUBLIC}/login/callback"
