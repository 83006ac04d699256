"""Artifacts, alerts, webhooks, studies, names of data and streams of another project, asked for by their own ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import delete, select

from backend.kit.database import Database
from backend.models import Membership, User
from bapo.api.alerts import FillRateCondition, RuleDraft, RuleScope, RuleWrite
from bapo.api.artifacts import ArtifactCreate
from bapo.api.records import StreamEvent
from bapo.api.resources import ResourceCreate
from bapo.api.runs import RunCreate, RunDetail
from bapo.api.studies import StudyActionRequest, StudyCreate
from bapo.api.webhooks import WebhookWrite
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import filled
from tests.support.services import OTHER_PROJECT, BackendServer, add_person, wait_until

HIDDEN = (404, "not_found")


@pytest.fixture(scope="module")
def permitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set."""
    folder = tmp_path_factory.mktemp("permitted")
    (folder / "train.jsonl").write_text('{"nums": [3, 4], "target": 7}\n' * 30)
    return folder


@pytest.fixture(scope="module")
def server_settings(permitted: Path) -> Mapping[str, object]:
    return {"resource_roots": str(permitted)}


@pytest.fixture(scope="module")
def foreign(member: Client, worker: FakeWorker) -> RunDetail:
    """A run of the default project that has ended with a batch hardly filled."""
    run = member.create_run(RunCreate(name="secret plans", recipe="countdown-demo"))
    claim = worker.begin(run)
    worker.upload(claim, [filled(number, 0.1) for number in (1, 2, 3)])
    worker.report(claim, "succeeded")
    return member.run(run.id)


@pytest.fixture(scope="module")
def own(outsider: Client) -> RunDetail:
    """A run of the outsider's own project."""
    return outsider.create_run(RunCreate(name="own", recipe="countdown-demo", start=False))


def refused(call: Callable[[], object]) -> tuple[int, str]:
    """Status and code of a refusal."""
    with pytest.raises(ApiError) as error:
        call()
    return error.value.status, error.value.body.code


def test_artifacts_do_not_exist_for_others_not_even_under_their_own_run(
    member: Client, outsider: Client, foreign: RunDetail, own: RunDetail
) -> None:
    artifact = member.request_artifact(foreign.id, ArtifactCreate(kind="config"))
    wait_until(lambda: member.artifact(foreign.id, artifact.id).state == "ready")
    for run_id in (foreign.id, own.id):
        assert refused(partial(outsider.artifact, run_id, artifact.id)) == HIDDEN
        assert refused(partial(outsider.delete_artifact, run_id, artifact.id)) == HIDDEN
        address = f"/runs/{run_id}/artifacts/{artifact.id}/content"
        assert outsider.http.get(address).status_code == 404
    assert refused(lambda: outsider.request_artifact(foreign.id, ArtifactCreate(kind="journal"))) == HIDDEN
    assert outsider.artifacts(own.id).items == []
    # And under the wrong run not for those who may see it either.
    theirs = member.create_run(RunCreate(name="another", recipe="countdown-demo", start=False))
    assert refused(lambda: member.artifact(theirs.id, artifact.id)) == HIDDEN
    assert member.artifact(foreign.id, artifact.id).state == "ready"


def test_alerts_and_rules_do_not_exist_for_others(
    member: Client, outsider: Client, worker: FakeWorker, foreign: RunDetail
) -> None:
    body = RuleWrite(name="batches", condition=FillRateCondition(below=0.5, steps=2))
    rule = member.create_alert_rule(body)
    watched = member.create_run(RunCreate(name="watched", recipe="countdown-demo"))
    worker.upload(worker.begin(watched), [filled(number, 0.1) for number in (1, 2, 3)])
    wait_until(lambda: bool(member.run_alerts(watched.id).items))
    (alert,) = member.run_alerts(watched.id).items
    assert refused(lambda: outsider.alert(alert.id)) == HIDDEN
    assert refused(lambda: outsider.run_alerts(watched.id)) == HIDDEN
    assert outsider.alerts(state="all").items == []
    assert outsider.alert_summary().num_open == 0
    assert refused(lambda: outsider.acknowledge_alerts([alert.id])) == HIDDEN
    assert member.alert(alert.id).acknowledged_at is None
    assert refused(lambda: outsider.alert_rule(rule.id)) == HIDDEN
    assert refused(lambda: outsider.replace_alert_rule(rule.id, body)) == HIDDEN
    assert refused(lambda: outsider.delete_alert_rule(rule.id)) == HIDDEN
    assert rule.id not in {each.id for each in outsider.alert_rules().items}
    # A rule of one's own neither watches, nor tries, a run of others.
    scope = RuleScope(run_id=foreign.id)
    assert refused(lambda: outsider.create_alert_rule(body.model_copy(update={"scope": scope})))[0] in (404, 422)
    draft = RuleDraft(condition=body.condition)
    assert foreign.id not in {run.run_id for run in outsider.preview_alert_rule(draft).runs}
    assert refused(lambda: outsider.preview_alert_rule(draft.model_copy(update={"scope": scope})))[0] in (404, 422)
    other = body.model_copy(update={"project": "default"})
    assert refused(lambda: outsider.create_alert_rule(other))[0] in (403, 422)


