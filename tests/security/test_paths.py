"""Path traversal: every path-like field, in every encoding, at the API and at the dashboard's front door."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from backend.app import create_app
from backend.kit.permissions import declared_routes
from bapo.api.accounts import Login
from bapo.client import SESSION_COOKIE, Client
from frontend.app import create_app as create_dashboard
from frontend.server.settings import FrontendSettings
from tests.support.services import BackendServer, running_backend
from tests.support.serving import serving

SECRET = "canary-8231"
DEEP = "/".join([".."] * 12)
PAYLOADS = (
    "..",
    "../canary.toml",
    "../../canary.toml",
    "%2e%2e%2fcanary.toml",
    "..%2fcanary.toml",
    "%2e%2e/canary.toml",
    "%252e%252e%252fcanary.toml",
    "..%5ccanary.toml",
    "..\\canary.toml",
    "....//canary.toml",
    "..;/canary.toml",
    "%c0%ae%c0%ae/canary.toml",
    "%ef%bc%8e%ef%bc%8e%2fcanary.toml",
    "%u002e%u002e%u002fcanary.toml",
    "x%00",
    "%00",
    "..%00/canary.toml",
    "%2fetc%2fpasswd",
    "//etc/passwd",
    "file:%2f%2f%2fetc%2fpasswd",
    f"{DEEP}/etc/passwd",
    f"{DEEP.replace('/', '%2f')}%2fetc%2fpasswd",
    "x" * 5_000,
    "%ff%fe",
    "%0d%0aSet-Cookie:%20a=b",
    "~root",
    "CON",
    "%F0%9F%92%A5",
)
FEW = ("%2e%2e%2f%2e%2e%2fcanary.toml", "..%5c..%5ccanary.toml", "%00", "%ff", "x" * 5_000, "%2fetc%2fpasswd")


@pytest.fixture(scope="module")
def backend_server(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BackendServer]:
    """A server with secrets all around its folders."""
    folder = tmp_path_factory.mktemp("backend")
    roots = folder / "roots"
    for place in (folder, folder / "runs", folder / "artifacts", roots, roots / "inner"):
        place.mkdir(exist_ok=True)
        (place / "canary.toml").write_text(f'title = "{SECRET}"\n')
    (folder / "outside.jsonl").write_text(json.dumps({"question": SECRET}) + "\n")
    (roots / "link.jsonl").symlink_to(folder / "outside.jsonl")
    with running_backend(postgres_url, folder, resource_roots=str(roots)) as server:
        yield server


def _raw(url: str, method: str, target: str, headers: dict[str, str]) -> tuple[int, bytes]:
    """A request whose target goes out as it is: a client library would tidy it up."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    try:
        connection.putrequest(method, target, skip_host=True)
        connection.putheader("Host", parts.netloc)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _is_harmless(status: int, body: bytes) -> bool:
    # A list of what some runs say of a prompt of that name is empty.
    refused = 300 <= status < 500 or b'"items":[]' in body
    return refused and SECRET.encode() not in body and b"root:" not in body


def test_no_identifier_in_an_address_leads_out(backend_server: BackendServer) -> None:
    headers = {
        "Authorization": f"Bearer {backend_server.admin_token}",
        "Content-Type": "application/json",
        "Content-Length": "0",
    }
    routes = [route for route in declared_routes(create_app(backend_server.settings)) if "{" in route.path]
    assert len(routes) > 40
    for route in routes:
        for payload in FEW:
            target = "/".join(payload if part.startswith("{") else part for part in route.path.split("/"))
            status, body = _raw(backend_server.url, route.method, target, headers)
            assert _is_harmless(status, body), (route, payload, status, body[:300])


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_spelling_of_a_path_reaches_a_file(backend_server: BackendServer, payload: str) -> None:
    headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
    safe = payload.replace("\\", "%5C")
    for place in ("/runs/{}/artifacts/{}/content", "/runs/{}/records", "/runs/{}/prompts/{}", "/resources/{}/preview"):
        target = "/api/v1" + place.replace("{}", safe)
        status, body = _raw(backend_server.url, "GET", target, headers)
        assert _is_harmless(status, body), (target, status, body[:300])


