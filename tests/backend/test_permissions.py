"""Every route says who may call it, and nothing but the health check answers a stranger."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

from backend.app import create_app
from backend.kit.permissions import Permission, declared_routes
from backend.settings.environment import Settings
from tests.support.services import BackendServer

SIGNING_IN = {
    ("GET", "/api/v1/auth/methods"),
    ("POST", "/api/v1/auth/single-sign-on"),
    ("POST", "/api/v1/auth/single-sign-on/return"),
}
"""What the login page needs: tests/security/test_single_sign_on.py."""


SHARED = {("GET", "/api/v1/shared-board"), ("GET", "/api/v1/shared-board/panel")}
"""With the secret of a read-only link: tests/security/test_shared_boards.py."""


@pytest.fixture
def app(backend_server: BackendServer) -> FastAPI:
    return create_app(backend_server.settings)


def test_every_route_declares_who_may_call_it(app: FastAPI) -> None:
    routes = declared_routes(app)
    assert len(routes) > 30
    open_routes = {(route.method, route.path) for route in routes if route.permission is Permission.OPEN}
    assert open_routes == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("POST", "/api/v1/auth/login"),
        # With the code of a one-time link.
        ("POST", "/api/v1/auth/password"),
        *SHARED,
        *SIGNING_IN,
    }


def test_every_change_takes_more_than_reading(app: FastAPI) -> None:
    readers_changes = {
        (route.method, route.path)
        for route in declared_routes(app)
        if route.method not in ("GET", "HEAD") and route.permission is Permission.READ
    }
    assert readers_changes == {
        ("POST", "/api/v1/auth/logout"),
        # Questions with a body, which change nothing.
        ("POST", "/api/v1/configs/validate"),
        ("POST", "/api/v1/configs/estimate"),
        ("POST", "/api/v1/runs/{run_id}/what-if"),
        ("POST", "/api/v1/alert-rules/preview"),
        ("POST", "/api/v1/studies/preview"),
        # The columns of the run list, and a star, are the reader's own.
        ("PUT", "/api/v1/account/run-list"),
        ("PUT", "/api/v1/runs/{run_id}/star"),
        ("DELETE", "/api/v1/runs/{run_id}/star"),
    }


def test_an_app_with_an_undeclared_route_does_not_start(app: FastAPI) -> None:
    app.get("/forgotten")(lambda: "secret")
    with pytest.raises(RuntimeError, match="/forgotten does not declare who may call it"):
        declared_routes(app)


WATCHED = ("/healthz", "/readyz", "/metrics")
"""For machines; who may read the metrics is tested with them."""


def test_nothing_answers_without_credentials(app: FastAPI, backend_server: BackendServer) -> None:
    elsewhere = (*WATCHED, "/api/v1/auth/password", *(path for _, path in SIGNING_IN | SHARED))
    paths = [(route.method, route.path) for route in declared_routes(app) if route.path not in elsewhere]
    paths += [("GET", "/"), ("GET", "/docs"), ("GET", "/openapi.json"), ("GET", "/api/v1/nothing"), ("TRACE", "/")]
    with backend_server.http() as http:
        assert http.get("/healthz").status_code == 200
        for method, path in paths:
            address = path.replace("{run_id}", "x").replace("{name}", "x").replace("{prompt_id:path}", "x")
            answer = http.request(method, address)
            assert answer.status_code == 401, (method, path)
            assert answer.json()["remedy"]


def test_a_workers_token_opens_only_the_workers_routes(app: FastAPI, backend_server: BackendServer) -> None:
    with backend_server.http() as http:
        http.headers["Authorization"] = f"Bearer {backend_server.worker_token}"
        for route in declared_routes(app):
            if route.permission in (Permission.OPEN, Permission.SCRAPE, Permission.WORK):
                continue
            address = route.path.replace("{run_id}", "x").replace("{name}", "x").replace("{prompt_id:path}", "x")
            answer = http.request(route.method, address)
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), route


def test_no_persons_token_opens_the_workers_routes(app: FastAPI, backend_server: BackendServer) -> None:
    work = [route for route in declared_routes(app) if route.permission is Permission.WORK]
    assert len(work) == 14
    with backend_server.http() as http:
        http.headers["Authorization"] = f"Bearer {backend_server.admin_token}"
        for route in work:
            answer = http.request(route.method, route.path.replace("{run_id}", "x"))
            assert answer.status_code == 403, route


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, backend_server: BackendServer) -> None:
    for name, value in backend_server.settings.model_dump(mode="json", exclude_none=True).items():
        monkeypatch.setenv(f"BAPO_{name.upper()}", str(value))
    monkeypatch.setenv("BAPO_ALLOWED_HOSTS", "Train.Example, 10.0.0.1 ,")
    settings = Settings()
    assert {"train.example", "10.0.0.1", "localhost"} <= settings.hosts
    assert "" not in settings.hosts
