"""Recipes, fields, validation and cost estimates of configs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from backend.launch.configs.prompts import preview
from bapo.api.configs import ConfigDraft
from bapo.api.runs import RunCreate
from bapo.client import ApiError, Client
from bapo.config import parse_config
from tests.support.refusals import refuses
from tests.support.services import BackendServer


def draft(**changes: Any) -> ConfigDraft:
    return ConfigDraft(
        recipe="countdown-demo", changes={key.replace("__", "."): value for key, value in changes.items()}
    )


def test_recipes_are_listed_and_read(admin: Client) -> None:
    names = [recipe.name for recipe in admin.recipes().items]
    # What runs anywhere comes first.
    assert names[:6] == [
        "countdown-demo",
        "bapo-release",
        "countdown-grpo",
        "countdown-quick",
        "gsm-mini",
        "gsm-mini-grpo",
    ]
    assert names[6:] == sorted(names[6:])
    assert "paper-math-8b" in names[6:]
    assert admin.recipe("countdown-demo").config["training"]["steps"] == 150


@pytest.mark.parametrize("name", ["nothing", "../secrets", "/etc/passwd", "x.toml"])
def test_a_recipe_is_never_a_path(admin: Client, name: str) -> None:
    with refuses(404):
        admin.recipe(name)
    with pytest.raises(ApiError, match="no such recipe: take one of") as refusal:
        admin.validate(ConfigDraft(recipe=name))
    assert (refusal.value.status, refusal.value.body.field) == (422, "recipe")


def test_a_task_whose_package_is_missing_where_the_run_would_train_is_refused_with_the_remedy(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = admin.validate(ConfigDraft(recipe="gsm-mini")).config
    assert (config["model"]["path"], config["warm_start"]["steps"]) == ("smollm2-135m", 30)
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(ApiError, match="reasoning-gym is not installed here: install a C compiler") as refusal:
        admin.validate(ConfigDraft(recipe="gsm-mini"))
    assert (refusal.value.status, refusal.value.body.field) == (422, "task.type")


def test_fields_are_documented(admin: Client) -> None:
    fields = {field.path: field for field in admin.config_fields().items}
    assert fields["method.c1"].kind == "fraction"
    assert fields["method.c1"].default in (0.125, "1/8")
    assert "Difficulty threshold c1" in fields["method.c1"].description


def test_a_legal_config_comes_back_complete(admin: Client) -> None:
    report = admin.validate(draft(method__c1=0.25, training__steps=50))
    assert report.config["method"]["c1"] == 0.25
    assert report.config["rollout"]["group_size"] == 8
    assert report.diff == {"method.c1": (0.125, 0.25), "training.steps": (150, 50)}
    assert report.warnings == []


def test_the_threshold_map_has_21_rows_with_the_roles_of_each_count(admin: Client) -> None:
    rows = admin.validate(draft()).threshold_map
    assert [row.r_tot for row in rows] == [i / 20 for i in range(21)]
    # r_tot = 0: c2 = 1/8, c3 = 2/8, c1 = 1/8.
    assert (rows[0].c2, rows[0].c3) == (0.125, 0.25)
    assert list(rows[0].roles) == [
        "difficult",
        "fresh+difficult+reusable",
        "fresh+reusable",
        "fresh",
        "fresh",
        "fresh",
        "fresh",
        "fresh",
        "nothing",
    ]
    # r_tot = 1: c2 = 4/8, c3 = 5/8.
    assert (rows[20].c2, rows[20].c3) == (0.5, 0.625)
    assert [role for role in rows[20].roles if "reusable" in role] == ["fresh+reusable"] * 2
    assert "reusable" in rows[20].roles[4]
    assert "reusable" in rows[20].roles[5]


def test_what_an_ablation_leaves_out_has_no_role(admin: Client) -> None:
    rows = admin.validate(draft(method__without=["reevaluated", "reused"])).threshold_map
    assert set(rows[0].roles) == {"fresh", "nothing"}


def test_the_uniform_filter_takes_all_counts(admin: Client) -> None:
    report = admin.validate(ConfigDraft(recipe="countdown-demo", changes={"method.filter.type": "uniform"}))
    assert all("fresh" in role for role in report.threshold_map[0].roles)
    assert report.constants["K1"] is None


def test_the_constants_of_the_theorem(admin: Client) -> None:
    constants = admin.validate(draft()).constants
    # s = sqrt(7/64 + 1e-6) = 0.330721, K1 = (1 - s) / s = 2.02370
    assert constants["K1"] == pytest.approx(2.02370, abs=1e-4)
    # The same variance: c1(1 - c1) = 1/8 · 7/8 = 7/64.
    assert constants["K2"] == pytest.approx(constants["K1"])
    assert constants["K3"] == pytest.approx(constants["K1"])


def test_methods_without_thresholds_have_neither(admin: Client) -> None:
    report = admin.validate(draft(method__type="grpo"))
    assert report.threshold_map == []
    assert set(report.constants.values()) == {None}


def test_a_path_that_is_not_permitted_hides_no_other_problem(admin: Client) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.validate(ConfigDraft(recipe="paper-math-8b", changes={"method.v": 0, "model.path": "/etc"}))
    fields = [problem.field for problem in refusal.value.body.problems or ()]
    assert fields.count("model.path") == 1
    assert {"model.path", "task.train_file", "method.v"} <= set(fields)


def test_thresholds_that_starve_reuse_are_warned_about(admin: Client) -> None:
    # G = 4 with Table 3's ranges: no k/4 between c2 and c3 for r_tot in (1/3, 2/3).
    (warning,) = admin.validate(draft(rollout__group_size=4)).warnings
    assert warning.field == "method.c2"
    assert "(0.333, 0.667)" in warning.remedy


@pytest.mark.parametrize(
    ("changes", "field", "remedy"),
    [
        ({"method.c4": 1}, "method.c4", "no such field"),
        ({"method.C1": 0.2}, "method.C1", "did you mean method.c1"),
        ({"metod.c1": 0.2}, "metod", ""),
        ({"method.c2": [0.5, 0.5]}, "method.c2", "lower c2"),
        ({"method.c2": [0.125, 0.7]}, "method.c2", "r_tot = 1"),
        ({"method.c1": 1}, "method.c1", "less than 1"),
        ({"method.c1": -0.1}, "method.c1", "at least 0"),
        ({"method.c1": "1/0"}, "method.c1", ""),
        ({"method.c1": "1e999999999"}, "method.c1", ""),
        ({"method.c1": None}, "method.c1", ""),
        ({"method.c2": [0.3, 0.3], "method.c3": [0.31, 0.31]}, "method.c2", "no accuracy k/8"),
        ({"method.v": 0}, "method.v", "1"),
        ({"method.m": 0}, "method.m", "1"),
        ({"method.m": -5}, "method.m", "1"),
        ({"method.m": 2.5}, "method.m", ""),
        ({"training.batch_size": 0}, "training.batch_size", "1"),
        ({"rollout.group_size": 1}, "rollout.group_size", "2"),
        ({"method.type": "bapo_mini", "rollout.group_size": 7}, "rollout.group_size", "choose an even one"),
        ({"training.epochs": 2}, "training.steps", "exactly one"),
        ({"method.type": "bapoo"}, "method", "bapo"),
        ({"method.type": ["bapo"]}, "method", ""),
        ({"method": 5}, "method", ""),
        ({"method": 5, "method.c1": 0.2}, "method.c1", "not a section"),
        ({"": 1}, "", ""),
        ({"training.learning_rate": 10**400}, "changes", "64 bits"),
    ],
)
def test_what_cannot_run_is_refused_with_field_and_remedy(
    admin: Client, changes: dict[str, Any], field: str, remedy: str
) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.validate(ConfigDraft.model_construct(recipe="countdown-demo", changes=changes))
    body = refusal.value.body
    assert refusal.value.status == 422
    assert body.code in ("invalid_config", "invalid_request")
    assert field in (body.field or "")
    assert remedy in body.remedy
    assert body.problems[0].field == body.field
    # A run is refused in the same words.
    with pytest.raises(ApiError) as again:
        admin.create_run(RunCreate.model_construct(name="x", recipe="countdown-demo", changes=changes))
    assert (again.value.body.field, again.value.body.remedy) == (body.field, body.remedy)


def test_all_problems_are_named_at_once(admin: Client) -> None:
    with pytest.raises(ApiError) as refusal:
        admin.validate(draft(method__v=0, training__batch_size=0, method__c1=2))
    fields = {problem.field for problem in refusal.value.body.problems}
    assert fields == {"method.v", "training.batch_size", "method.c1"}
    values = {problem.field: problem.value for problem in refusal.value.body.problems}
    assert values["method.v"] == 0


def test_a_new_method_keeps_the_fields_that_it_knows(admin: Client) -> None:
    parent = admin.create_run(
        RunCreate(name="p", recipe="countdown-demo", changes={"method.v": 7, "method.c1": 0}, start=False)
    )
    report = admin.validate(ConfigDraft(parent_id=parent.id, changes={"method.type": "grpo_delayed"}))
    assert report.config["method"] == {"type": "grpo_delayed", "v": 7}
    assert report.diff["method.type"] == ("bapo", "grpo_delayed")


def test_a_recipe_and_a_parent_exclude_each_other(admin: Client) -> None:
    with pytest.raises(ApiError, match="not both"):
        admin.validate(ConfigDraft(recipe="countdown-demo", parent_id="x"))


def test_an_unknown_parent_is_not_found(admin: Client) -> None:
    with refuses(404):
        admin.validate(ConfigDraft(parent_id="nothing"))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b'{"changes": 5}',
        b'{"changes": {"a": NaN}}',
        b'{"unknown": 1}',
        b"\xff\xfe{}",
    ],
)
def test_a_body_that_is_none_is_refused_in_the_one_form(backend_server: BackendServer, content: bytes) -> None:
    headers = {"Authorization": f"Bearer {backend_server.admin_token}", "Content-Type": "application/json"}
    with backend_server.http() as http:
        answer = http.post("/api/v1/configs/validate", content=content, headers=headers)
    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"code", "field", "value", "remedy", "problems", "request_id"}


@pytest.mark.parametrize("text", ['{"name": "a\\u0000b"}', '{"name": "\\ud800"}', '{"name": "x", "tags": ["\\u0000"]}'])
def test_text_that_cannot_be_stored_is_refused(backend_server: BackendServer, text: str) -> None:
    headers = {"Authorization": f"Bearer {backend_server.admin_token}", "Content-Type": "application/json"}
    with backend_server.http() as http:
        answer = http.post("/api/v1/runs", content=text, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["field"].split(".")[0] in ("name", "tags")


def test_a_body_that_is_too_large_is_refused(backend_server: BackendServer) -> None:
    headers = {"Authorization": f"Bearer {backend_server.admin_token}", "Content-Type": "application/json"}
    with backend_server.http() as http:
        answer = http.post("/api/v1/runs", content=b"x" * 2_000_001, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        pieces = (b"x" * 100_000 for _ in range(30))
        answer = http.post("/api/v1/runs", content=pieces, headers=headers)
        assert answer.status_code == 413


def test_the_first_prompt_is_shown_in_the_models_chat_template(admin: Client) -> None:
    # Not over HTTP, where a client would not wait for a busy machine.
    page = preview(parse_config(admin.validate(draft(task__num_train=48, task__num_test=8)).config))
    (shown,) = page.items
    assert page.template == "applied"
    # The template of the shipped model, around the problem's text.
    (turn,) = shown.messages
    assert shown.prompt == f"<|user|>{turn.content}<|im_end|><|assistant|>"
    assert shown.num_tokens is not None
    assert sorted(shown.answer) == ["nums", "target"]


def test_without_the_model_its_messages_are_shown_and_nothing_is_fetched(
    admin: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_MODELS_DIR", str(tmp_path))
    page = admin.preview_prompts(draft(model__path="smollm2-135m", task__num_train=48, task__num_test=8))
    assert page.template == "unknown"
    assert [(each.prompt, each.num_tokens) for each in page.items] == [(None, None)]
    assert page.items[0].messages[0].role == "user"
    assert list(tmp_path.iterdir()) == []
    with refuses(422, "invalid_config", field="rollout.group_size"):
        admin.preview_prompts(draft(rollout__group_size=1))
