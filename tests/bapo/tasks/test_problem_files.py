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
from bapo.observe.group import prompt_text
from bapo.rollout import prompt_identity
from bapo.tasks import build_task
from tests.support.late_imports import late_imports

with late_imports():
    from bapo.engines.local.engine import LocalEngine

PNG = b"\x89PNG\r\n\x1a\n" + b"diagram"
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 1 + 1?"}]
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


def test_a_prompt_may_be_messages_and_has_one_identity_and_one_text(tmp_path: Path) -> None:
    # As verl and DAPO write them: messages, the ground truth within a structure, columns that nothing here needs.
    row = {
        "prompt": CHAT,
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "data_source": "sums",
        "ability": "math",
    }
    section = {"answer_column": "reward_model.ground_truth", "instruction": "In a box."}
    (problem,) = build_task(FileTaskConfig(train_file=parquet(tmp_path, [row]), **section)).train
    assert problem.messages == (("system", "Be brief."), ("user", "What is 1 + 1?\n\nIn a box."))
    assert problem.prompt == "system: Be brief.\n\nuser: What is 1 + 1?\n\nIn a box."
    assert problem == build_task(FileTaskConfig(train_file=jsonl(tmp_path, [row]), **section)).train[0]
    # The loop that is observed says the same of these messages.
    asked = [{"role": role, "content": content} for role, content in problem.messages]
    assert problem.prompt_id == prompt_identity("sums", prompt_text(asked))
    alone = build_task(FileTaskConfig(train_file=jsonl(tmp_path, [row | {"prompt": CHAT[1:]}]), **section)).train[0]
    assert (alone.prompt, alone.turns) == ("What is 1 + 1?\n\nIn a box.", ())


@pytest.mark.parametrize(
    ("form", "response", "instruction"),
    [
        ("line", "6 clips. **Answer:** 1,234", 'Solve it step by step. End with "Answer:"'),
        ("line", "answer: $1234.\n", "Solve it"),
        ("hashes", "so\n#### 1,234", 'Solve it step by step. End with "####"'),
        ("boxed", r"\boxed{1234}", r"Solve it step by step. Put the result in \boxed{}"),
        ("tags", "<answer>1234</answer>", "Give the final answer within <answer>"),
    ],
)
def test_the_answer_is_read_in_the_chosen_format_alone(
    tmp_path: Path, form: Any, response: str, instruction: str
) -> None:
    path = jsonl(tmp_path, [{"prompt": "How many?", "answer": 1234}])
    task = build_task(FileTaskConfig(train_file=path, answer_format=form))
    assert task.train[0].prompt.startswith(f"How many?\n\n{instruction}")
    assert task.reward(task.train[0], response) == 1
    assert task.reward(task.train[0], response.replace("4", "5")) == 0
    others = {"Answer: 1234", "#### 1234", r"\boxed{1234}", "<answer>1234</answer>"}
    assert sum(task.reward(task.train[0], other) for other in others) == 1
    unasked = FileTaskConfig(train_file=path, answer_format=form, instruction="")
    assert build_task(unasked).train[0].prompt == "How many?"


def test_worked_solutions_end_with_the_answer_in_the_tasks_format(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": "How many clips?", "answer": "72", "solution": "48 + 24 = 72 clips.\n#### 72"},
        {"prompt": "And now?", "answer": 3, "solution": "3 remain. Answer: 3"},
        {"prompt": "And then?", "answer": 3},
    ]
    train = build_task(FileTaskConfig(train_file=jsonl(tmp_path, rows), answer_format="line")).train
    assert [problem.solution for problem in train] == [
        "48 + 24 = 72 clips.\nAnswer: 72",
        "3 remain. Answer: 3",
        None,
    ]


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ({"prompt": "p", "answer": None}, "row 2: answer must be a text, a number or a structure, not None"),
        ({"prompt": "p", "answer": True}, "row 2: answer must be a text, a number or a structure, not True"),
        ({"prompt": "p", "answer": "  "}, "row 2: the answer is empty"),
        ({"prompt": "", "answer": "1"}, "row 2: prompt must be a text, or messages with role and content, not ''"),
        ({"prompt": 5, "answer": "1"}, "row 2: prompt must be a text, or messages with role and content, not 5"),
        ({"prompt": [{"role": "user"}], "answer": "1"}, "row 2: prompt must be a text, or messages with role"),
        ({"prompt": [{"role": "me", "content": "?"}], "answer": "1"}, "row 2: prompt has a message of 'me'"),
        ({"prompt": [*CHAT, {"role": "assistant", "content": "2"}], "answer": "1"}, "row 2: prompt leaves nothing"),
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
        (
            {"type": "file", "train_file": "a.parquet", "answer_format": "line", "verifier": "mine.py:reward"},
            "task.answer_format",
            "leave the format empty, or take a verifier of answers (exact, math, reasoning_gym)",
        ),
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
