"""What the form works out: where a problem belongs, what a link fills in."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from bapo.api.base import FieldProblem
from bapo.api.configs import ConfigFieldInfo, ConfigReport, PreviewedPrompt, PromptPreviewPage, PromptTurn, RecipeInfo
from bapo.api.resources import ResourceInfo, ResourceKind
from bapo.api.runs import RunDetail
from bapo.api.studies import StudyWrite
from bapo.config import apply_changes, resolve
from bapo.config.documentation import documentation
from bapo.config.method import METHODS
from bapo.config.resolve import difference, flatten
from frontend.components.config_form.fields import config_field
from frontend.components.config_form.inputs import METHOD, TASK, StartValues, by_field, typed_values
from frontend.components.config_form.methods import CHOOSERS, field_text, looks, own_bases, shared_base
from frontend.components.config_form.values import FormField, same
from frontend.pages.new_run import SECTIONS, suggested_name
from frontend.pages.new_run.fork import Fork, further_steps
from frontend.pages.new_run.prompts import previews
from frontend.pages.new_run.several import plan_problems
from frontend.pages.new_run.summary import diff_summary
from frontend.pages.resources.details import new_run_with


def test_a_problem_belongs_to_its_field_also_when_it_lies_inside() -> None:
    problems = [
        FieldProblem(field="method.c2", remedy="a"),
        FieldProblem(field="method.c2.1", remedy="b"),
        FieldProblem(field="methodical", remedy="c"),
    ]
    placed, others = by_field(problems, ["method.c1", "method.c2"])
    assert placed == {"method.c2": "a; b"}
    assert [problem.field for problem in others] == ["methodical"]


def test_a_plan_that_cannot_be_is_told_by_field_in_our_words() -> None:
    with pytest.raises(ValidationError) as caught:
        StudyWrite.model_validate({"name": "", "recipe": "countdown-demo", "grid": 5})
    found = {problem.field: (problem.value, problem.remedy) for problem in plan_problems(caught.value)}
    assert found["name"] == ("", "is empty: fill it in")
    assert found["grid"] == (5, "must hold fields")


def test_the_two_inputs_of_a_range_stay_in_order() -> None:
    ids = [{"path": "c2", "part": 1}, {"path": "c1", "part": 0}, {"path": "c2", "part": 0}]
    assert typed_values(ids, ["high", "x", "low"]) == {"c1": ["x"], "c2": ["low", "high"]}


@pytest.mark.parametrize(
    "path",
    [
        "method.type",
        "method.c1",
        "method.c2",
        "method.c3",
        "method.v",
        "method.m",
        "method.max_reevaluated_prompts",
        "rollout.group_size",
        "training.batch_size",
        "training.steps",
        "training.seed",
        "training.learning_rate",
    ],
)
def test_the_fields_that_most_runs_are_about_stand_first(path: str) -> None:
    assert any(path in paths for _, _, paths in SECTIONS)


FIELDS = [ConfigFieldInfo.model_validate(asdict(field)) for field in documentation()]
TYPES = {METHOD: "bapo", TASK: "countdown"}
BASE = flatten(resolve({"method": {"c1": "1/4", "v": 8}}).config.model_dump(mode="json"))


def test_a_field_is_one_component_and_its_inputs() -> None:
    info = next(each for each in FIELDS if each.path == "method.c2")
    field: Any = config_field("new", info, ["1/8", "1/2"], "bapo", width="wide", base=FormField(info, ["1/4", "1/2"]))
    assert field.id == {"type": "new-wrap", "path": "method.c2"}
    assert [(each.id["part"], each.value, each.start) for each in field.children] == [
        (0, "1/8", "r_tot = 0"),
        (1, "1/2", "r_tot = 1"),
    ]
    assert (field.was, field.isHidden) == ("1/4, 1/2", False)
    # Tied to the first input, and beside the explanation.
    [label, explanation] = field.label
    assert label[:2] == ["label", {"htmlFor": '{"part":0,"path":"method.c2","type":"new-field"}'}]
    assert explanation[0] == "Tooltip"


def started(explicit: dict[str, Any], base: dict[str, Any]) -> StartValues:
    own = {chooser: own_bases(chooser, FIELDS, explicit, base) for chooser in CHOOSERS}
    return StartValues(shared_base(FIELDS, base), own)


def test_a_change_of_method_keeps_what_was_set_and_takes_its_own_defaults() -> None:
    start = started({"method.c1": "1/4", "method.v": 8}, BASE)
    assert start.base("bapo", "countdown") == BASE
    assert start.base("arpo", "countdown")["method.v"] == 8
    assert started({}, BASE).base("arpo", "countdown")["method.v"] == 1
    dapo = start.base("dapo", "countdown")
    assert "method.c1" not in dapo
    assert dapo["method.max_rounds"] == 4
    # The base's own type: choosing another one is a change.
    assert dapo["method.type"] == "bapo"


@pytest.mark.parametrize("method", METHODS.classes)
def test_what_the_form_shows_for_a_method_is_what_a_run_of_it_gets(method: str) -> None:
    explicit = {"method": {"c1": "1/4", "v": 8}}
    base = started(flatten(explicit), BASE).base(method, "countdown")
    config = resolve(apply_changes(explicit, {"method.type": method})).config.model_dump(mode="json")
    for path, value in flatten(config).items():
        if path != "method.type":
            info = next(field for field in FIELDS if field.path == path)
            assert same(info, base[path], value), path


TASK_FILES = {"file": {"task.train_file": "problems.jsonl"}}
"""What a type of tasks cannot do without."""


@pytest.mark.parametrize("task", ["countdown", "file", "reasoning_gym"])
def test_what_the_form_shows_for_a_type_of_tasks_is_what_a_run_of_it_gets(task: str) -> None:
    explicit = {"task": {"seed": 3}}
    base = flatten(resolve(explicit).config.model_dump(mode="json"))
    needed = TASK_FILES.get(task, {})
    config = resolve(apply_changes(explicit, {"task.type": task} | needed)).config.model_dump(mode="json")
    own = started(flatten(explicit), base).base("bapo", task)
    for path, value in flatten(config["task"], "task.").items():
        if path != "task.type" and path not in needed:
            info = next(field for field in FIELDS if field.path == path)
            assert same(info, own[path], value), path


def test_each_type_of_tasks_has_its_own_verifier() -> None:
    found = looks(TASK, FIELDS, started({}, BASE), TYPES)
    assert {task: look["task.verifier"]["shown"] for task, look in found.items()} == {
        "countdown": ["countdown"],
        "file": ["math"],
        "reasoning_gym": ["reasoning_gym"],
    }
    assert "task.prompt_column" not in found["countdown"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("task.seed", "0 to 4,294,967,295."),
        ("task.max_train_problems", "1 to 10,000,000."),
        ("rollout.temperature", "0 to 10."),
        ("training.max_grad_norm", "At least 0."),
    ],
)
def test_the_range_of_a_field_is_written_out(path: str, text: str) -> None:
    info = next(field for field in FIELDS if field.path == path)
    assert (field_text(info, "bapo") or "").endswith(text)


def test_the_text_beneath_a_field_is_the_methods() -> None:
    found = looks(METHOD, FIELDS, started({}, BASE), TYPES)
    assert found["gspo"]["method.type"]["text"].startswith("GSPO: GRPO with one length-normalised ratio")
    assert found["gspo"]["loss.clip_low"]["text"].endswith("gspo has 0.0003.")
    assert found["gspo"]["loss.ratio_level"]["text"].endswith("gspo has sequence.")
    assert "method.c1" not in found["gspo"]
    assert found["bapo"]["method.c2"]["shown"] == ["1/8", "1/2"]
    assert found["bapo"]["method.c2"]["was"] == "1/8, 1/2"
    assert found["dapo"]["method.overlong_buffer_tokens"]["was"] == "empty"


@pytest.mark.parametrize(("steps", "begins_with"), [(150, {"training.steps": 300}), (151, {}), (None, {})])
def test_a_fork_from_the_last_step_begins_with_further_steps(steps: int | None, begins_with: dict[str, int]) -> None:
    # From step 150 of 150, as many again; where steps are left, and where epochs count, what the parent has.
    assert further_steps(150, steps) == begins_with


def test_a_resource_is_filled_into_the_form_of_a_new_run() -> None:
    def address(kind: ResourceKind, columns: list[str]) -> str:
        info = ResourceInfo(
            id="r",
            kind=kind,
            name="mine",
            path="/data/mine",
            function=None,
            description="",
            project="default",
            author="ada",
            created_at=datetime(2026, 9, 1, tzinfo=UTC),
            details={"columns": columns},
            fields=(),
            num_runs=0,
            is_present=True,
            may_remove=True,
        )
        return new_run_with(info)

    assert address("dataset", ["prompt", "answer"]) == "/new?set=task.type:file;task.train_file:@mine&project=default"
    assert (
        address("dataset", ["nums", "target"]) == "/new?set=task.type:countdown;task.train_file:@mine&project=default"
    )
    assert address("model", []) == "/new?set=model.path:@mine&project=default"


def test_a_run_on_ones_own_data_is_named_after_them() -> None:
    recipe = RecipeInfo(name="countdown-demo", title="Countdown demo", description="", config={}, sources={})
    assert suggested_name(recipe, None, None, {}) == "Countdown demo"
    assert suggested_name(recipe, None, None, {"task.train_file": "@mine"}) == "mine"
    named: dict[str, Any] = {"name": "c1 up"}
    parent = RunDetail.model_construct(**named)
    assert suggested_name(recipe, parent, None, {}) == "c1 up (changed)"
    fork = Fork(parent=parent, checkpoints=[], step=40, in_force={})
    assert suggested_name(recipe, parent, fork, {}) == "c1 up from step 40"


def test_fields_that_fall_away_are_counted_by_what_has_them() -> None:
    changes = {"task.type": "file", "task.train_file": "a.jsonl", "method.type": "grpo"}
    config, base = (resolve(apply_changes({}, each)).config for each in (changes, {}))
    report = ConfigReport(
        config=config.model_dump(mode="json"),
        warnings=(),
        diff=difference(config, base),
        threshold_map=(),
        constants={},
    )
    text = str(diff_summary(report, "the recipe"))
    gone = [path for path in report.diff if path not in flatten(report.config)]
    for section in ("task", "method"):
        number = sum(path.startswith(section) for path in gone)
        assert f"{number} fields of the other {section} do not apply." in text


def test_a_prompt_is_shown_in_its_template_and_as_messages_where_the_model_is_elsewhere() -> None:
    turns = [PromptTurn(role="system", content="Add."), PromptTurn(role="user", content="1 1=2")]
    known = PreviewedPrompt(
        prompt_id="sums:1",
        data_source="sums",
        messages=turns,
        prompt="<|user|>1 1=2<|im_end|>",
        num_tokens=9,
        answer={"target": 2},
        solution="1+1",
    )
    shown = str(previews(PromptPreviewPage(items=[known], template="applied")))
    assert all(part in shown for part in ("sums · 9 tokens", "<|user|>1 1=2<|im_end|>", "target = 2", "1+1"))
    unknown = known.model_copy(update={"prompt": None, "num_tokens": None})
    elsewhere = str(previews(PromptPreviewPage(items=[unknown], template="unknown")))
    assert "this server does not have the model" in elsewhere
    assert repr("system: Add.\n\nuser: 1 1=2") in elsewhere