@pytest.fixture(scope="module")
def dashboard(backend_server: BackendServer) -> Iterator[tuple[str, str]]:
    """Address of the dashboard, and the cookie of a session."""
    with Client(backend_server.url) as client:
        _, secret = client.login(Login(token=backend_server.admin_token))
    with serving(create_dashboard(FrontendSettings(backend_url=backend_server.url))) as url:
        yield url, f"{SESSION_COOKIE}={secret}"


def test_the_dashboard_serves_its_own_files_only(dashboard: tuple[str, str]) -> None:
    url, cookie = dashboard
    status, body = _raw(url, "GET", "/assets/style.css", {"Cookie": cookie})
    assert status == 200
    assert b"panel-card" in body
    code = b"from __future__"
    for payload in (*PAYLOADS, "../app.py", "..%2fapp.py", "%2e%2e/app.py", "..%5capp.py", "%252e%252e/app.py"):
        for place in ("/assets/", "/_dash-component-suites/", "/_dash-component-suites/dash/", "/reports/", "/"):
            target = place + payload.replace("\\", "%5C")
            status, body = _raw(url, "GET", target, {"Cookie": cookie, "Accept": "*/*"})
            assert status < 500, (target, status)
            assert SECRET.encode() not in body, target
            assert code not in body, target
            assert b"root:" not in body, target
    # And without a session not even the assets.
    status, _ = _raw(url, "GET", "/assets/style.css", {})
    assert status in (303, 401)


# ---------------------------------------------------------------- paths in bodies


@pytest.mark.parametrize(
    "name",
    [
        "../canary",
        "canary.toml",
        "../canary.toml",
        "ABSOLUTE",
        "file://ABSOLUTE",
        "countdown-demo\x00",
        "",
        "x" * 10_000,
    ],
)
def test_a_recipe_is_a_name_and_never_a_file(backend_server: BackendServer, admin: Client, name: str) -> None:
    absolute = str(backend_server.settings.runs_dir.parent / "canary.toml")
    body = {"name": "x", "recipe": name.replace("ABSOLUTE", absolute), "start": False}
    here = Path.cwd()
    try:
        # Where a relative path would lead to it.
        os.chdir(backend_server.settings.runs_dir)
        for path in ("/runs", "/configs/validate"):
            answer = admin.http.post(path, json=body if path == "/runs" else {"recipe": body["recipe"]})
            refused = answer.status_code == 422 or answer.json().get("valid") is False
            assert refused, answer.text
            assert SECRET not in answer.text
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    "path",
    [
        "ROOTS/../outside.jsonl",
        "ROOTS/inner/../../outside.jsonl",
        "ROOTS/link.jsonl",
        "OUTSIDE",
        "outside.jsonl",
        "../outside.jsonl",
        "ROOTS/%2e%2e/outside.jsonl",
        "ROOTS/\uff0e\uff0e/outside.jsonl",
        "file://OUTSIDE",
        "ROOTS/a\x00/../outside.jsonl",
        "~/outside.jsonl",
        "",
        "/proc/self/environ",
        "/dev/zero",
        "x" * 100_000,
    ],
)
def test_a_resource_lies_beneath_its_roots_whatever_its_path_is_called(
    backend_server: BackendServer, admin: Client, path: str
) -> None:
    folder = backend_server.settings.runs_dir.parent
    named = path.replace("ROOTS", str(folder / "roots")).replace("OUTSIDE", str(folder / "outside.jsonl"))
    for kind in ("dataset", "model", "verifier"):
        body = {"kind": kind, "name": "x", "path": named, "function": "f" if kind == "verifier" else None}
        answer = admin.http.post("/resources", json=body)
        assert answer.status_code == 422, answer.text[:300]
        assert SECRET not in answer.text


def test_an_imports_source_and_name_are_words_not_paths(backend_server: BackendServer, admin: Client) -> None:
    before = sorted(str(path) for path in backend_server.settings.runs_dir.parent.rglob("*"))
    for number, source in enumerate(("../../evil", "/etc/passwd", "..\\..\\evil", "a/../../b", "💥", "x" * 200)):
        body = {"name": f"{source}"[:100], "source": source, "attempts": 1, "config": {}}
        answer = admin.http.post("/imports", json=body)
        assert answer.status_code in (201, 422), (number, answer.text)
    assert sorted(str(path) for path in backend_server.settings.runs_dir.parent.rglob("*")) == before
