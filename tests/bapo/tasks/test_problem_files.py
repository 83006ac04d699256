"""Problems of files with prompt and answer."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bapo.config import ConfigError, resolve
from bapo.config.task import FileTaskConfig
from bapo.tasks import build_task
from tests.support.late_imports import late_imports

with late_imports():
    from bapo.engines.local.engine import LocalEngine

PNG = b"\x89PNG\r\n\x1a\n" + b"diagram"
ROWS = [{"prompt": f"What is {n} + {n}?", "answer": 2 * n} for n in range(1, 7)]


def jsonl(folder: Path, rows: list[dict[str, Any]], name: str = "train.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def parquet(folder: Path, rows: list[dict[str, Any]], name: str = "train.parquet") -> str:
    path = folder / name
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return str(path)


def problem_of(train_file: str, **section: Any) -> tuple[str, Any, str]:
    with pytest.raises(ConfigError) as caught:
        build_task(FileTaskConfig(train_file=train_file, **section))
    (problem,) = caught.value.problems
    return problem.field, problem.value, problem.remedy


def test_rows_become_problems_in_order_with_their_instruction(tmp_path: Path) -> None:
    task = build_task(FileTaskConfig(train_file=jsonl(tmp_path, ROWS), instruction=r"Use \boxed{}."))
    assert [problem.prompt for problem in task.train][:2] == [
        "What is 1 + 1?\n\nUse \\boxed{}.",
        "What is 2 + 2?\n\nUse \\boxed{}.",
    ]
    assert task.train[0].answer == {"text": "2"}
    assert task.train[0].data_source == "train"
    assert (task.reward(task.train[2], r"\boxed{6}"), task.reward(task.train[2], r"\boxed{5}")) == (1, 0)
    assert task.evaluation_sets == {}


def test_parquet_and_jsonl_are_the_same_problems(tmp_path: Path) -> None:
    rows = [{**row, "data_source": "sums"} for row in ROWS]
    first = build_task(FileTaskConfig(train_file=jsonl(tmp_path, rows)))
    second = build_task(FileTaskConfig(train_file=parquet(tmp_path, rows)))
    assert first.train == second.train
    assert first.train[0].prompt_id.startswith("sums:")


def test_columns_may_have_other_names(tmp_path: Path) -> None:
    path = jsonl(tmp_path, [{"question": "1 + 1?", "solution": "2", "level": 3}])
    (problem,) = build_task(FileTaskConfig(train_file=path, prompt_column="question", answer_column="solution")).train
    assert (problem.prompt, problem.answer) == ("1 + 1?", {"text": "2"})


def test_each_test_file_is_a_set_and_nothing_of_it_is_trained_on(tmp_path: Path) -> None:
    train = jsonl(tmp_path, ROWS)
    sets = (jsonl(tmp_path, ROWS[:2], "aime.jsonl"), jsonl(tmp_path, ROWS[5:], "amc.jsonl"))
    task = build_task(FileTaskConfig(train_file=train, test_files=sets))
    assert {name: len(problems) for name, problems in task.evaluation_sets.items()} == {"aime": 2, "amc": 1}
    assert [problem.answer["text"] for problem in task.train] == ["6", "8", "10"]


def test_a_file_can_be_drawn_from(tmp_path: Path) -> None:
    path = jsonl(tmp_path, ROWS)
    few = build_task(FileTaskConfig(train_file=path, max_train_problems=3)).train
    again = build_task(FileTaskConfig(train_file=path, max_train_problems=3)).train
    other = build_task(FileTaskConfig(train_file=path, max_train_problems=3, seed=1)).train
    assert len(few) == 3
    assert few == again != other


def test_a_structure_is_the_answer_that_countdown_needs(tmp_path: Path) -> None:
    rows = [{"prompt": "3 4 → 7", "answer": {"nums": [3, 4], "target": 7}}]
    task = build_task(FileTaskConfig(train_file=parquet(tmp_path, rows), verifier="countdown"))
    assert task.reward(task.train[0], "3+4") == 1
    field, _, remedy = problem_of(jsonl(tmp_path, ROWS), verifier="countdown")
    assert field == "task.train_file"
    assert "row 1: the answer lacks nums" in remedy
    assert "row 1: the answer has the fields nums, target" in problem_of(parquet(tmp_path, rows))[2]


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ({"prompt": "p", "answer": None}, "row 2: answer must be a text, a number or a structure, not None"),
        ({"prompt": "p", "answer": True}, "row 2: answer must be a text, a number or a structure, not True"),
        ({"prompt": "p", "answer": "  "}, "row 2: the answer is empty"),
        ({"prompt": "", "answer": "1"}, "row 2: prompt must be a text, not ''"),
        ({"prompt": 5, "answer": "1"}, "row 2: prompt must be a text, not 5"),
        ({"prompt": "p", "solution": "1"}, "row 2 has no column answer (found: prompt, solution)"),
        ({"prompt": "What is 1 + 1?", "answer": 2}, "rows 1 and 2 have the same prompt"),
        ({"prompt": "p", "answer": "1", "images": ["a.png"]}, "row 2: there is no image 'a.png' next to the file"),
        ({"prompt": "p", "answer": "1", "images": ["../a"]}, "row 2: the path '../a' leads out of the file's folder"),
        ({"prompt": "p", "answer": "1", "images": ["/etc/hostname"]}, "leads out of the file's folder"),
        ({"prompt": "p", "answer": "1", "images": "a.png"}, "row 2: images must be a list of images"),
        ({"prompt": "<image>", "answer": "1", "images": []}, "row 2: the prompt has 1 times <image>"),
        ({"prompt": "p", "answer": "1", "data_source": 3}, "row 2: data_source must be a text, not 3"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: dict[str, Any], remedy: str) -> None:
    path = jsonl(tmp_path, [ROWS[0], row])
    field, value, said = problem_of(path)
    assert (field, value) == ("task.train_file", path)
    assert remedy in said


def test_files_are_named_by_the_field_that_gave_them(tmp_path: Path) -> None:
    train = jsonl(tmp_path, ROWS)
    missing = str(tmp_path / "nowhere.parquet")
    assert problem_of(train, test_files=(missing,))[:2] == ("task.test_files", missing)
    assert "all 6 problems are held out" in problem_of(train, test_files=(jsonl(tmp_path, ROWS, "all.jsonl"),))[2]


@pytest.mark.parametrize(
    ("section", "field", "remedy"),
    [
        ({"type": "file"}, "task.train_file", "needs one"),
        (
            {"type": "file", "train_file": "a.parquet", "test_files": ["x/aime.parquet", "y/aime.jsonl"]},
            "task.test_files",
            "two files are named 'aime'",
        ),
        ({"type": "file", "train_file": "a.parquet", "nums": 1}, "task.nums", "no such field"),
        ({"type": "file", "train_file": "a.parquet", "num_train": 1}, "task.num_train", "it belongs to countdown"),
        ({"type": "fil", "train_file": "a.parquet"}, "task.type", "did you mean file?"),
        ({"type": "file", "train_file": "a.parquet", "verifier": "maths"}, "task.verifier", "did you mean math?"),
        ({"type": "file", "train_file": "a${b}.parquet"}, "task.train_file", "must not contain"),
    ],
)
def test_a_section_that_cannot_be_used_is_refused(section: dict[str, Any], field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve({"task": section})
    (problem,) = caught.value.problems
    assert problem.field == field
    assert remedy in problem.remedy


# ---------------------------------------------------------------- images


def pictures(*images: dict[str, Any], prompt: str = "<image>Find x.") -> list[dict[str, Any]]:
    return [{"prompt": prompt, "answer": str(n), "images": [image]} for n, image in enumerate(images)]


def test_images_come_as_bytes_or_lie_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "png").mkdir()
    (tmp_path / "png" / "a.png").write_bytes(PNG)
    rows = pictures({"bytes": PNG + b"1", "path": None}, {"bytes": None, "path": "png/a.png"})
    task = build_task(FileTaskConfig(train_file=parquet(tmp_path, rows)))
    assert [problem.images for problem in task.train] == [(PNG + b"1",), (PNG,)]
    # The same question about another diagram is another problem.
    assert len({problem.prompt_id for problem in task.train}) == 2


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    remedy = problem_of(parquet(tmp_path, pictures({"bytes": b"<svg>", "path": None})))[2]
    assert "row 1: images holds 5 bytes that are no PNG" in remedy


def test_the_local_engine_names_images_that_it_cannot_see(tmp_path: Path) -> None:
    path = parquet(tmp_path, pictures({"bytes": PNG, "path": None}))
    config = resolve({"task": {"type": "file", "train_file": path}}).config
    with pytest.raises(ConfigError) as caught:
        LocalEngine(config, build_task(config.task))
    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("engine.type", "local")
    assert "column images" in problem.remedy


@pytest.mark.parametrize("write", [jsonl, parquet])
def test_dots_in_the_name_of_a_column_lead_into_structures(tmp_path: Path, write: Any) -> None:
    rows = [{"said": {"text": f"{n} + {n}?"}, "reward_model": {"truth": {"sum": 2 * n, "of": [n, n]}}} for n in (1, 2)]
    path, inner = write(tmp_path, rows), "reward_model.truth"
    (first, _) = build_task(
        FileTaskConfig(train_file=path, prompt_column="said.text", answer_column=f"{inner}.sum")
    ).train
    assert (first.prompt, first.answer) == ("1 + 1?", {"text": "2"})
    whole = FileTaskConfig(train_file=path, prompt_column="said.text", answer_column=inner, verifier="exact")
    assert "has the fields sum, of" in problem_of(**whole.model_dump(include={*whole.model_fields_set}))[2]
    assert problem_of(path, prompt_column="said.words")[0] == "task.train_file"


def test_a_decimal_of_parquet_is_a_number(tmp_path: Path) -> None:
    path = tmp_path / "prices.parquet"
    prices = pyarrow.array([Decimal("0.50"), Decimal("1.50")], pyarrow.decimal128(10, 2))
    pyarrow.parquet.write_table(pyarrow.table({"prompt": ["a", "b"], "answer": prices}), path)
    assert [problem.answer for problem in build_task(FileTaskConfig(train_file=str(path))).train] == [
        {"text": "0.50"},
        {"text": "1.50"},
    ]