def test_webhooks_do_not_exist_for_others(member: Client, outsider: Client) -> None:
    body = WebhookWrite.model_validate({"name": "ours", "url": "https://hooks.example.org/x", "events": ["run.failed"]})
    hook = member.create_webhook(body)
    calls: list[Callable[[], object]] = [
        lambda: outsider.webhook(hook.id),
        lambda: outsider.replace_webhook(hook.id, body),
        lambda: outsider.delete_webhook(hook.id),
        lambda: outsider.renew_webhook_secret(hook.id),
        lambda: outsider.test_webhook(hook.id),
        lambda: outsider.deliveries(hook.id),
        lambda: outsider.send_delivery_again(hook.id, 1),
    ]
    assert [refused(call) for call in calls] == [HIDDEN] * len(calls)
    assert outsider.webhooks().items == []
    assert refused(lambda: outsider.create_webhook(body.model_copy(update={"project": "default"})))[0] in (403, 422)
    assert member.webhook(hook.id).name == "ours"


def test_studies_do_not_exist_for_others(member: Client, outsider: Client, foreign: RunDetail) -> None:
    plan = {"name": "theirs", "recipe": "countdown-demo", "grid": {"training.seed": [1, 2]}, "start": False}
    study = member.create_study(StudyCreate.model_validate(plan))
    assert refused(lambda: outsider.study(study.id)) == HIDDEN
    assert refused(lambda: outsider.change_study(study.id, StudyActionRequest(action="start"))) == HIDDEN
    assert refused(lambda: outsider.study_importance(study.id)) == HIDDEN
    assert refused(lambda: outsider.compare_importance([run.run_id or "" for run in study.runs])) == HIDDEN
    assert outsider.studies().items == []
    of_foreign = {"name": "x", "parent_id": foreign.id, "grid": {"training.seed": [1]}}
    assert refused(lambda: outsider.create_study(StudyCreate.model_validate(of_foreign))) == HIDDEN
    assert refused(lambda: outsider.create_study(StudyCreate.model_validate({**plan, "project": "default"})))[0] in (
        403,
        422,
    )
    assert {run.status for run in member.study(study.id).runs} == {"draft"}


def test_names_of_data_do_not_exist_for_others(member: Client, outsider: Client, permitted: Path) -> None:
    body = ResourceCreate(kind="dataset", name="planning", path=str(permitted / "train.jsonl"))
    data = member.register_resource(body)
    assert refused(lambda: outsider.resource_preview(data.id)) == HIDDEN
    assert refused(lambda: outsider.resource_runs(data.id)) == HIDDEN
    assert refused(lambda: outsider.data_probes(data.id)) == HIDDEN
    assert refused(lambda: outsider.remove_resource(data.id)) == HIDDEN
    assert outsider.resources().items == []
    refers = RunCreate(name="x", recipe="countdown-demo", changes={"task.train_file": "@planning"}, start=False)
    assert refused(lambda: outsider.create_run(refers))[0] == 422
    assert refused(lambda: outsider.register_resource(body.model_copy(update={"project": "default"})))[0] in (403, 422)
    # The name is free in their own project.
    assert outsider.register_resource(body).project == OTHER_PROJECT
    assert member.create_run(refers).status == "draft"


def test_streams_leave_out_what_happens_elsewhere(
    backend_server: BackendServer, member: Client, outsider: Client, own: RunDetail, database: Database
) -> None:
    assert refused(lambda: outsider.events(_unseen(member).id).__enter__()) == HIDDEN
    hidden = _unseen(member)
    with outsider.events() as events:
        member.start(hidden.id)
        outsider.start(own.id)
        assert hidden.id not in {run_id for run_id, _ in _heard(events, own.id, "queued")}
    # What was missed is made up for, of one's own runs.
    with outsider.events(last_event_id=0) as events:
        assert hidden.id not in {run_id for run_id, _ in _heard(events, own.id, "queued")}
    # Who leaves a project while a stream is open hears no more of it.
    token = add_person(backend_server, "both", projects={"default": "member", OTHER_PROJECT: "member"})
    last = _unseen(member)
    with backend_server.client(token) as both, both.events() as events:
        member.start(last.id)
        _heard(events, last.id, "queued")
        with database.session() as session, session.begin():
            user = session.scalars(select(User).where(User.name == "both")).one()
            (left,) = (project.id for project in both.me().projects if project.name == "default")
            leaves = (Membership.user_id == user.id) & (Membership.project_id == left)
            session.execute(delete(Membership).where(leaves))
        wait_until(lambda: [each.name for each in both.me().projects] == [OTHER_PROJECT])
        member.stop(last.id)
        outsider.stop(own.id)
        assert (last.id, "cancelled") not in _heard(events, own.id, "cancelled")


def _unseen(member: Client) -> RunDetail:
    return member.create_run(RunCreate(name="elsewhere", recipe="countdown-demo", start=False))


def _heard(events: Iterator[StreamEvent], run_id: str, status: str) -> list[tuple[str, str]]:
    """The states told until this one, which is the last; a state may be told again, with another reason."""
    heard: list[tuple[str, str]] = []
    while (run_id, status) not in heard:
        event = next(event for event in events if event.event == "status")
        heard.append((event.data["run_id"], event.data["status"]))
    return heard
