"""Calls of every callback with values of other types than pages send: refused with what to do, and never a failure."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bapo.api.runs import RunCreate
from bapo.client import Client
from frontend.app import create_app
from frontend.server.gate import Gate
from frontend.server.settings import FrontendSettings
from tests.support.services import BackendServer
from tests.support.serving import serving

SEED = 30
ROUNDS = 12
"""Calls of each callback."""
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2**70,
        1.5,
        1e300,
        "",
        "x",
        "0",
        "0,5",
        "a=b",
        "\x00",
        "é" * 300,
        "/runs/x",
        "?a=%ff",
    ),
    *([], [1], ["x"], [None], [[]], [{}], [["x"]], {}, {"a": 1}, {"id": 1}, {"id": "x"}, {"id": []}, {"path": 1}),
    *({"run_id": 1, "step": "x"}, {"path": "/runs", "search": 3}, {"data": {}}, {"points": [1]}, {"what": "x"}),
)


@pytest.fixture(scope="module")
def gate(backend_server: BackendServer) -> Gate:
    return create_app(FrontendSettings(backend_url=backend_server.url))


@pytest.fixture(scope="module")
def browser(gate: Gate, backend_server: BackendServer) -> Iterator[httpx.Client]:
    """A browser of the administrator, who may do what callbacks ask for."""
    with serving(gate) as url, httpx.Client(base_url=url, timeout=60, headers={"Origin": url}) as client:
        assert client.post("/login", data={"secret": backend_server.admin_token}).status_code == 303
        yield client


def _identifier(declared: str, draw: random.Random) -> Any:
    """One that fits what the callback declares, whose patterns match anything."""
    if not declared.startswith("{"):
        return declared
    return {
        name: draw.choice(VALUES[9:16]) if isinstance(value, list) else value
        for name, value in json.loads(declared).items()
    }


def _given(declared: dict[str, str], draw: random.Random) -> Any:
    def one() -> dict[str, Any]:
        given = {"id": _identifier(declared["id"], draw), "property": declared["property"]}
        return given if draw.random() < 0.05 else {**given, "value": draw.choice(VALUES)}

    is_pattern = '["ALL"]' in declared["id"]
    return [one() for _ in range(draw.randrange(3))] if is_pattern else one()


def _name(given: dict[str, Any]) -> str:
    identifier = given["id"]
    named = identifier if isinstance(identifier, str) else json.dumps(identifier, sort_keys=True, separators=(",", ":"))
    return f"{named}.{given['property']}"


def _call(output: str, callback: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    inputs = [_given(each, draw) for each in callback["inputs"]]
    flat = [one for each in inputs for one in (each if isinstance(each, list) else [each])]
    changed = [_name(each) for each in flat if draw.random() < 0.7]
    named = [each.rpartition(".") for each in output.strip(".").split("...")]
    outputs: Any = [{"id": _output_id(place), "property": name.partition("@")[0]} for place, _, name in named]
    return {
        "output": output,
        "outputs": outputs if output.startswith("..") else outputs[0],
        "inputs": inputs,
        "state": [_given(each, draw) for each in callback["state"]],
        "changedPropIds": changed,
    }


def _output_id(place: str) -> Any:
    return json.loads(place) if place.startswith("{") else place


@pytest.fixture(scope="module")
def callbacks(gate: Gate) -> dict[str, Any]:
    """Those that the server runs, by their outputs."""
    found = {name: each for name, each in gate._callbacks.items() if each.get("callback") is not None}
    assert len(found) > 50
    return found


@pytest.fixture
def failures(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What was answered with a failure, as a test adds it; none, and no traceback in the log, is what it ends with."""
    failed: list[str] = []
    yield failed
    assert failed == []
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def _note(failures: list[str], answer: httpx.Response, what: object) -> None:
    if answer.status_code >= 500 or "Traceback" in answer.text:
        failures.append(f"{answer.status_code} {what}")


def test_no_callback_fails_at_values_of_other_types(
    callbacks: dict[str, Any], browser: httpx.Client, backend_server: BackendServer, failures: list[str]
) -> None:
    with Client(backend_server.url, token=backend_server.admin_token) as admin:
        admin.create_run(RunCreate(name="one", recipe="countdown-demo"))
    draw = random.Random(SEED)
    refused, statuses = [], set()
    for name, callback in callbacks.items():
        for _ in range(ROUNDS):
            call = _call(name, callback, draw)
            answer = browser.post("/_dash-update-component", json=call)
            _note(failures, answer, json.dumps(call))
            statuses.add(answer.status_code)
            refused += [answer.json()] if answer.status_code == 400 else []
    assert len(refused) > len(callbacks)
    # An unpressed button changes nothing.
    assert {200, 204, 400} <= statuses
    assert {each["code"] for each in refused} == {"malformed_call"}
    assert all(each["remedy"].endswith("reload the page, which may be older than the server") for each in refused)


def test_no_call_fails_whose_parts_have_other_types(
    callbacks: dict[str, Any], browser: httpx.Client, failures: list[str]
) -> None:
    draw = random.Random(SEED)
    parts = ("output", "outputs", "inputs", "state", "changedPropIds", "parsedChangedPropsIds", "more")
    for name, callback in callbacks.items():
        call = _call(name, callback, draw)
        part = draw.choice(parts)
        changed = {**call, part: draw.choice(VALUES)}
        query = draw.choice(("", "?cacheKey=a", "?cacheKey=a&job=1", "?cancelJob=1", "?oldJob=1"))
        _note(failures, browser.post(f"/_dash-update-component{query}", json=changed), json.dumps(changed) + query)


def test_no_other_address_fails_at_a_body_of_another_kind(browser: httpx.Client, failures: list[str]) -> None:
    draw = random.Random(SEED)
    addresses: tuple[str, ...] = (
        "/login",
        "/set-password",
        "/logout",
        "/login?next=%00",
        "/login/callback",
        "/login/single-sign-on",
    )
    addresses += ("/", "/runs", "/live/runs", "/reports/paper.html", "/documents/README.md", "/shared", "/_dash-layout")
    addresses += ("/_dash-dependencies", "/_reload-hash", "/_favicon.ico", "/assets/logo.svg", "/nowhere")
    names = ("name", "password", "again", "code", "secret", "\x00", "name[]", "")
    [(name, session)] = browser.cookies.items()
    for address in addresses:
        for _ in range(ROUNDS):
            browser.cookies.set(name, session)
            form = {draw.choice(names): str(draw.choice(VALUES)) for _ in range(draw.randrange(4))}
            bodies: tuple[dict[str, Any], ...] = (
                {"data": form},
                {"json": draw.choice([value for value in VALUES if value is not None])},
                {"content": draw.randbytes(50), "headers": {"Content-Type": "multipart/form-data"}},
                {"files": {"name": b"x"}},
                {"content": b"\xff=%ff&name=%00&password=%ed%a0%80&code=\xff"},
            )
            body = draw.choice(bodies)
            _note(
                failures,
                browser.request(draw.choice(("POST", "PUT", "DELETE", "PATCH")), address, **body),
                (address, body),
            )
