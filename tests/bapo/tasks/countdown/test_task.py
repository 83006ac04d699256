"""Countdown as a task: generated or from files, held-out sets disjoint, bad files refused by name and row."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bapo.config.errors import ConfigError
from bapo.config.task import CountdownTaskConfig
from bapo.tasks import Problem, Task, build_task
from bapo.tasks.countdown.generation import Split, split_of

Row = tuple[list[int], int]


def _multisets(problems: Sequence[Problem]) -> set[tuple[int, ...]]:
    return {tuple(sorted(problem.answer["nums"])) for problem in problems}


def _assert_sound(task: Task, num_test: int) -> None:
    assert list(task.evaluation_sets) == ["CD-34", "CD-4"]
    mixed, four = task.evaluation_sets.values()
    assert len(mixed) == len(four) == num_test
    assert all(len(problem.answer["nums"]) == 4 for problem in four)
    assert {len(problem.answer["nums"]) for problem in mixed} == {3, 4}
    assert not {problem.prompt for problem in mixed} & {problem.prompt for problem in four}
    assert not _multisets(task.train) & (_multisets(mixed) | _multisets(four))
    everything = [*task.train, *mixed, *four]
    assert len({problem.prompt_id for problem in everything}) == len(everything)


def _random_rows(count: int, seed: int = 0, max_number: int = 99) -> list[Row]:
    draw = random.Random(seed)
    rows: dict[tuple[int, ...], Row] = {}
    while len(rows) < count:
        nums = [draw.randint(1, max_number) for _ in range(draw.choice((3, 4)))]
        target = draw.randint(1, 100)
        rows[(*nums, target)] = (nums, target)
    return list(rows.values())


def _jsonl(path: Path, rows: Sequence[Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _as_objects(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{"nums": nums, "target": target} for nums, target in rows]


def _parquet(path: Path, columns: dict[str, Any]) -> str:
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return str(path)


def test_generated_by_default() -> None:
    task = build_task(CountdownTaskConfig())
    assert task.name == "countdown"
    assert len(task.train) == 2048
    _assert_sound(task, 200)
    assert {problem.data_source for problem in task.train} == {"countdown"}
    assert {split_of(nums) for nums in _multisets(task.train)} == {Split.TRAIN}
    assert {split_of(nums) for nums in _multisets(task.evaluation_sets["CD-34"])} == {Split.TEST}


def test_generated_problems_depend_on_the_seed_alone() -> None:
    first, again = build_task(CountdownTaskConfig(num_train=64)), build_task(CountdownTaskConfig(num_train=64))
    other = build_task(CountdownTaskConfig(num_train=64, seed=1))
    assert first == again
    assert first.train != other.train
    assert first.evaluation_sets != other.evaluation_sets


def test_prompt_ids_are_the_same_in_another_process() -> None:
    task = build_task(CountdownTaskConfig(num_train=8, num_test=4))
    program = (
        "from bapo.tasks import build_task\nfrom bapo.config.task import CountdownTaskConfig\n"
        "print(*[p.prompt_id for p in build_task(CountdownTaskConfig(num_train=8, num_test=4)).train])"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.split() == [problem.prompt_id for problem in task.train]


def test_prompt_id_is_source_and_hash_of_the_prompt(tmp_path: Path) -> None:
    file = _jsonl(tmp_path / "train.jsonl", _as_objects([([3, 7, 12], 26), *_random_rows(30)]))
    problem = build_task(CountdownTaskConfig(train_file=file, num_test=2)).train[0]
    assert problem.prompt == "3 7 12=26"
    # printf '3 7 12=26' | sha256sum
    assert problem.prompt_id == "countdown:0d1cce9061ee2248"
    assert problem.answer == {"nums": [3, 7, 12], "target": 26}


def test_reward() -> None:
    task = build_task(CountdownTaskConfig(num_train=8, num_test=4))
    problem = Problem("id", "countdown", "3 7 12=22", {"nums": [3, 7, 12], "target": 22})
    assert task.reward(problem, "3+7+12") == 1
    assert task.reward(problem, "3+7+11") == 0
    assert task.reward(problem, "I do not know") == 0


def test_template() -> None:
    template = 'Reach {target} with {nums}; answer {"expression": …} in <answer> tags.'
    task = build_task(CountdownTaskConfig(num_train=8, num_test=4, prompt_template=template))
    nums, target = task.train[0].answer["nums"], task.train[0].answer["target"]
    assert isinstance(nums, list)
    assert task.train[0].prompt == (
        f'Reach {target} with {" ".join(map(str, nums))}; answer {{"expression": …}} in <answer> tags.'
    )


def test_parquet_and_jsonl_give_the_same_task(tmp_path: Path) -> None:
    rows = _random_rows(300)
    jsonl = _jsonl(tmp_path / "train.jsonl", _as_objects(rows))
    parquet = _parquet(
        tmp_path / "train.parquet", {"target": [target for _, target in rows], "nums": [nums for nums, _ in rows]}
    )
    from_jsonl = build_task(CountdownTaskConfig(train_file=jsonl, num_test=20))
    _assert_sound(from_jsonl, 20)
    assert from_jsonl == build_task(CountdownTaskConfig(train_file=parquet, num_test=20))


def test_held_out_of_the_train_file_takes_whole_multisets(tmp_path: Path) -> None:
    # Each multiset in two orders and with two targets; small numbers, so that many rows share one.
    rows = {
        (tuple(order), target): (list(order), target)
        for nums, target in _random_rows(400, max_number=9)
        for order in (nums, nums[::-1])
        for target in (target, target + 1)
    }
    file = _jsonl(tmp_path / "train.jsonl", _as_objects(list(rows.values())))
    task = build_task(CountdownTaskConfig(train_file=file, num_test=20, num_train=10_000))
    _assert_sound(task, 20)
    assert len(rows) - len(task.train) > 40
    for problems in task.evaluation_sets.values():
        contents = {(tuple(sorted(p.answer["nums"])), p.answer["target"]) for p in problems}
        assert len(contents) == 20


def test_num_train_takes_a_part_of_the_file(tmp_path: Path) -> None:
    file = _jsonl(tmp_path / "train.jsonl", _as_objects(_random_rows(300)))
    few, many = (build_task(CountdownTaskConfig(train_file=file, num_test=20, num_train=count)) for count in (50, 5000))
    assert len(few.train) == 50
    assert len(many.train) >= 250
    assert {p.prompt_id for p in few.train} < {p.prompt_id for p in many.train}


def test_test_file(tmp_path: Path) -> None:
    test_rows = _random_rows(60, seed=1)
    shared = test_rows[:20]
    train = _jsonl(tmp_path / "train.jsonl", _as_objects(_random_rows(100) + [(nums[::-1], 5) for nums, _ in shared]))
    test = _jsonl(tmp_path / "test.jsonl", _as_objects(test_rows))
    task = build_task(CountdownTaskConfig(train_file=train, test_file=test, num_test=15))
    _assert_sound(task, 15)
    of_test = {tuple(nums) for nums, _ in test_rows}
    assert {tuple(p.answer["nums"]) for p in task.evaluation_sets["CD-34"]} <= of_test


def test_test_file_with_generated_training(tmp_path: Path) -> None:
    tests = _as_objects([([3, 7, 12], 22), ([1, 2, 3, 4], 10), ([3, 7, 12, 1], 9), ([5, 2, 9, 9], 25)])
    file = _jsonl(tmp_path / "test.jsonl", tests)
    _assert_sound(build_task(CountdownTaskConfig(test_file=file, num_test=2, num_train=200)), 2)


@pytest.mark.parametrize("field", ["train_file", "test_file"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jsonl", "", "the file has no rows"),
        ("blank.jsonl", "\n\n", "the file has no rows"),
        ("data.csv", "nums,target\n", "files end in .parquet or .jsonl, not '.csv'"),
        ("wrong.jsonl", '{"numbers": [1, 2, 3], "target": 6}\n', "row 1 has no column nums (found: numbers, target)"),
        ("half.jsonl", '{"nums": [1, 2, 3]}\n', "row 1 has no column target (found: nums)"),
        ("list.jsonl", "[[1, 2, 3], 6]\n", "row 1 is not a JSON object"),
        ("torn.jsonl", '{"nums": [1, 2, 3], "target": 6}\n{"nums": [1, 2', "row 2 is not JSON"),
        ("text.jsonl", '{"nums": "1 2 3", "target": 6}\n', "row 1: nums must be a list"),
        ("one.jsonl", '{"nums": [6], "target": 6}\n', "row 1: nums must be a list of 2 to"),
        ("float.jsonl", '{"nums": [1, 2, 3.5], "target": 6}\n', "row 1: nums must be"),
        ("bool.jsonl", '{"nums": [1, 2, true], "target": 6}\n', "row 1: nums must be"),
        ("negative.jsonl", '{"nums": [1, 2, -3], "target": 6}\n', "row 1: nums must be"),
        ("none.jsonl", '{"nums": [1, 2, 3], "target": null}\n', "row 1: nums must be"),
        ("broken.parquet", "not parquet", "not readable as parquet"),
        ("latin.jsonl", b'{"nums": [1, 2, 3], "target": "\xe9"}\n', "not UTF-8"),
    ],
)
def test_bad_files(tmp_path: Path, field: str, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        build_task(CountdownTaskConfig(**{field: str(path)}))
    (problem,) = caught.value.problems
    assert problem.field == f"task.{field}"
    assert problem.value == str(path)
    assert message in problem.remedy


@pytest.mark.parametrize("field", ["train_file", "test_file"])
def test_missing_file(tmp_path: Path, field: str) -> None:
    with pytest.raises(ConfigError, match=rf"task\.{field} = .*nowhere\.parquet.*there is no such file"):
        build_task(CountdownTaskConfig(**{field: str(tmp_path / "nowhere.parquet")}))


def test_parquet_with_wrong_columns(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "train.parquet", {"numbers": [[1, 2, 3]], "target": [6]})
    with pytest.raises(ConfigError, match=r"no column nums \(found: numbers, target\)"):
        build_task(CountdownTaskConfig(train_file=path))


def test_parquet_without_rows(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "train.parquet", {"nums": [], "target": []})
    with pytest.raises(ConfigError, match="the file has no rows"):
        build_task(CountdownTaskConfig(train_file=path))


def test_parquet_with_a_bad_row(tmp_path: Path) -> None:
    path = _parquet(tmp_path / "train.parquet", {"nums": [[1, 2, 3], None], "target": [6, 7]})
    with pytest.raises(ConfigError, match="row 2: nums must be a list"):
        build_task(CountdownTaskConfig(train_file=path))


def test_duplicate_problems_are_named_by_their_rows(tmp_path: Path) -> None:
    rows = _random_rows(40)
    path = _jsonl(tmp_path / "train.jsonl", _as_objects([*rows, rows[3]]))
    with pytest.raises(ConfigError, match="rows 4 and 41 are the same problem"):
        build_task(CountdownTaskConfig(train_file=path, num_test=2))


def test_the_same_numbers_in_another_order_are_another_prompt(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "train.jsonl", _as_objects([([3, 7, 12], 22), ([12, 7, 3], 22), *_random_rows(40)]))
    prompts = {problem.prompt for problem in build_task(CountdownTaskConfig(train_file=path, num_test=2)).train}
    assert {"3 7 12=22", "12 7 3=22"} <= prompts


@pytest.mark.parametrize(("num_test", "enough"), [(4, True), (5, False)])
def test_too_few_problems_for_the_held_out_sets(tmp_path: Path, num_test: int, enough: bool) -> None:
    rows = [([i, 50, 60, 70], 9) for i in range(8)] + [([1, 2, 3], 6)]
    test = _jsonl(tmp_path / "test.jsonl", _as_objects(rows))
    config = CountdownTaskConfig(test_file=test, num_test=num_test, num_train=10)
    if enough:
        build_task(config)
    else:
        with pytest.raises(ConfigError, match=r"task\.test_file.*only [34] distinct problems are there for CD-4"):
            build_task(config)


def test_a_train_file_that_is_all_held_out(tmp_path: Path) -> None:
    path = _jsonl(tmp_path / "train.jsonl", _as_objects([([1, 2, 3, 4], target) for target in range(1, 11)]))
    with pytest.raises(ConfigError, match="none is left to train on"):
        build_task(CountdownTaskConfig(train_file=path, num_test=2))


def test_a_range_too_small_for_the_problems_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"task\.num_train = 400.*numbers 1\.\.4"):
        build_task(CountdownTaskConfig(max_number=4, num_test=2, num_train=400))
