"""Study files: what they say, and what is refused with field, value and remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bapo.config.errors import ConfigError
from bapo.config.task import CountdownTaskConfig
from bapo.study.declaration import Declaration, parse, shipped, slug
from bapo.study.folder import StudyFolder
from bapo.study.plan import PlannedRun, check, final_runs, resolved, tuning_runs
from tests.bapo.study.measured_runs import TEXT, two_arms

TUNING = """
[tuning]
seeds = [9]
arms = ["A"]
grid = { "training.learning_rate" = [1e-4, 2e-4], "method.v" = [2, 5] }
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


def problems(text: str) -> list[tuple[str, Any, str]]:
    with pytest.raises(ConfigError) as refusal:
        check(parse(text))
    return [(each.field, each.value, each.remedy) for each in refusal.value.problems]


def held_out(study: Declaration, run: PlannedRun) -> str:
    task = resolved(study, run).task
    assert isinstance(task, CountdownTaskConfig)
    return task.held_out


def test_every_arm_has_every_seed_and_its_own_settings() -> None:
    study = parse(changed('method = "bapo"', 'method = "bapo"\nset = { method.v = 3 }'))
    runs = final_runs(study, {})
    assert [(run.arm, run.seed) for run in runs] == [("A", 1), ("B", 1), ("A", 2), ("B", 2), ("A", 3), ("B", 3)]
    config = resolved(study, runs[2])
    assert (config.method.type, getattr(config.method, "v", None), config.training.seed) == ("bapo", 3, 2)
    assert resolved(study, runs[3]).method.type == "grpo"
    assert len({run.name for run in runs}) == 6


@pytest.mark.parametrize(
    ("file", "remedy"),
    [("data/own.jsonl", None), ("data/other.jsonl", "the task evaluates on other"), ("@registered", None)],
)
def test_a_study_of_ones_own_data_names_its_files_as_test_sets(file: str, remedy: str | None) -> None:
    task = f'"task.type" = "file"\n"task.train_file" = "data/train.jsonl"\n"task.test_files" = ["{file}"]\n'
    text = changed('["CD-34"]', '["own"]') + f"[set]\n{task}"
    if remedy is None:
        check(parse(text))
    else:
        [(field, value, said)] = problems(text)
        assert (field, value) == ("test_sets", "own")
        assert said.startswith(remedy)


def test_tuning_has_seeds_of_its_own_and_sees_validation_problems_only() -> None:
    study = parse(changed("num_runs = 6", "num_runs = 10") + TUNING)
    check(study)
    runs = tuning_runs(study)
    assert [dict(run.point) for run in runs] == [
        {"training.learning_rate": 1e-4, "method.v": 2},
        {"training.learning_rate": 1e-4, "method.v": 5},
        {"training.learning_rate": 2e-4, "method.v": 2},
        {"training.learning_rate": 2e-4, "method.v": 5},
    ]
    assert {(run.arm, run.seed) for run in runs} == {("A", 9)}
    assert {held_out(study, run) for run in runs} == {"validation"}
    chosen = final_runs(study, {("main", "A"): {"method.v": 2}})
    assert {held_out(study, run) for run in chosen} == {"test"}
    assert [run.changes.get("method.v") for run in chosen[:2]] == [2, None]


def test_a_folder_resolves_each_runs_config_once_and_again_for_a_chosen_setting(tmp_path: Path) -> None:
    folder = StudyFolder.begin(tmp_path, TEXT)
    before = folder.planned()[0]
    chosen = final_runs(folder.study, {("main", "A"): {"training.learning_rate": 0.5}})[0]
    assert chosen.name == before.name
    assert folder.config_of(before) is folder.config_of(before)
    assert folder.config_of(chosen).training.learning_rate == 0.5
    assert folder.config_of(before).training.learning_rate != 0.5


@pytest.mark.parametrize(
    ("text", "field", "remedy"),
    [
        (changed("num_runs = 6", "num_runs = 5"), "num_runs", "the study makes 6 runs (2 arms × 1 regime × 3 seeds)"),
        (changed('against = "B"', 'against = "C"'), "primary.against", "there is no arm 'C': take one of A, B"),
        (changed('against = "B"', 'against = "A"'), "primary.against", "is the same arm"),
        (changed('title = "Two arms"\n', ""), "title", "is missing"),
        (changed('title = "Two arms"', "title = 3"), "title", "must be text"),
        (changed("seeds = [1, 2, 3]", 'seeds = ["one"]'), "seeds.0", "must be a whole number"),
        (changed("seeds = [1, 2, 3]", "seeds = [1, 2, 2]"), "seeds", "2 appears twice"),
        (changed("seeds = [1, 2, 3]", "seeds = []"), "seeds", "give at least one"),
        (changed('recipe = "countdown-demo"', 'recipe = "nothing"'), "recipe", "no such recipe: take one of"),
        (changed('recipe = "countdown-demo"\n', ""), "recipe", "give a recipe, or a config"),
        (changed('method = "grpo"', 'method = "gripo"'), "arms.B.method", "no such method"),
        (changed('method = "grpo"', 'method = "grpo"\nset = { method.v = 3 }'), "arms.B.set.method.v", "grpo has no v"),
        (
            changed('method = "grpo"', 'method = "grpo"\nset = { training.seed = 3 }'),
            "arms.B.set.training.seed",
            "the seeds of a study belong in `seeds`",
        ),
        (
            changed('method = "grpo"', 'method = "grpo"\nset = { task.num_test = 3 }'),
            "arms.B.set.task.num_test",
            "all arms of a regime have the same problems",
        ),
        (changed('["CD-34"]', '["CD-5"]'), "test_sets", "the task evaluates on CD-34 and CD-4"),
        (changed("num_runs = 6", "num_runs = 10\nset = { training.steps = 0 }"), "num_runs", "makes 6 runs"),
        (changed("num_runs = 6", "num_runs = 6\nset = { training.steps = 0 }"), "set.training.steps", "at least 1"),
        (changed("num_runs = 6", "num_runs = 6\ncolour = 3"), "colour", "a study has no such field"),
        (changed("num_runs = 6", "num_runs = 10") + TUNING.replace("[9]", "[3]"), "tuning.seeds", "is a seed of the"),
        ("title = ", "study", "not readable as TOML"),
    ],
)
def test_mistakes_are_refused_with_field_and_remedy(text: str, field: str, remedy: str) -> None:
    found = problems(text)
    assert any(each[0] == field and remedy in each[2] for each in found), found


def test_a_mistake_that_all_arms_share_is_said_once() -> None:
    found = problems(changed("num_runs = 6", "num_runs = 6\nset = { training.batch_size = 0 }"))
    assert [each[:2] for each in found] == [("set.training.batch_size", 0)]


def test_comments_and_layout_do_not_change_what_is_declared() -> None:
    assert parse("# a remark\n" + TEXT).digest == two_arms().digest
    assert parse(changed("[1, 2, 3]", "[1, 2, 4]")).digest != two_arms().digest


def test_names_become_folders() -> None:
    assert slug("BAPO w/o X2") == "bapo-w-o-x2"
    assert slug("GRPO (v = 5)") == "grpo-v-5"


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_studies_can_run(name: str) -> None:
    study = parse(shipped()[name])
    # As they were run: DAPO with one update per step.
    assert {each.field for each in check(study)} <= {"arms.DAPO.training.mini_batch_size"}
    assert len(study.seeds) >= 5
