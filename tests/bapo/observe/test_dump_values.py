"""What the values of a dump's columns are taken for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bapo.config import ConfigError
from bapo.observe.dumps.formats import Format
from tests.support.command_line import run_here
from tests.support.dumps import imported, problem_of, steps_of, write_rows


def write_table(path: Path, step: int, **columns: Any) -> None:
    """Write completions of TRL: two groups of two, and these columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = {"step": [step] * 4, "prompt": ["p", "p", "q", "q"], "completion": list("abcd"), **columns}
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def numbers(*values: float | None) -> Any:
    return pyarrow.array(values, pyarrow.float64())


def rewards_of(folder: Path) -> list[Any]:
    return [record.rewards.values for record in steps_of(folder) if record.rewards is not None]


def test_texts_that_begin_with_a_gap_are_no_rewards(tmp_path: Path) -> None:
    write_table(
        tmp_path / "c/completions_00001.parquet",
        1,
        accuracy_reward=numbers(0.0, 1.0, None, None),
        format_reward=numbers(0.5, 0.5, 0.5, 0.0),
        answer_parsed=[None, "41", "42", "43"],
    )
    result = imported(tmp_path, Format.TRL, tmp_path / "run")
    # 0 + 0.5, 1 + 0.5; where accuracy abstains, the format's alone.
    assert rewards_of(tmp_path / "run") == [[[0.5, 1.5], [0.5, 0.0]]]
    assert result.understood["reward"] == "columns accuracy_reward + format_reward, added up"
    assert result.understood["not read"] == "answer_parsed"


def test_a_reward_function_that_abstains_throughout_a_file_is_known_by_the_others(tmp_path: Path) -> None:
    none = [None] * 4
    write_table(tmp_path / "c/completions_00001.parquet", 1, a=none, b=numbers(1, 0, 1, 0), text=none)
    write_table(
        tmp_path / "c/completions_00002.parquet", 2, a=numbers(2, 2, 2, 2), b=numbers(1, 0, 1, 0), text=list("abcd")
    )
    result = imported(tmp_path, Format.TRL, tmp_path / "run")
    assert rewards_of(tmp_path / "run") == [None, [[3, 2], [3, 2]]]
    assert result.understood["reward"] == "columns a + b, added up"


def test_a_reward_in_decimals_is_a_number(tmp_path: Path) -> None:
    halves = pyarrow.array([Decimal("0.50"), Decimal("1.00"), None, Decimal("0.00")], pyarrow.decimal128(5, 2))
    write_table(
        tmp_path / "c/completions_00001.parquet",
        1,
        a=halves,
        b=numbers(1, 0, 1, 0),
        c=pyarrow.nulls(4),
    )
    imported(tmp_path, Format.TRL, tmp_path / "run")
    # 0.5 + 1, 1 + 0; where a abstains, b alone.
    assert rewards_of(tmp_path / "run") == [[[1.5, 1], [1, 0]]]


def test_a_column_of_numbers_here_and_texts_there_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "c/completions_00001.parquet", 1, a=numbers(1, 0, 1, 0))
    write_table(tmp_path / "c/completions_00002.parquet", 2, a=list("1010"))
    with pytest.raises(ConfigError) as found:
        imported(tmp_path, Format.TRL, tmp_path / "run")
    assert problem_of(found.value).startswith("reward = 'a': the column has numbers in some files")


@pytest.mark.parametrize(
    ("rewards", "total"),
    [
        ({"a": 1, "b": 0.5}, 1.5),
        ({"a": None, "b": 0.5}, 0.5),
        ({"a": True, "b": "0.5"}, 1.5),
        ({"a": "nan", "b": 0.5}, 0.5),
        ({"a": "-1e-1", "b": 0}, -0.1),
    ],
)
def test_rewards_are_added_up(tmp_path: Path, rewards: Mapping[str, Any], total: float) -> None:
    row = {"prompt": "p", "step": 1, **rewards}
    write_rows(tmp_path / "log.jsonl", [row, {**row, "a": 0.0, "b": 0.25}])
    imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", "reward=a,b")
    assert rewards_of(tmp_path / "run") == [[[total, 0.25]]]


