"""Data that people bring: what is read, what is refused, what is found."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from bapo.config.task import FileTaskConfig
from bapo.isolation.function import CallCancelledError
from bapo.own_data.check import CheckedData, OtherData, check
from bapo.own_data.formats import FormatError, check_beginning, preview, read
from bapo.own_data.job import CheckJob, CheckResult, FileReadError, carry_out, read_isolated
from bapo.own_data.mapping import mapped, proposal
from bapo.own_data.report import ColumnMapping, DataPreview
from bapo.tasks.problem_files import RowError, read_problems

SUMS = ColumnMapping(columns={"prompt": "question", "answer": "answer"}, verifier="exact")


def written(folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "rows.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sums(count: int) -> list[dict[str, Any]]:
    return [
        {"question": f"Ann has {n} pears and gets {n * n} more. How many?", "answer": n + n * n} for n in range(count)
    ]


def checked(path: Path, mapping: ColumnMapping = SUMS, others: Sequence[OtherData] = ()) -> CheckedData:
    return check(path, path.suffix, mapping, others, path.with_name("checked"))


def texts(data: CheckedData, severity: str) -> str:
    return " ".join(remark.text for remark in data.report.remarks if remark.severity == severity)


def test_good_rows_become_a_file_that_a_run_reads(tmp_path: Path) -> None:
    data = checked(written(tmp_path, sums(60)))
    assert (data.report.num_rows, data.report.num_kept, data.report.warnings) == (60, 60, [])
    assert data.path is not None
    problems = read_problems(str(data.path), FileTaskConfig(train_file="x", verifier="exact"), field="f")
    assert [problem.answer for problem in problems[:3]] == [{"text": "0"}, {"text": "2"}, {"text": "6"}]
    # The same rows make the same bytes, whatever file they came from.
    first = data.path.read_bytes()
    table = written(tmp_path, [{"answer": row["answer"], "question": row["question"]} for row in sums(60)], "o.jsonl")
    assert checked(table).path.read_bytes() == first  # type: ignore[union-attr]


def test_bad_rows_are_named_by_their_lines_and_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, sums(60))
    lines = path.read_text().splitlines()
    lines[3:3] = ["", "{broken", "[1]", json.dumps({"question": " ", "answer": 3}), json.dumps({"question": "Why?"})]
    path.write_text("\n".join(lines))
    data = checked(path)
    assert [(bad.row, bad.reason[:16]) for bad in data.report.bad_rows] == [
        (5, "this is not JSON"),
        (6, "this is not a JS"),
        (7, "the prompt is em"),
        (8, "the answer is em"),
    ]
    assert (data.report.num_rows, data.report.num_kept) == (64, 60)
    assert "4 rows cannot be used" in texts(data, "warning")


def test_most_rows_bad_is_a_refusal_that_names_the_first(tmp_path: Path) -> None:
    data = checked(written(tmp_path, [*sums(3), *({"q": n} for n in range(4))]))
    assert data.path is None
    assert texts(data, "problem").startswith("4 of 7 rows cannot be used")
    assert "Row 4: the prompt is empty" in texts(data, "problem")


def test_a_file_full_of_duplicates_keeps_each_once(tmp_path: Path) -> None:
    rows = [*sums(2), *sums(2), {**sums(1)[0], "answer": 7}]
    data = checked(written(tmp_path, rows))
    assert (data.report.num_kept, data.report.num_repeated, data.report.num_contradicting) == (2, 3, 1)
    assert [(each.row, each.earlier) for each in data.report.repeated] == [(3, 1), (4, 2), (5, 1)]
    assert "3 rows (60\u2009%) repeat the prompts of earlier ones" in texts(data, "warning").replace("\u202f", "\u2009")
    assert "another answer" in texts(data, "warning")


def test_one_row_that_repeats_another_is_one(tmp_path: Path) -> None:
    data = checked(written(tmp_path, [*sums(60), sums(1)[0]]))
    assert "1 row (2\u202f%) repeats the prompt of an earlier one and is left out." in texts(data, "warning")


def test_nearly_the_same_problem_is_told_and_kept(tmp_path: Path) -> None:
    rows = sums(60)
    rows.append({"question": rows[7]["question"].upper() + " ?", "answer": 56})
    data = checked(written(tmp_path, rows))
    assert data.report.num_kept == 61
    assert [(each.row, each.earlier) for each in data.report.near] == [(61, 8)]


def test_overlap_with_test_sets_is_a_warning_and_with_others_a_note(tmp_path: Path) -> None:
    other = [{"prompt": row["question"].lower(), "answer": "1"} for row in sums(10)]
    held_out, registered = written(tmp_path, other[:2], "test.jsonl"), written(tmp_path, other[5:], "train.jsonl")
    others = [OtherData("held", str(held_out), True), OtherData("mine", str(registered), False)]
    data = checked(written(tmp_path, sums(60)), others=[*others, OtherData("gone", str(tmp_path / "no.jsonl"), True)])
    assert [(each.name, each.num_problems, list(each.rows)) for each in data.report.overlaps] == [
        ("@held", 2, [1, 2]),
        ("@mine", 5, [6, 7, 8, 9, 10]),
    ]
    assert "2 problems of the test set @held" in texts(data, "warning")
    assert "5 problems are also in @mine" in texts(data, "note")


def test_a_verifier_that_refuses_every_reference_answer_refuses_the_file(tmp_path: Path) -> None:
    rows = [{"question": f"Name {n}?", "answer": f"<answer>{n}"} for n in range(60)]
    data = checked(written(tmp_path, rows))
    assert "judges every reference answer wrong" in texts(data, "problem")
    assert data.report.trial.num_references_refused == data.report.trial.num_tried == 40
    # One of one's own is not run by the server.
    mine = SUMS.model_copy(update={"verifier": "@mine"})
    data = checked(written(tmp_path, sums(60)), mine)
    assert data.report.trial.num_tried == 0
    assert "was not tried" in texts(data, "note")


def test_countdown_is_solved_and_compared_with_the_test_sets_that_ship(tmp_path: Path) -> None:
    mapping = ColumnMapping(task="countdown", columns={"nums": "nums", "target": "target"}, verifier="countdown")
    rows: list[dict[str, Any]] = [{"nums": [1, 2, n], "target": n + 3} for n in range(3, 60)]
    # 2 and 2 make 0, 1 and 4 alone.
    data = checked(written(tmp_path, [*rows, {"nums": [2, 2], "target": 9}]), mapping)
    assert data.report.num_kept == 58
    assert {each.name for each in data.report.overlaps} <= {"CD-34", "CD-4"}


def test_csv_and_parquet_are_read_with_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes('\ufeffquestion;answer\n"one;\nline";1\nmore;2;3\nlast;4\n'.encode())
    assert [(row.number, row.values or row.reason) for row in read(path, ".csv")] == [
        (2, {"question": "one;\nline", "answer": "1"}),
        (4, "it has 3 fields, where the head names 2"),
        (5, {"question": "last", "answer": "4"}),
    ]
    table = pyarrow.Table.from_pylist([{"question": "a", "reward_model": {"ground_truth": "4"}}])
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    seen = preview(tmp_path / "rows.parquet", ".parquet")
    assert (list(seen.columns), [list(row) for row in seen.rows]) == (
        ["question", "reward_model.ground_truth"],
        [["a", "4"]],
    )
    assert proposal(seen).columns == {"prompt": "question", "answer": "reward_model.ground_truth"}


def test_long_fields_of_csv_are_read_without_raising_the_limit_of_others(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    # 200,000 characters, where a process begins with a limit of 131,072.
    path.write_text(f"question,answer\n{'x' * 200_000},1\nshort,2\n")
    rows = read(path, ".csv")
    limits = []
    for row, length in zip(rows, (200_000, 5), strict=True):
        assert row.values is not None
        assert len(row.values["question"]) == length
        limits.append(csv.field_size_limit())
    assert limits == [131_072, 131_072]


@pytest.mark.parametrize(
    ("ending", "content", "why"),
    [
        (".parquet", b'{"a": 1}', "no Parquet file"),
        (".parquet", b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (".jsonl", b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
        (".jsonl", b"PAR1....", "a Parquet file"),
        (".jsonl", b"\x80\x04\x95", "a pickle"),
        (".jsonl", b"\x1f\x8b\x08", "a gzip archive"),
        (".csv", b"PK\x03\x04", "a spreadsheet"),
        (".csv", b"a,b\n\xff\xfe,1\n1,2", "not UTF-8"),
        (".jsonl", b'{"a": "\0"}', "no UTF-8 text"),
        (".jsonl", b'  [{"a": 1}]', "one JSON array"),
    ],
)
def test_what_is_not_what_its_name_says_is_told_by_its_first_bytes(ending: str, content: bytes, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        check_beginning(ending, content)


def test_a_csv_file_of_more_columns_than_are_read_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{number}" for number in range(200_000)) + "\n")
    with pytest.raises(FormatError, match="names 200,000 columns"):
        preview(path, ".csv")


def test_a_cut_letter_at_the_end_is_no_reason(tmp_path: Path) -> None:
    check_beginning(".jsonl", '{"a": "é'.encode()[:-1])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["question", "answer"], {"prompt": "question", "answer": "answer"}),
        (["Problem", "Solution", "images"], {"prompt": "Problem", "answer": "Solution", "images": "images"}),
        (
            ["question", "rationale", "answer"],
            {"prompt": "question", "answer": "answer", "solution": "rationale"},
        ),
        (["nums", "target"], {"nums": "nums", "target": "target"}),
        (["a", "b"], {}),
    ],
)
def test_columns_are_proposed_by_their_names(columns: Sequence[str], expected: Mapping[str, str]) -> None:
    mapping = proposal(DataPreview(columns=columns, rows=[["1"] * len(columns)]))
    assert mapping.columns == expected
    assert mapping.task == ("countdown" if "nums" in expected else "file")


def test_rows_are_taken_in_the_shapes_that_people_have() -> None:
    chat = {"p": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1 + 1?"}], "a": [" 2 "]}
    mapping = ColumnMapping(columns={"prompt": "p", "answer": "a"})
    assert mapped(chat, mapping) == {"prompt": chat["p"], "answer": "2"}
    parts = [{"type": "text", "text": "Add."}, {"type": "text", "text": "1 + 1?"}, {"type": "audio"}]
    assert mapped({"p": [{"role": "user", "content": parts}], "a": 2}, mapping)["prompt"] == "Add.\n1 + 1?\n[audio]"
    countdown = ColumnMapping(task="countdown", columns={"nums": "n", "target": "t"})
    assert mapped({"n": "3, 4 5", "t": "12"}, countdown) == {"nums": [3, 4, 5], "target": 12}
    with pytest.raises(RowError, match="whole numbers"):
        mapped({"n": [1, 2], "t": 1.5}, countdown)
    assert mapped({"n": [3.0, 4, Decimal(5)], "t": Decimal("12")}, countdown) == {"nums": [3, 4, 5], "target": 12}
    for nums, target in (("1 " + "9" * 5_000, 3), ([1, 10**18], 3), ([1, 2], -(10**18)), ([1, float("inf")], 3)):
        with pytest.raises(RowError, match=r"whole numbers|a list of"):
            mapped({"n": nums, "t": target}, countdown)
    with pytest.raises(RowError, match="paths lead nowhere"):
        mapped(
            {"p": "<image>?", "a": 1, "i": ["/etc/passwd"]}, ColumnMapping(columns={**mapping.columns, "images": "i"})
        )


def test_a_job_proposes_checks_and_says_what_is_missing(tmp_path: Path) -> None:
    def job(path: Path, mapping: ColumnMapping | None = None) -> CheckResult:
        return carry_out(CheckJob(path=path, ending=".jsonl", mapping=mapping, out=tmp_path / "out"))

    result = job(written(tmp_path, [{"what": n, "then": 1} for n in range(3)]))
    assert (result.report, result.path, result.problem) == (None, None, None)
    assert result.mapping is not None
    assert result.mapping.missing == ["prompt", "answer"]
    result = job(written(tmp_path, sums(60)), SUMS)
    assert result.report is not None
    assert (result.report.num_kept, list(result.columns)) == (60, ["answer", "prompt"])
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n\n")
    assert "has no rows" in (job(empty).problem or "")


def test_an_isolated_check_finds_the_same_and_can_be_cancelled(tmp_path: Path) -> None:
    job = CheckJob(path=written(tmp_path, sums(60)), ending=".jsonl", mapping=SUMS, out=tmp_path / "out")
    with pytest.raises(CallCancelledError):
        read_isolated(carry_out, job, file_bytes=None, is_cancelled=lambda: True)
    with pytest.raises(FileReadError, match="took longer than 0 s: split it"):
        read_isolated(carry_out, job, file_bytes=None, seconds=0)
    assert read_isolated(carry_out, job, file_bytes=None) == carry_out(job)


# ---------------------------------------------------------------- answers that are no results

WORKED = "It sells 60+960=<<60+960=1020>>1020 pens.\n#### 1,020"


def with_answers(folder: Path, answers: Sequence[Any]) -> Path:
    return written(folder, [{"question": f"Question {n}?", "answer": answer} for n, answer in enumerate(answers)])


@pytest.mark.parametrize("verifier", ["exact", "math"])
@pytest.mark.parametrize(
    ("answer", "why", "proposed"),
    [
        (WORKED, "follows ####: '1020'", r"answer####"),
        (r"We have $3 + 4 = 7$, so that it is \boxed{7}.", r"is in \boxed: '7'", r"answer\boxed"),
        ("Three and four make <answer>7</answer>", "is in <answer>: '7'", "answer<answer>"),
        ("She has 3 pears, gets 4 more from Ann and in the end she has 7", "a whole text", "a column"),
        ("The answer is 7.", "a whole text", "a column"),
        ("3 pears\nand 4 more pears\nmake 7", "a text of 3 lines", "a column"),
        ("1" * 1_001, "it has 1,001 characters", "a column"),
    ],
)
def test_whole_texts_as_answers_refuse_the_file(
    tmp_path: Path, verifier: str, answer: str, why: str, proposed: str
) -> None:
    """Put into a box, every text equals itself, whatever it says: the trial has to look at the answers."""
    data = checked(with_answers(tmp_path, [answer] * 60), SUMS.model_copy(update={"verifier": verifier}))
    said = texts(data, "problem")
    assert data.path is None
    assert "No response can be right: the answers are whole texts, not results" in said
    assert (why in said, proposed in said) == (True, True)
    trial = data.report.trial
    assert (trial.num_whole_texts, trial.num_references_refused, trial.num_tried) == (40, 40, 40)


@pytest.mark.parametrize("verifier", ["exact", "math"])
@pytest.mark.parametrize(
    "answer",
    ["7", "-1.5", "1,020", r"\frac{1}{2}", r"5\text{ cm}", "Ada Lovelace", "x = 3", "1 2\n3 4", "B", r"\text{Monday}"],
)
def test_results_are_no_whole_texts(tmp_path: Path, verifier: str, answer: str) -> None:
    data = checked(with_answers(tmp_path, [answer] * 60), SUMS.model_copy(update={"verifier": verifier}))
    assert (texts(data, "problem"), data.report.trial.num_references_refused) == ("", 0)


def test_some_whole_texts_are_a_warning(tmp_path: Path) -> None:
    # Every second row is tried: 40 of 80, and 20 of them have the text.
    data = checked(with_answers(tmp_path, [WORKED if n % 4 == 0 else n for n in range(80)]))
    assert data.report.trial.num_whole_texts == 20
    assert "20 of 40 answers that were tried are whole texts" in texts(data, "warning")


def test_what_marks_the_result_is_proposed_and_said(tmp_path: Path) -> None:
    path = with_answers(tmp_path, [WORKED.replace("#### 1,020", f"#### {n}") for n in range(60)])
    seen = preview(path, ".jsonl")
    assert list(seen.columns) == ["question", "answer", "answer####"]
    mapping = proposal(seen)
    assert (mapping.columns["answer"], mapping.verifier) == ("answer####", "math")
    data = checked(path, mapping)
    assert "The answers in answer are whole texts, with which no response can be right" in texts(data, "warning")
    assert data.path is not None
    assert [json.loads(line)["answer"] for line in data.path.read_text().splitlines()][:3] == ["0", "1", "2"]
    # The texts are worked solutions, which end in the task's own form of answer when a run learns from them.
    section = FileTaskConfig(train_file="x", verifier="math", answer_format="line")
    assert [each.solution for each in read_problems(str(data.path), section, field="f")][:2] == [
        WORKED.partition("####")[0].strip() + f"\nAnswer: {n}" for n in range(2)
    ]
    # Thousands are written as models write them.
    row = {"question": "How many?", "answer": WORKED}
    assert mapped(row, mapping)["answer"] == "1020"
    with pytest.raises(RowError, match="has no #### with a result"):
        mapped({"question": "How many?", "answer": "many"}, mapping)


def test_worked_solutions_are_kept_where_they_are_texts(tmp_path: Path) -> None:
    mapping = SUMS.model_copy(update={"columns": {**SUMS.columns, "solution": "worked"}})
    steps = {0: " 0 + 0 = 0 ", 1: "", 2: ["2 + 4 = 6"]}
    rows = [{**row, "worked": steps.get(n, "so it is")} for n, row in enumerate(sums(60))]
    data = checked(written(tmp_path, rows), mapping)
    assert data.path is not None
    kept = [json.loads(line).get("solution") for line in data.path.read_text().splitlines()]
    assert kept[:4] == ["0 + 0 = 0", None, None, "so it is"]


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "NaN", "null", "<NA>"])
def test_a_missing_value_is_no_answer(answer: Any) -> None:
    with pytest.raises(RowError, match=r"no number to compare with|a missing value"):
        mapped({"question": "How many?", "answer": answer}, SUMS)


def test_answers_in_other_types_keep_their_digits() -> None:
    def answer(given: Any) -> Any:
        return mapped({"question": "How many?", "answer": given}, SUMS)["answer"]

    # Not 5E-1 and not 0.5: the digits are the column's.
    assert (answer(Decimal("0.50")), answer(Decimal("1E+3")), answer(Decimal("1E-7"))) == ("0.50", "1000", "0.0000001")
    assert answer(date(2024, 2, 29)) == "2024-02-29"
    assert answer({"price": Decimal("0.50"), "on": [date(2024, 2, 29)]}) == {"price": "0.50", "on": ["2024-02-29"]}
    with pytest.raises(RowError, match="must be a text, a number or a structure"):
        answer({"image": b"x"})
    with pytest.raises(RowError, match="no number"):
        answer(Decimal("NaN"))


def test_structures_are_answers_that_a_verifier_of_ones_own_reads(tmp_path: Path) -> None:
    path = with_answers(tmp_path, [{"numbers": [1, n], "target": n + 1} for n in range(2, 62)])
    job = CheckJob(
        path=path, ending=".jsonl", mapping=ColumnMapping(columns={"answer": "answer"}), out=tmp_path / "out"
    )
    result = carry_out(job)
    assert result.mapping is not None
    # The other column is the one that a proposal would name.
    assert result.mapping.columns == {"prompt": "question", "answer": "answer"}
    assert result.report is not None
    assert result.report.num_kept == 60
    assert "The verifier math cannot read the answers" in " ".join(result.report.warnings)
    assert result.path is not None
    assert json.loads(result.path.read_text().splitlines()[0])["answer"] == {"numbers": [1, 2], "target": 3}


# ---------------------------------------------------------------- structures, and values that nothing stores


def test_verl_countdown_is_found_two_levels_deep(tmp_path: Path) -> None:
    rows = [
        {
            "data_source": "countdown",
            "prompt": [{"content": f"Using [{n}, {n + 1}, {n + 2}]", "role": "user"}],
            "reward_model": {"style": "rule", "ground_truth": {"target": 3 * n + 3, "numbers": [n, n + 1, n + 2]}},
        }
        for n in range(1, 61)
    ]
    path = tmp_path / "verl.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    seen = preview(path, ".parquet")
    assert "reward_model.ground_truth" in seen.choices
    assert (seen.has("reward_model.ground_truth.numbers"), seen.has("reward_model.ground")) == (True, False)
    mapping = proposal(seen)
    within = "reward_model.ground_truth"
    assert (mapping.task, mapping.columns) == (
        "countdown",
        {"nums": f"{within}.numbers", "target": f"{within}.target"},
    )
    assert checked(path, mapping).report.num_kept == 60


def test_a_ground_truth_is_found_however_deep(tmp_path: Path) -> None:
    rows = [{"question": f"{n}?", "extra": {"verl": {"ground_truth": n}}} for n in range(3)]
    mapping = proposal(preview(written(tmp_path, rows), ".jsonl"))
    assert mapping.columns == {"prompt": "question", "answer": "extra.verl.ground_truth"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (r'{"question": "a\u0000b", "answer": "1"}', r"prompt holds a NUL character (\u0000)"),
        (r'{"question": "a", "answer": "\ud800"}', r"answer holds half of a surrogate pair (\ud800)"),
        (r'{"question": "a", "answer": {"x": ["\u0000"]}}', "answer holds a NUL character"),
        (r'{"question": "a", "answer": {"\u0000": 1}}', "answer holds a NUL character"),
        ('{"question": "a", "answer": ' + "[" * 60 + "]" * 60 + "}", "more than 50 deep"),
        ("[" * 200_000, "more than 50 deep"),
        ('{"question": "a", "answer": 1' + "0" * 4_300 + "}", "more than 4,300 digits"),
        ('{"question": "a", "answer": NaN}', "answer holds nan"),
    ],
)
def test_a_row_that_nothing_can_store_is_left_out_and_named(tmp_path: Path, line: str, why: str) -> None:
    path = written(tmp_path, sums(60))
    path.write_text(path.read_text() + line + "\n")
    data = checked(path)
    assert data.report.num_kept == 60
    assert [bad.row for bad in data.report.bad_rows] == [61]
    assert why in data.report.bad_rows[0].reason


def test_what_a_preview_shows_can_be_stored(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(r'{"a\u0000": "b\u0000", "c": "\ud800", "n": 1' + "0" * 3_999 + r', "s": {"\ud800": [NaN]}}')
    seen = preview(path, ".jsonl")
    assert (list(seen.columns), list(seen.rows[0])) == (
        ["a\ufffd", "c", "n", "s.\ufffd"],
        ["b\ufffd", "\ufffd", "1" + "0" * 499 + " … (4,000 characters)", ["nan"]],
    )
    # As the isolated check hands it over.
    assert DataPreview.model_validate_json(seen.model_dump_json()) == seen


def test_a_file_of_empty_rows_is_given_up_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bapo.own_data.check.MOST_BAD_FIRST", 1_000)
    monkeypatch.setattr("bapo.own_data.formats.MOST_ROWS", 100_000)
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"question": pyarrow.nulls(50_000, pyarrow.string())}), path)
    data = checked(path)
    assert (data.path, data.report.num_rows, data.report.num_kept) == (None, 1_000, 0)
    pyarrow.parquet.write_table(pyarrow.table({"question": pyarrow.nulls(100_001, pyarrow.string())}), path)
    with pytest.raises(FormatError, match="100,001 rows: at most 100,000"):
        checked(path)
