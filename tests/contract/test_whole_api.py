"""No request, alone or after others, authenticated or not, makes the server fail."""

from __future__ import annotations

import pytest

from bapo.client import Client
from tests.contract.description import described
from tests.contract.whole_api import bearer, explore
from tests.support.drawing import is_thorough
from tests.support.services import BackendServer

EXAMPLES = 300 if is_thorough() else 12


@pytest.mark.api
@pytest.mark.timeout(600)
def test_an_administrator_and_a_worker_find_no_server_error(backend_server: BackendServer) -> None:
    headers = {"": bearer(backend_server.admin_token), "work": bearer(backend_server.worker_token)}
    statuses = explore(backend_server.url, described(), headers, EXAMPLES)
    assert statuses["200"] + statuses["201"] > EXAMPLES


@pytest.mark.api
@pytest.mark.timeout(600)
def test_a_member_with_the_token_of_no_worker_finds_none_either(backend_server: BackendServer, member: Client) -> None:
    person = {"Authorization": member.http.headers["Authorization"]}
    statuses = explore(backend_server.url, described(), {"": person}, EXAMPLES // 2)
    assert statuses["403"] > 0
    assert statuses["200"] + statuses["201"] > 0


@pytest.mark.api
def test_a_stranger_finds_no_server_error_and_nothing_else(backend_server: BackendServer) -> None:
    statuses = explore(backend_server.url, described(), {"": {}, "open": {}}, 4)
    # 404 and 422: secrets of links to boards that are none.
    assert set(statuses) <= {"401", "200", "404", "422"}


def test_what_makes_something_links_to_what_can_be_done_with_it() -> None:
    made = described()["paths"]["/api/v1/runs"]["post"]["responses"]["201"]["links"]
    assert {"get_run", "update_run", "delete_run", "stop_run", "change_parameters"} <= set(made)
    assert made["stop_run"]["parameters"] == {"path.run_id": "$response.body#/id"}
    nested = described()["paths"]["/api/v1/runs/{run_id}/artifacts"]["post"]["responses"]["202"]["links"]
    assert nested["get_artifact"]["parameters"] == {
        "path.run_id": "$request.path.run_id",
        "path.artifact_id": "$response.body#/id",
    }