@pytest.mark.parametrize("value", ["good", "", "True", "1_0", "infinite", [1], {"score": 1}])
def test_one_of_several_rewards_that_is_no_number_stops_the_import(tmp_path: Path, value: Any) -> None:
    write_rows(tmp_path / "log.jsonl", [{"prompt": "p", "step": 1, "a": a, "b": 0.5} for a in (1.0, value)])
    with pytest.raises(ConfigError) as found:
        imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", "reward=a,b")
    assert "log.jsonl, row 2" in problem_of(found.value)
    assert "give one number per response" in problem_of(found.value)


@pytest.mark.parametrize(
    ("values", "share"),
    [
        (["length", "stop", "stop", "stop"], 0.25),
        (["false", "False", "true", "true"], 0.5),
        ([0, 1, 0, 0], 0.25),
        ([True, False, False, None], None),
    ],
)
def test_responses_that_were_cut_are_known_by_what_the_column_says(
    tmp_path: Path, values: Sequence[Any], share: float | None
) -> None:
    rows = [{"prompt": "p", "step": 1, "reward": 1, "end": value} for value in values]
    write_rows(tmp_path / "log.jsonl", rows)
    imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", "is_cut=end")
    assert steps_of(tmp_path / "run")[0].response_clip_ratio == share


@pytest.mark.parametrize(
    ("field", "value"),
    [("is_cut", "perhaps"), ("is_cut", 2), ("num_tokens", True), ("num_tokens", 1.5), ("policy_version", "x")],
)
def test_a_value_that_could_be_anything_is_refused_by_field_and_row(tmp_path: Path, field: str, value: Any) -> None:
    write_rows(tmp_path / "log.jsonl", [{"prompt": "p", "step": 1, "reward": 1, "it": value}])
    with pytest.raises(ConfigError) as found:
        imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", f"{field}=it")
    assert problem_of(found.value).startswith(f"{field} = ")
    assert repr(value) in problem_of(found.value)


def test_tool_calls_are_the_text_of_prompts_and_responses(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "calc", "arguments": "{}"}}]}
    prompt = [{"role": "user", "content": "2 + 2 = ?"}, call, {"role": "tool", "content": "4"}]
    write_rows(tmp_path / "log.jsonl", [{"prompt": prompt, "step": 1, "reward": 1, "response": [call]}] * 2)
    imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run")
    sample = json.loads((tmp_path / "run/attempt-1/samples.jsonl").read_text())
    assert sample["prompt"] == "user: 2 + 2 = ?\n\nassistant: calc({})\n\ntool: 4"
    assert [response["text"] for response in sample["responses"]] == ["calc({})", "calc({})"]


def test_the_command_says_what_each_field_was_read_from(tmp_path: Path) -> None:
    rows = [
        {"prompt": "p", "step": 1, "right": 1, "form": at / 2, "answer": None if at else "4", "extra": 1}
        for at in (0, 1)
    ]
    write_rows(tmp_path / "log.jsonl", rows)
    columns = ("--column", "reward=right,form", "--column", "answer=answer")
    done = run_here("import", "--from", "jsonl", tmp_path / "log.jsonl", *columns, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["understood"] == {
        "prompt": "column prompt",
        "response": "column response, which is not there",
        "reward": "columns right + form, added up",
        "step": "column step",
        "answer": "column answer, in 1 of 2 rows",
        "not read": "extra",
    }
    assert "reward: columns right + form, added up" in done.stderr


def test_rewards_without_a_number_leave_the_group_out(tmp_path: Path) -> None:
    given = (("p", 1), ("p", 0), ("q", None), ("q", 1))
    rows = [{"prompt": prompt, "step": 1, "a": value, "b": math.nan} for prompt, value in given]
    write_rows(tmp_path / "log.jsonl", rows)
    result = imported(tmp_path / "log.jsonl", Format.JSONL, tmp_path / "run", "reward=a,b")
    assert result.left_out == {"reward": 1}
