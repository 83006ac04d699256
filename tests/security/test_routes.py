"""Every route of the server and every path of the dashboard, tried as everybody."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import BaseModel, Strict
from sqlalchemy import update

import frontend
from backend.app import create_app
from backend.kit.database import Database
from backend.kit.permissions import declared_routes
from backend.kit.principal import hash_of
from backend.models import ApiToken
from bapo.api.accounts import Login, TokenCreate
from bapo.api.runs import RunCreate
from bapo.client import SESSION_COOKIE, Client
from bapo.report.document import ASSETS as REPORT_ASSETS
from frontend.app import PAGES
from frontend.app import create_app as create_dashboard
from frontend.server.settings import FrontendSettings
from tests.support.declared import BODIES, DASH_PATHS, OPEN_PAGES, OWN, ROUTES
from tests.support.services import BackendServer, add_person
from tests.support.serving import serving

DECLARED = [(permission, method, path) for permission, method, path in map(str.split, ROUTES.strip().splitlines())]
PEOPLE = ("viewer", "member", "owner", "outsider", "boss", "admin", "reader")
NOBODY = ("anonymous", "expired", "revoked")


def test_every_route_is_declared_here(backend_server: BackendServer) -> None:
    app = create_app(backend_server.settings)
    found = {(route.permission.value, route.method, route.path) for route in declared_routes(app)}
    assert found == set(DECLARED), "declare new routes in tests/support/declared.py, with who may call them"


def test_a_method_that_is_not_there_is_answered_with_all_that_are(backend_server: BackendServer) -> None:
    methods: dict[str, set[str]] = {}
    for _, method, path in DECLARED:
        methods.setdefault(path, set()).add(method)
    headers = {"Authorization": f"Bearer {backend_server.admin_token}"}
    assert len(methods) > 60
    with backend_server.http() as http:
        for path in methods:
            # Of `/runs/x`, say, those of another address that it also could be.
            fitting = [methods[other] for other in methods if _could_be(path, other)]
            answer = http.request("TRACE", path, headers=headers)
            assert answer.status_code == 405, path
            assert set(answer.headers["Allow"].split(", ")) == set().union(*fitting), path


def _could_be(path: str, other: str) -> bool:
    """Whether an address, its braces taken as they stand, is also that of another route."""
    ours, theirs = path.split("/"), other.split("/")
    return len(ours) == len(theirs) and all(
        mine == their or their.startswith("{") for mine, their in zip(ours, theirs, strict=True)
    )


def test_a_flag_is_true_or_false_and_no_number(backend_server: BackendServer) -> None:
    lax = set()
    for route in iter_route_contexts(create_app(backend_server.settings).routes):
        for parameter in route.dependant.body_params:
            lax |= set(_lax_flags(parameter.field_info.annotation))
    # Query parameters are texts, and these filters are a body of two routes besides.
    assert lax == {"RunFilters.starred"}


def _lax_flags(annotation: Any) -> Iterator[str]:
    for part in _parts(annotation):
        if isinstance(part, type) and issubclass(part, BaseModel):
            for name, info in part.model_fields.items():
                parts = list(_parts(info.rebuild_annotation()))
                if bool in parts and not any(isinstance(each, Strict) for each in parts):
                    yield f"{part.__name__}.{name}"
                yield from _lax_flags(info.rebuild_annotation())


def _parts(annotation: Any) -> Iterator[Any]:
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    for inner in get_args(annotation):
        yield from _parts(inner)


def test_the_server_has_no_websocket(backend_server: BackendServer) -> None:
    app = create_app(backend_server.settings)
    assert all(isinstance(route.original_route, APIRoute) for route in iter_route_contexts(app.routes))
    for path in ("/api/v1/events", "/ws", "/"):
        assert upgraded(backend_server.url, path, origin=backend_server.url) != 101


@pytest.fixture(scope="module")
def secrets(backend_server: BackendServer, admin: Client) -> Mapping[str, str | None]:
    """What each caller comes with."""
    owner = add_person(backend_server, "olga")
    with backend_server.client(owner) as client:
        reader = client.create_token(TokenCreate(name="reader", scopes=["read"])).secret
        expired = client.create_token(TokenCreate(name="expired")).secret
        revoked = client.create_token(TokenCreate(name="revoked"))
        client.revoke_token(revoked.id)
    database = Database(backend_server.settings.database_url)
    with database.session() as session, session.begin():
        past = datetime.now(UTC) - timedelta(seconds=1)
        query = update(ApiToken).where(ApiToken.secret_hash == hash_of(expired))
        session.execute(query.values(expires_at=past))
    database.close()
    return {
        "viewer": add_person(backend_server, "vera", "viewer"),
        "member": add_person(backend_server, "mel"),
        "owner": owner,
        "outsider": add_person(backend_server, "otto", projects={"other": "member"}),
        "boss": add_person(backend_server, "boss", projects={"default": "admin"}),
        "admin": admin.create_token(TokenCreate(name="matrix", scopes=["admin"])).secret,
        "worker": backend_server.worker_token,
        "reader": reader,
        "expired": expired,
        "revoked": revoked.secret,
        "anonymous": None,
    }


def expected(caller: str, permission: str, method: str, path: str) -> str:
    """What the caller must be answered: refused, forbidden, hidden or let in."""
    if caller in NOBODY:
        return "refused"
    if caller == "worker":
        return "let in" if permission == "work" else "forbidden"
    granted = {"read"}
    granted |= {"account"} if caller != "reader" else set()
    granted |= {"write", "manage"} if caller not in ("viewer", "reader") else set()
    granted |= {"admin"} if caller == "admin" else set()
    is_managed_by_others = permission == "manage" and caller not in ("outsider", "boss", "admin")
    is_anothers = (method, path) in OWN and caller == "member"
    if permission not in granted or is_managed_by_others or is_anothers:
        return "forbidden"
    if caller == "outsider" and ("{run_id}" in path or "{project_id}" in path):
        return "hidden"
    return "let in"


def outcome(status: int) -> str:
    return {401: "refused", 403: "forbidden", 404: "hidden"}.get(status, "let in")


class Targets:
    """Addresses of things that exist, made anew for each call that may change them."""

    def __init__(self, owner: Client, project_id: str) -> None:
        self._owner = owner
        self._project_id = project_id
        self._kept = self._new()

    def _new(self) -> str:
        return self._owner.create_run(RunCreate(name="target", recipe="countdown-demo", start=False)).id

    def address(self, method: str, path: str, *, changes: bool) -> str:
        run_id = self._new() if changes and method != "GET" and "{run_id}" in path else self._kept
        address = path.replace("{run_id}", run_id).replace("{project_id}", self._project_id)
        for name in ("prompt_id:path", *_NAMES):
            address = address.replace(f"{{{name}}}", "nothing")
        address = address.replace("{kind}", "never_solved")
        assert "{" not in address, address
        return address


_NAMES = (
    *("name", "user", "user_id", "session_id", "token_id", "view_id", "resource_id", "rule_id", "alert_id"),
    *("artifact_id", "webhook_id", "delivery_id", "worker_id", "study_id", "control_id", "deletion_id", "chat_id"),
    *("upload_id", "sha256", "board_id", "panel_id", "link_id", "list_id"),
)


@pytest.mark.parametrize("caller", [*PEOPLE, "worker", *NOBODY])
def test_every_route_answers_each_caller_as_declared(
    backend_server: BackendServer, secrets: Mapping[str, str | None], caller: str
) -> None:
    secret = secrets[caller]
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    wrong = []
    with backend_server.client(secrets["owner"]) as owner, backend_server.http() as http:
        http.timeout = httpx.Timeout(60)
        targets = Targets(owner, owner.me().projects[0].id)
        for permission, method, path in DECLARED:
            if permission in ("open", "scrape"):
                continue
            wanted = expected(caller, permission, method, path)
            address = targets.address(method, path, changes=wanted == "let in")
            body = BODIES.get((method, path), {} if method != "GET" and (method, path) not in OWN else None)
            # Streams do not end: the status is enough.
            with http.stream(method, address, headers=headers, json=body) as answer:
                status = answer.status_code
            got = outcome(status)
            # Whoever is let in may be told that there is no such thing.
            if status >= 500 or (got != wanted and not (wanted == "let in" and got == "hidden")):
                wrong.append(f"{method} {address}: {status}, expected {wanted}")
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------- the dashboard's own port


@pytest.fixture(scope="module")
def dashboard(backend_server: BackendServer) -> Iterator[str]:
    """Address of the dashboard."""
    with serving(create_dashboard(FrontendSettings(backend_url=backend_server.url))) as url:
        yield url


def test_every_path_of_the_dashboard_is_declared_and_closed(dashboard: str) -> None:
    pages: Any = create_dashboard(FrontendSettings(backend_url="http://127.0.0.1:1"))._pages
    assert {route.path for route in pages.routes} == DASH_PATHS, "a new path of the dashboard: declare it"
    assets = Path(frontend.__file__).parent / "assets"
    paths = {path.replace("{package_name}", "dash").replace("{fingerprinted_path:path}", "x.js") for path in DASH_PATHS}
    paths |= {f"/assets/{file.relative_to(assets)}" for file in assets.rglob("*") if file.is_file()}
    paths |= {f"/assets/report/{file.name}" for file in REPORT_ASSETS.iterdir()}
    paths |= {page.pattern.replace("(?P<run_id>[^/]+)", "x").replace("(?P<prompt_id>.+)", "y") for page in PAGES}
    paths |= {"/live/runs", "/reports/x", "/nothing", "/api/v1/runs", "/api/v1/nothing", "/healthz/x"}
    open_paths = set()
    with httpx.Client(base_url=dashboard, timeout=60) as http:
        for path in sorted(paths | OPEN_PAGES):
            for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
                answer = http.request(method, path, headers={"Origin": dashboard})
                to_login = answer.status_code == 303 and answer.headers["location"].startswith("/login")
                if answer.status_code not in (401, 404, 405) and not to_login:
                    open_paths.add(path)
    assert open_paths == OPEN_PAGES


def upgraded(url: str, path: str, *, origin: str, cookie: str | None = None) -> int:
    """Status of a WebSocket handshake; 101 would be an open one."""
    parts = urlsplit(url)
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {parts.netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        f"Origin: {origin}",
        *([f"Cookie: {SESSION_COOKIE}={cookie}"] if cookie else []),
    ]
    with socket.create_connection((str(parts.hostname), int(parts.port or 80)), timeout=60) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.recv(64).split()[1])


@pytest.mark.parametrize("origin", ["own", "http://evil.example"])
def test_no_websocket_opens_not_even_for_a_session(dashboard: str, backend_server: BackendServer, origin: str) -> None:
    with Client(backend_server.url) as client:
        _, secret = client.login(Login(token=backend_server.admin_token))
    from_page = dashboard if origin == "own" else origin
    for path in ("/_dash-ws-callback", "/api/v1/events", "/"):
        assert upgraded(dashboard, path, origin=from_page, cookie=secret) != 101, path
