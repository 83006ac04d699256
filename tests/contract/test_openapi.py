"""The description of the API, and the server held to it: by the requests that it shows and by generated ones."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.adapter.parameters import OpenApiParameter
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from backend.openapi.description import describe
from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.config.patterns import IN_WORDS
from tests.contract.description import described
from tests.support.declared import ROUTES
from tests.support.drawing import examples, is_thorough
from tests.support.services import BackendServer

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
FEW = settings(
    examples(0.2),
    suppress_health_check=list(HealthCheck),
    # What was found by chance in one run would be missing in the next.
    derandomize=not is_thorough(),
    database=None,
)


# Names alone: every process of pytest collects them, and one makes the description.
UNDESCRIBED = {"GET /metrics", "GET /api/v1/docs", "GET /api/v1/openapi.json"}
NAMES = [
    name
    for line in ROUTES.strip().splitlines()
    if (name := line.split(maxsplit=1)[1].replace(":path}", "}")) not in UNDESCRIBED
]
# Streams do not end; a logout would end the session of the next request; without a broker the server is not ready.
REQUESTABLE = [name for name in NAMES if not name.endswith(("/events", "/readyz")) and "/auth/" not in name]


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return described()


@pytest.fixture(scope="module")
def requestable(description: dict[str, Any]) -> dict[str, Any]:
    found = schemathesis.openapi.from_dict(description).get_all_operations()
    return {f"{each.ok().method.upper()} {each.ok().path}": each.ok() for each in found if isinstance(each, Ok)}


def draft(admin: Client) -> str:
    """Make a run that waits for its start, and return its identifier."""
    return admin.create_run(RunCreate(name="draft", recipe="countdown-demo", start=False)).id


@pytest.fixture(scope="module")
def unchanged_run(admin: Client) -> str:
    """Make a run that nothing changes or deletes."""
    return draft(admin)


def shown_request(operation: APIOperation[Any, Any, Any], run_id: str) -> Case[Any]:
    """Make the request that the description shows: its examples, and for a run this one."""

    def value(parameter: OpenApiParameter) -> Any:
        schema = parameter.definition["schema"]
        if parameter.name in ("run", "run_id"):
            return [run_id] if schema.get("type") == "array" else run_id
        shown = [*schema.get("examples", ()), *schema.get("enum", ())]
        return shown[0] if shown else schema.get("minimum", 1) if schema.get("type") == "integer" else "nothing"

    contents = operation.definition.raw.get("requestBody", {}).get("content", {})
    media_type = next(iter(contents), None)
    return operation.Case(
        path_parameters={each.name: value(each) for each in operation.path_parameters},
        query={each.name: value(each) for each in operation.query if each.is_required},
        body=NOT_SET if media_type is None else contents[media_type].get("example", b"nothing"),
        media_type=media_type,
    )


def validate(case: Case[Any], server: BackendServer) -> None:
    """Send the request with an administrator's or a worker's token and hold the answer to the description."""
    is_workers = case.operation.definition.raw["x-permission"] == "work"
    token = server.worker_token if is_workers else server.admin_token
    headers = {"Authorization": f"Bearer {token}"}
    case.call_and_validate(base_url=server.url, headers=headers, checks=CHECKS, timeout=60)


@pytest.mark.parametrize("name", REQUESTABLE)
def test_the_request_that_is_shown_is_answered_as_described(
    name: str, requestable: dict[str, Any], backend_server: BackendServer, admin: Client, unchanged_run: str
) -> None:
    run_id = unchanged_run if name.startswith("GET ") or "{run_id}" not in name else draft(admin)
    validate(shown_request(requestable[name], run_id), backend_server)


@pytest.mark.api
@pytest.mark.parametrize("name", REQUESTABLE)
def test_the_server_keeps_to_its_description(
    name: str, requestable: dict[str, Any], backend_server: BackendServer, admin: Client
) -> None:
    run_id = draft(admin)

    @FEW
    @given(case=requestable[name].as_strategy(), is_known=st.booleans())
    def check(case: Case[Any], is_known: bool) -> None:
        if is_known and "run_id" in case.path_parameters:
            case.path_parameters["run_id"] = run_id
        validate(case, backend_server)

    check()


def operations(description: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method} {path}", operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_declared_route_is_described(description: dict[str, Any]) -> None:
    assert {name.upper() for name, _ in operations(description)} == {name.upper() for name in NAMES}


def test_every_operation_is_explained(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        assert operation["summary"], name
        assert operation["description"], name
        assert set(operation["tags"]) <= {tag["name"] for tag in description["tags"]}, name
        assert "security" in operation, name
    identifiers = [operation["operationId"] for _, operation in operations(description)]
    assert len(set(identifiers)) == len(identifiers)
    assert {"create_run", "get_metrics", "validate_config"} <= set(identifiers)


def test_every_pattern_of_a_request_is_told_in_words(description: dict[str, Any]) -> None:
    def patterns(part: Any) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(patterns, part))
        if not isinstance(part, dict):
            return set()
        own = {part["pattern"]} if isinstance(part.get("pattern"), str) else set()
        return own.union(*map(patterns, part.values()))

    assert patterns(description) <= set(IN_WORDS)


def test_bodies_have_examples(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    for name in ("RunCreate", "ConfigCheck", "ParameterChange", "RunUpdate", "Login"):
        properties = schemas[name]["properties"].values()
        assert "examples" in schemas[name] or any("examples" in each for each in properties), name


def test_every_body_has_an_example_that_its_schema_allows(description: dict[str, Any]) -> None:
    schemas, examples = {}, {}
    for name, operation in operations(description):
        answers = {status: answer for status, answer in operation["responses"].items() if status.startswith("2")}
        for part, holder in {"request": operation.get("requestBody", {}), **answers}.items():
            media = holder.get("content", {}).get("application/json")
            if media is not None:
                schemas[f"{name}, {part}"], examples[f"{name}, {part}"] = media["schema"], media["example"]
    # One for all: each would compile all components that it leads to.
    validator = jsonschema_rs.validator_for({"components": description["components"], "properties": schemas})
    wrong = sorted({str(error.instance_path[0]) for error in validator.iter_errors(examples)})
    assert not wrong, "give the fields of these bodies `examples`"


def test_refusals_are_told_with_their_meaning(description: dict[str, Any]) -> None:
    responses = description["components"]["responses"]
    stop = description["paths"]["/api/v1/runs/{run_id}/stop"]["post"]["responses"]
    assert {status for status in stop if "$ref" in stop[status]} == {"401", "403", "404", "409", "422", "503"}
    assert set(stop["404"]) == {"$ref"}
    assert "may not see" in responses["Error404"]["description"]
    health = description["paths"]["/healthz"]["get"]["responses"]
    assert "401" not in health


def test_the_reference_page_shows_every_operation_without_scripts(
    admin: Client, description: dict[str, Any], backend_server: BackendServer
) -> None:
    answer = admin.http.get("/docs")
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "<script" not in answer.text
    assert "'unsafe-inline'" not in answer.headers["Content-Security-Policy"]
    for _, operation in operations(description):
        assert f'id="{operation["operationId"]}"' in answer.text
    with backend_server.http() as nobody:
        assert nobody.get("/api/v1/docs").status_code == 401


def test_nobody_is_given_half_a_description(monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on = threading.Event(), threading.Event()
    document: dict[str, Any] = {"components": {"schemas": {}}, "paths": {}}

    def slow(linked: dict[str, Any]) -> None:
        began.set()
        assert go_on.wait(60)
        linked["is_whole"] = True

    monkeypatch.setattr("backend.openapi.description.add_links", slow)
    app: Any = SimpleNamespace(openapi=lambda: document, routes=())
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(describe, app)
        assert began.wait(60)
        second = pool.submit(lambda: dict(describe(app)))
        # As long as the first one is at work, the second has no answer: were it to have one, it would come by now.
        assert not wait([second], timeout=0.2).done
        go_on.set()
        assert second.result()["is_whole"] is first.result()["is_whole"] is True


def test_errors_have_one_form(description: dict[str, Any]) -> None:
    for name, operation in operations(description):
        answers = operation["responses"]
        assert answers["4XX"]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorBody"), name
    assert "HTTPValidationError" not in description["components"]["schemas"]


def test_the_description_is_served_behind_the_login(admin: Client, description: dict[str, Any]) -> None:
    served = admin.http.get("/openapi.json").json()
    assert served["paths"].keys() == description["paths"].keys()
