"""Studies without a question: a grid or a list of runs, made, read and steered as one."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.api.runs import RunStatus
from bapo.api.studies import StudyActionRequest, StudyCreate, StudyWrite
from bapo.client import ApiError, Client
from tests.support.fake_worker import FakeWorker
from tests.support.journals import evaluation, step
from tests.support.refusals import refuses

GRID: dict[str, Any] = {"method.c1": [0.125, 0.25], "training.seed": [1, 2, 3]}


def body(name: str, **fields: Any) -> StudyCreate:
    return StudyCreate.model_validate(
        {"name": name, "recipe": "countdown-demo", "grid": GRID, "start": False, **fields}
    )


def refused(client: Client, plan: StudyWrite) -> ApiError:
    with pytest.raises(ApiError) as refusal:
        client.create_study(StudyCreate.model_validate(plan.model_dump()))
    return refusal.value


def test_a_grid_makes_every_combination_in_order(admin: Client) -> None:
    study = admin.create_study(body("c1 over seeds", tags=["night"], changes={"training.steps": 40}))
    assert (study.num_runs, study.fields, study.statuses) == (6, ["method.c1", "training.seed"], {RunStatus.DRAFT: 6})
    assert [run.set for run in study.runs] == [
        {"method.c1": c1, "training.seed": seed} for c1 in (0.125, 0.25) for seed in (1, 2, 3)
    ]
    assert study.runs[0].name == "c1 over seeds · c1=0.125 seed=1"
    # Seeds are repetitions of one setting.
    assert [setting.set for setting in study.settings] == [{"method.c1": 0.125}, {"method.c1": 0.25}]
    assert study.steps_planned == 6 * 40
    one = admin.run(study.runs[3].run_id or "")
    assert (one.study_id, one.group, one.tags) == (study.id, "c1 over seeds", ["night"])
    assert (one.config["method"]["c1"], one.config["training"]["seed"], one.config["training"]["steps"]) == (
        0.25,
        1,
        40,
    )
    assert study.id in {each.id for each in admin.studies().items}
    assert admin.runs(group="c1 over seeds", limit=1).total == 6


def test_a_list_sets_what_it_says(admin: Client) -> None:
    points: list[dict[str, Any]] = [{"method.type": "grpo"}, {"method.type": "bapo", "method.v": 3}]
    study = admin.create_study(body("methods", grid={}, points=points))
    assert [admin.run(run.run_id or "").method for run in study.runs] == ["grpo", "bapo"]
    assert study.fields == ["method.type", "method.v"]


def test_every_illegal_combination_is_named_and_nothing_is_made(admin: Client) -> None:
    before = admin.runs(limit=1).total
    plan = StudyWrite.model_validate(
        {"name": "half wrong", "recipe": "countdown-demo", "grid": {"method.c1": [0.125, 1], "method.v": [1, 0]}}
    )
    preview = admin.preview_study(plan)
    assert (len(preview.runs), preview.num_illegal) == (4, 3)
    assert [[problem.field for problem in run.problems] for run in preview.runs] == [
        [],
        ["method.v"],
        ["method.c1"],
        ["method.v", "method.c1"],
    ]
    error = refused(admin, plan)
    assert error.status == 422
    assert len(error.body.problems) == 4
    assert "run 2, method.c1 = 0.125, method.v = 0: must be at least 1" in {p.remedy for p in error.body.problems}
    assert admin.runs(limit=1).total == before
    assert admin.runs(group="half wrong", limit=1).total == 0


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"grid": {"training.seed": list(range(501))}}, "grid", "501 runs: a grid or list has at most 500"),
        ({"grid": {"method.c1": []}}, "grid", "method.c1 has no value"),
        ({"grid": {"training.seed": [1, 1]}}, "grid", "two runs would set the same"),
        ({"grid": {}, "points": [{"training.seed": 1}, {"training.seed": 1}]}, "points", "two runs would set the same"),
        ({"recipe": "nothing"}, "recipe", "no such recipe"),
    ],
)
def test_a_plan_that_is_none_is_refused(admin: Client, fields: dict[str, Any], field: str, reason: str) -> None:
    plan = body("bad", **fields)
    [problem] = admin.preview_study(
        StudyWrite.model_validate(plan.model_dump(include=set(StudyWrite.model_fields)))
    ).problems
    assert problem.field == field
    assert reason in problem.remedy
    with pytest.raises(ApiError) as refusal:
        admin.create_study(plan)
    assert (refusal.value.status, refusal.value.body.field) == (422, field)
    assert reason in refusal.value.body.remedy


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"grid": {}, "points": []}, "give a grid, or a list of points"),
        ({"points": [{"training.seed": 1}]}, "give a grid, or a list of points"),
        ({"name": None}, "or a `name` with a grid"),
        ({"text": "title = 'x'"}, "a study file says everything itself: leave out recipe, name, grid"),
    ],
)
def test_a_body_says_either_a_file_or_a_grid_or_a_list(admin: Client, fields: dict[str, Any], reason: str) -> None:
    plan = {"name": "bad", "recipe": "countdown-demo", "grid": GRID, **fields}
    for address in ("/studies", "/studies/preview"):
        answer = admin.http.post(address, json=plan)
        assert answer.status_code == 422
        assert reason in answer.json()["remedy"]


def test_500_runs_are_not_too_many(admin: Client) -> None:
    plan = StudyWrite.model_validate(
        {"name": "large", "recipe": "countdown-demo", "grid": {"training.seed": list(range(500))}}
    )
    preview = admin.preview_study(plan)
    assert (len(preview.runs), preview.num_illegal) == (500, 0)


def test_the_same_key_makes_one_study(admin: Client) -> None:
    first = admin.create_study(body("once"), idempotency_key="grid-1")
    assert admin.create_study(body("once"), idempotency_key="grid-1").id == first.id
    with refuses(409, "idempotency_key_reused"):
        admin.create_study(body("another"), idempotency_key="grid-1")
    with refuses(409, field="name"):
        admin.create_study(body("once"))


def test_results_are_means_over_seeds_with_intervals(admin: Client, worker: FakeWorker) -> None:
    study = admin.create_study(body("results", start=True))
    values = iter((0.2, 0.3, 0.4, 0.5))
    for run in study.runs[:4]:
        claim = worker.begin(admin.run(run.run_id or ""))
        worker.upload(claim, [evaluation(0, 0.1), step(1), evaluation(1, next(values))])
    now = admin.study(study.id)
    first, second = now.settings
    # Student's t with 2 degrees of freedom: 4.303 · 0.1 / sqrt(3) = 0.2484.
    assert (first.latest, first.num_results) == (pytest.approx(0.3), 3)
    assert (first.latest_low, first.latest_high) == (pytest.approx(0.0516, abs=1e-4), pytest.approx(0.5484, abs=1e-4))
    assert (second.latest, second.latest_low, second.num_results) == (pytest.approx(0.5), None, 1)
    assert now.eval_name == "CD-34 avg@8"
    assert (now.steps_done, now.runs[0].eval_base) == (4, 0.1)


def test_a_grid_is_steered_as_one(admin: Client, worker: FakeWorker) -> None:
    study = admin.create_study(body("steered", start=True, grid={"training.seed": [1, 2]}))
    claim = worker.begin(admin.run(study.runs[0].run_id or ""))
    answer = admin.change_study(study.id, StudyActionRequest(action="pause", when="checkpoint"))
    # The other one waits in the queue: there is nothing to pause.
    assert (answer.num_done, answer.num_left, answer.refused) == (1, 1, {})
    assert admin.run(study.runs[0].run_id or "").stopping_when == "checkpoint"
    worker.report(claim, "stopped")
    assert admin.change_study(study.id, StudyActionRequest(action="resume")).num_done == 1
    assert admin.change_study(study.id, StudyActionRequest(action="hold")).num_done == 2
    assert set(admin.study(study.id).actions) == {"stop", "release"}
    assert admin.change_study(study.id, StudyActionRequest(action="release")).num_done == 2
    answer = admin.change_study(study.id, StudyActionRequest(action="stop"))
    assert (answer.num_done, admin.study(study.id).statuses) == (2, {RunStatus.CANCELLED: 2})
    assert admin.change_study(study.id, StudyActionRequest(action="stop")).num_left == 2
    with pytest.raises(ApiError, match="not_found"):
        admin.study("nothing")


def test_a_grid_has_no_report_and_names_a_run_that_was_deleted(admin: Client) -> None:
    study = admin.create_study(body("reduced", grid={"training.seed": [1, 2]}))
    assert (study.question, study.text, study.states) == (None, None, {"waiting": 2})
    with refuses(409, "no_report"):
        admin.study_report(study.id)
    admin.delete_run(study.runs[0].run_id or "")
    after = admin.study(study.id)
    assert (after.states, after.statuses) == ({"missing": 1, "waiting": 1}, {RunStatus.DRAFT: 1})
    assert [(run.name, run.reason, run.set) for run in after.runs] == [
        ("run-1", "deleted", {"training.seed": 1}),
        ("reduced · seed=2", None, {"training.seed": 2}),
    ]
    assert [setting.run_ids for setting in after.settings] == [[after.runs[1].run_id]]


def test_studies_come_in_pages(admin: Client) -> None:
    made = [admin.create_study(body(f"page {n}", grid={"training.seed": [n]})).id for n in range(3)]
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = admin.studies(limit=2, cursor=cursor)
        found += [each.id for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(found) == len(set(found))
    assert [each for each in found if each in made] == made[::-1]
    with refuses(422):
        admin.studies(cursor="x")
