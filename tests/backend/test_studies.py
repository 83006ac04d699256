"""Studies through the server: checked, made whole or not at all, tuned first, reported as they are."""

from __future__ import annotations

import pytest

from bapo.api.runs import RunStatus
from bapo.api.studies import StudyActionRequest, StudyCreate, StudyWrite
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step
from tests.support.refusals import refuses
from tests.support.services import wait_until
from tests.support.studies import TEXT, body, finish, runs_of

TUNING = '[tuning]\nseeds = [9]\narms = ["A"]\ngrid = { "method.v" = [2, 3] }\n'


def refused(client: Client, asked: StudyCreate) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        client.create_study(asked)
    return refusal.value


def test_a_file_is_checked_and_nothing_is_made(admin: Client) -> None:
    before = admin.runs(limit=1).total
    preview = admin.preview_study(StudyWrite(text=TEXT.format(title="Checked")))
    assert (preview.problems, preview.num_runs, preview.seeds) == ([], 4, [1, 2])
    assert preview.primary == "A minus B: avg@k on CD-34 after equal steps, paired over 2 seeds"
    wrong = admin.preview_study(StudyWrite(text=TEXT.format(title="Wrong").replace("grpo", "gripo")))
    assert [(each.field, each.value) for each in wrong.problems] == [("arms.B.method", "gripo")]
    assert admin.preview_study(StudyWrite(text="[[")).problems[0].field == "study"
    error = refused(admin, StudyCreate(text=TEXT.format(title="Wrong").replace("grpo", "gripo")))
    assert (error.status, error.body.field) == (422, "arms.B.method")
    assert admin.runs(limit=1).total == before
    assert {each.name for each in admin.shipped_studies().items} >= {"ablations-mini", "stability-mini"}


def test_a_study_is_made_once_queued_and_reported_while_its_runs_end(admin: Client, worker: FakeWorker) -> None:
    study = admin.create_study(body("Two arms"), idempotency_key="two-arms-1")
    assert admin.create_study(body("Two arms"), idempotency_key="two-arms-1").id == study.id
    error = refused(admin, body("Two arms"))
    assert (error.status, error.body.code) == (409, "name_taken")
    assert (study.num_arms, study.num_seeds, study.states) == (2, 2, {"waiting": 4})
    assert [(run.arm, run.seed) for run in study.runs] == [("A", 1), ("B", 1), ("A", 2), ("B", 2)]
    one = admin.run(study.runs[0].run_id or "")
    assert (one.name, one.method, one.group) == ("Two arms · A · seed 1", "bapo", "Two arms")
    assert one.config["training"]["seed"] == 1
    empty = admin.study_report(study.id)
    assert (empty.is_complete, empty.primary.verdict) == (False, "unknown")
    for run_id, accuracy in zip(runs_of(study, "A"), (0.5, 0.75), strict=True):
        finish(worker, admin, run_id, accuracy)
    finish(worker, admin, runs_of(study, "B")[0], 0.25)
    half = admin.study_report(study.id)
    # Seed 1 alone has both arms: 0.5 - 0.25, without an interval.
    assert half.primary.difference is not None
    assert (half.primary.difference.value, half.primary.missing_seeds) == (0.25, [2])
    finish(worker, admin, runs_of(study, "B")[1], 0.25)
    report = admin.study_report(study.id)
    # 0.25 and 0.5: mean 0.375.
    assert report.is_complete
    assert report.primary.difference is not None
    assert report.primary.difference.value == pytest.approx(0.375)
    assert [row.num_done for row in report.regimes[0].rows] == [2, 2]
    assert report.regimes[0].unlocks[0].lost_null is not None
    assert report.regimes[0].cost[0].rollouts is not None
    assert [run.run_id for run in report.runs] == [run.run_id for run in study.runs]
    # A run that is deleted is named, and its figures are gone.
    admin.delete_run(runs_of(study, "B")[1])
    after = admin.study_report(study.id)
    assert (after.is_complete, after.runs[3].state, after.runs[3].reason) == (False, "missing", "deleted")
    assert after.primary.missing_seeds == [2]
    assert study.id in {each.id for each in admin.studies().items}


def test_settings_are_chosen_first_and_then_the_rest_is_submitted(admin: Client, worker: FakeWorker) -> None:
    study = admin.create_study(body("Tuned", TUNING, num_runs=6))
    tuning = [run for run in study.runs if run.stage == "tuning"]
    assert [run.set for run in tuning] == [{"method.v": 2}, {"method.v": 3}]
    assert [run.run_id is None for run in study.runs] == [False, False, True, True, True, True]
    held_out = {admin.run(run.run_id or "").config["task"]["held_out"] for run in tuning}
    assert held_out == {"validation"}
    for run, accuracy in zip(tuning, (0.25, 0.5), strict=True):
        finish_on_both_sets(worker, admin, run.run_id or "", accuracy)
    wait_until(lambda: all(run.run_id for run in admin.study(study.id).runs))
    made = admin.study(study.id)
    first = admin.run(runs_of(made, "A")[0])
    assert (first.config["method"]["v"], first.config["task"]["held_out"]) == (3, "test")
    assert first.owner == "admin"
    tried = {str(point.set): point.chosen for point in admin.study_report(study.id).tuning}
    assert tried == {"{'method.v': 2}": False, "{'method.v': 3}": True}
    audit = admin.audit_trail(action="study settings chosen").items
    assert [row.author for row in audit] == ["system"]


def finish_on_both_sets(worker: FakeWorker, client: Client, run_id: str, accuracy: float) -> None:
    claim = worker.begin(client.run(run_id))
    ends = [evaluation(2, accuracy), evaluation(2, accuracy, dataset="CD-4")]
    worker.upload(claim, [step(1), step(2), *ends])
    worker.report(claim, "succeeded")


def test_all_runs_are_steered_together(admin: Client) -> None:
    study = admin.create_study(body("Steered"))
    assert "hold" in study.actions
    held = admin.change_study(study.id, StudyActionRequest(action="hold"))
    assert (held.num_done, held.num_left, held.refused) == (4, 0, {})
    assert "release" in admin.study(study.id).actions
    stopped = admin.change_study(study.id, StudyActionRequest(action="stop"))
    assert stopped.num_done == 4
    after = admin.study(study.id)
    assert after.states == {"stopped": 4}
    assert {admin.run(run.run_id or "").status for run in after.runs} == {RunStatus.CANCELLED}


def test_what_is_elsewhere_does_not_exist_and_viewers_make_nothing(
    admin: Client, outsider: Client, viewer: Client
) -> None:
    study = admin.create_study(body("Secret"))
    assert study.id not in {each.id for each in outsider.studies().items}
    for ask in (outsider.study, outsider.study_report):
        with refuses(404):
            ask(study.id)
    with refuses(404):
        outsider.change_study(study.id, StudyActionRequest(action="stop"))
    assert viewer.study(study.id).title == "Secret"
    assert refused(viewer, body("Viewed")).status == 403
    admin.change_study(study.id, StudyActionRequest(action="stop"))
