"""What is in a project that the caller is no member of does not exist for the caller, whichever way it is asked for."""

from __future__ import annotations

import pytest

from bapo.api.artifacts import ArtifactCreate
from bapo.api.configs import ConfigDraft
from bapo.api.runs import BulkRequest, RunCreate, RunDetail, RunQuery
from bapo.api.views import ViewWrite
from bapo.client import ApiError, Client
from tests.support.refusals import refuses
from tests.support.services import BackendServer, add_person


@pytest.fixture(scope="module")
def foreign(admin: Client) -> RunDetail:
    """A run of the default project."""
    body = RunCreate(name="secret plans", recipe="countdown-demo", tags=["hush"], group="quiet", start=False)
    return admin.create_run(body)


def refused(error: pytest.ExceptionInfo[ApiError]) -> tuple[int, str]:
    return error.value.status, error.value.body.code


def test_lists_and_filters_leave_it_out(outsider: Client, member: Client, foreign: RunDetail) -> None:
    assert foreign.id in {run.id for run in member.runs(limit=500).items}
    page = outsider.runs(limit=500)
    assert foreign.id not in {run.id for run in page.items}
    for filters in ({"search": foreign.id}, {"project": ["default"]}, {"group": ["quiet"]}, {"owner": ["admin"]}):
        assert outsider.runs(**filters).total == 0, filters
    facets = outsider.run_facets()
    assert "hush" not in {tag.name for tag in facets.tags}
    assert "quiet" not in {group.name for group in facets.groups}
    assert "default" not in {project.name for project in facets.projects}


def test_its_address_answers_as_if_there_were_none(outsider: Client, foreign: RunDetail) -> None:
    with pytest.raises(ApiError) as error:
        outsider.run(foreign.id)
    assert refused(error) == (404, "not_found")
    with pytest.raises(ApiError) as nothing:
        outsider.run("nosuchrun1")
    same = nothing.value.body.remedy.replace("nosuchrun1", foreign.id)
    assert error.value.body.remedy == same


def test_it_is_no_parent_and_not_to_be_compared(outsider: Client, foreign: RunDetail) -> None:
    own = outsider.create_run(RunCreate(name="own", recipe="countdown-demo", start=False))
    assert own.project == "other"
    with refuses(404, "not_found"):
        outsider.create_run(RunCreate(name="copy", parent_id=foreign.id))
    with refuses(404, "not_found"):
        outsider.validate(ConfigDraft(parent_id=foreign.id))
    with refuses(404, "not_found"):
        outsider.compare([own.id, foreign.id])
    with refuses(404, "not_found"):
        outsider.metrics_of_runs([own.id, foreign.id], ["actor/entropy"])
    answer = outsider.bulk(BulkRequest(run_ids=[own.id, foreign.id], action="star"))
    assert [(each.done, each.code) for each in answer.results] == [(True, None), (False, "not_found")]


def test_views_of_another_project_do_not_exist(outsider: Client, member: Client) -> None:
    view = member.create_view(ViewWrite(name="ours"))
    assert view.project == "default"
    assert view.id not in {each.id for each in outsider.views().items}
    for call in (outsider.view, outsider.delete_view):
        with refuses(404, "not_found"):
            call(view.id)


def test_nobody_submits_to_a_project_of_others(outsider: Client, viewer: Client, backend_server: BackendServer) -> None:
    with pytest.raises(ApiError) as error:
        outsider.create_run(RunCreate(name="x", recipe="countdown-demo", project="default"))
    assert refused(error) == (422, "unknown_project")
    assert error.value.body.field == "project"
    # A member of two, of one to look only.
    token = add_person(backend_server, "two", projects={"default": "viewer", "other": "member"})
    with backend_server.client(token) as two:
        with refuses(403, "forbidden"):
            two.create_run(RunCreate(name="x", recipe="countdown-demo", project="default"))
        assert two.create_run(RunCreate(name="x", recipe="countdown-demo", start=False)).project == "other"


def test_who_only_looks_into_a_project_requests_no_downloads(admin: Client, backend_server: BackendServer) -> None:
    run = admin.create_run(RunCreate(name="x", recipe="countdown-demo", project="default", start=False))
    token = add_person(backend_server, "looker", projects={"default": "viewer", "other": "member"})
    with backend_server.client(token) as looker:
        assert looker.run(run.id).name == "x"
        with refuses(403, "forbidden"):
            looker.request_artifact(run.id, ArtifactCreate(kind="config"))
    assert admin.artifacts(run.id).items == []


def test_a_member_of_several_says_which(backend_server: BackendServer) -> None:
    token = add_person(backend_server, "many", projects={"other": "member", "third": "member"})
    with backend_server.client(token) as many:
        with pytest.raises(ApiError) as error:
            many.create_run(RunCreate(name="x", recipe="countdown-demo"))
        assert refused(error) == (422, "no_project")
        assert "one of other, third" in error.value.body.remedy
        run = many.create_run(RunCreate(name="x", recipe="countdown-demo", project="third", start=False))
        # What is made from it belongs beside it.
        assert many.clone(run.id, RunCreate(name="y", start=False)).project == "third"


def test_the_administrator_of_a_project_changes_its_runs(backend_server: BackendServer, outsider: Client) -> None:
    run = outsider.create_run(RunCreate(name="x", recipe="countdown-demo", start=False))
    with backend_server.client(add_person(backend_server, "boss", projects={"other": "admin"})) as boss:
        assert boss.run(run.id).may_edit
        assert boss.start(run.id).status == "queued"
    with backend_server.client(add_person(backend_server, "peer", projects={"other": "member"})) as peer:
        assert not peer.run(run.id).may_edit
    # A viewer on this server is one everywhere.
    with backend_server.client(add_person(backend_server, "vic", "viewer", projects={"other": "admin"})) as vic:
        assert not vic.run(run.id).may_edit
        assert vic.me().projects[0].role == "viewer"


def test_a_full_list_filters_by_project(admin: Client, foreign: RunDetail) -> None:
    found = admin.runs(project=["default"], limit=500)
    assert {run.project for run in found.items} == {"default"}
    assert foreign.id in {run.id for run in found.items}
    assert RunQuery(project=["default"]).project == ["default"]
