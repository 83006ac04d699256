"""The client's table and the server's routes are the same."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from backend.app import create_app
from bapo.client.call import Endpoint
from bapo.client.calls import Calls
from tests.support.services import BackendServer

NOT_IN_THE_TABLE = {
    # Their own methods: the login's answer carries a cookie, streams do not end.
    ("POST", "/auth/login"),
    # Of the dashboard, for a browser with its cookies.
    ("POST", "/auth/single-sign-on"),
    ("POST", "/auth/single-sign-on/return"),
    ("GET", "/events"),
    ("GET", "/runs/*/events"),
    # A file that `bapo.client.downloads` streams.
    ("GET", "/runs/*/artifacts/*/content"),
    # One that `worker.contents` streams.
    ("GET", "/workers/runs/*/contents/*"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    # For machines that watch; `/metrics` beside the API has the name of a call within it.
    ("GET", "/healthz"),
    ("GET", "/readyz"),
}


def calls() -> Iterator[tuple[str, str]]:
    for endpoint in {name: value for base in reversed(Calls.__mro__) for name, value in vars(base).items()}.values():
        if isinstance(endpoint, Endpoint):
            describe = endpoint.describe
            hints = get_type_hints(describe)
            arguments: dict[str, Any] = {}
            for name, parameter in inspect.signature(describe).parameters.items():
                if name != "self" and parameter.default is parameter.empty:
                    arguments[name] = "ARGUMENT" if hints[name] in (str, int) else []
            call = describe(None, **arguments)
            yield call.method, call.path.replace("ARGUMENT", "*")


@pytest.fixture
def routes(backend_server: BackendServer) -> set[tuple[str, str]]:
    found = set()
    for route in iter_route_contexts(create_app(backend_server.settings).routes):
        assert isinstance(route.original_route, APIRoute)
        path = re.sub(r"\{[^}]*\}", "*", str(route.path)).removeprefix("/api/v1")
        found |= {(method, path) for method in route.methods or ()}
    return found


def test_every_call_has_a_route_and_every_route_a_call(routes: set[tuple[str, str]]) -> None:
    assert set(calls()) == routes - NOT_IN_THE_TABLE
