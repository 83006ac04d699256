"""Published data sets, in their authors' schemas with problems of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from bapo.cli import app
from bapo.config.task import CountdownTaskConfig, FileTaskConfig
from bapo.datasets.catalogue import PUBLISHED
from bapo.datasets.preparation import MANIFEST_FILE, PreparationError, prepare, read_manifest
from bapo.tasks import build_task

PNG = b"\x89PNG\r\n\x1a\n"


def sums(count: int, prompt: str, answer: str, **also: Any) -> list[dict[str, Any]]:
    return [{prompt: f"What is {n} + 1?", answer: str(n + 1), **also} for n in range(count)]


def parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def whole(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text(json.dumps(rows), encoding="utf-8")


def pictures(count: int, mark: str = "<image>") -> list[dict[str, Any]]:
    return [
        {
            "images": [{"bytes": PNG + bytes([n]), "path": None}],
            "problem": f"{mark}Find x in degrees.",
            "answer": f"{n}0^\\circ",
            "choices": ["1", "2"],
        }
        for n in range(1, count + 1)
    ]


def publish(folder: Path, name: str) -> None:
    """The files of a data set as its authors publish them, two problems each."""
    match name:
        case "deepscaler":
            whole(folder / "deepscaler.json", sums(2, "problem", "answer", solution="…"))
        case "countdown":
            rows = [{"target": 7 + n, "nums": [3, 4, n]} for n in range(400)]
            rows += [{"target": 7 + n, "nums": [2, 3, 4, n]} for n in range(300)]
            parquet(folder / "data" / "train-00000-of-00001.parquet", rows)
        case "geometry3k":
            for split in ("train", "validation", "test"):
                # The same question about other diagrams.
                rows = pictures(6)[{"train": slice(0, 2), "validation": slice(2, 4), "test": slice(4, 6)}[split]]
                parquet(folder / "data" / f"{split}-00000-of-00001.parquet", rows)
        case "aime24":
            parquet(folder / "data" / "train-00000-of-00001.parquet", sums(2, "problem", "answer", id=60, year="2024"))
        case "amc23":
            rows = [{"id": n, "problem": f"{n} + 1?", "answer": float(n + 1), "url": "…"} for n in range(2)]
            parquet(folder / "data" / "train-00000-of-00001.parquet", rows)
        case "math500":
            lines(folder / "test.jsonl", sums(2, "problem", "answer", subject="Algebra", level=1, unique_id="a"))
        case "minerva":
            lines(folder / "test.jsonl", sums(2, "question", "answer"))
        case "olympiad":
            rows = [
                {
                    "id": n,
                    "question": f"Find all x with x^2 = {n}.",
                    "context": "Let x be real." if n == 1 else None,
                    "final_answer": [f"$-\\sqrt{{{n}}},\\sqrt{{{n}}}$"],
                    "is_multiple_answer": True,
                    "unit": None,
                }
                for n in (1, 2)
            ]
            parquet(folder / "OlympiadBench" / "OE_TO_maths_en_COMP" / "OE_TO_maths_en_COMP.parquet", rows)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    folder = tmp_path / "published"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name != "countdown"])
def test_every_data_set_becomes_problems_that_its_verifier_takes(published: Path, tmp_path: Path, name: str) -> None:
    publish(published, name)
    out = tmp_path / "out"
    preparation, is_new = prepare(PUBLISHED[name], published, out)
    assert is_new
    assert preparation.bad_rows == ()
    assert [each.num_written for each in preparation.files] == [2] * len(preparation.files)
    first, *others = [str(out / each.file) for each in preparation.files]
    task = build_task(FileTaskConfig(train_file=first, test_files=tuple(others)))
    assert len(task.train) == 2
    for problem in task.train:
        assert task.reward(problem, f"So \\boxed{{{problem.answer['text']}}}") == 1
        assert problem.data_source == name
        assert len(problem.images) == (name == "geometry3k")


def test_countdown_is_the_file_that_its_task_reads(published: Path, tmp_path: Path) -> None:
    publish(published, "countdown")
    prepare(PUBLISHED["countdown"], published, tmp_path / "out")
    path = str(tmp_path / "out" / "countdown.parquet")
    task = build_task(CountdownTaskConfig(train_file=path, num_test=20, num_train=50))
    assert len(task.train) == 50


def test_numbers_answers_and_contexts_are_written_as_texts(published: Path, tmp_path: Path) -> None:
    publish(published, "amc23")
    publish(published, "olympiad")
    for name in ("amc23", "olympiad"):
        prepare(PUBLISHED[name], published, tmp_path / name)
    amc = pyarrow.parquet.read_table(tmp_path / "amc23" / "amc23.parquet").to_pylist()
    assert [row["answer"] for row in amc] == ["1", "2"]
    olympiad = pyarrow.parquet.read_table(tmp_path / "olympiad" / "olympiad.parquet").to_pylist()
    assert olympiad[0]["prompt"] == "Let x be real.\n\nFind all x with x^2 = 1."
    assert olympiad[1]["prompt"] == "Find all x with x^2 = 2."


def test_a_diagram_without_a_mark_stands_before_its_question(published: Path, tmp_path: Path) -> None:
    for split in ("train", "validation", "test"):
        parquet(published / "data" / f"{split}-0.parquet", pictures(1, mark=""))
    preparation, _ = prepare(PUBLISHED["geometry3k"], published, tmp_path / "out")
    (row,) = pyarrow.parquet.read_table(tmp_path / "out" / preparation.files[0].file).to_pylist()
    assert row["prompt"] == "<image>Find x in degrees."


def test_bad_rows_are_listed_with_number_and_reason(published: Path, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = sums(2, "problem", "answer")
    rows[1:1] = [
        {"problem": "", "answer": "1"},
        {"problem": "a", "answer": None},
        {"problem": "b", "answer": ""},
        {"problem": "c", "answer": r"\frac{1}{"},
        {"problem": "What is 0 + 1?", "answer": "1"},
        {"problem": "d"},
    ]
    whole(published / "deepscaler.json", rows)
    preparation, _ = prepare(PUBLISHED["deepscaler"], published, tmp_path / "out")
    assert [(each.row, each.reason.partition(",")[0]) for each in preparation.bad_rows] == [
        (2, "problem must be a text"),
        (3, "answer must be a text or a number"),
        (4, "answer is empty"),
        (5, "the answer '\\\\frac{1}{' cannot be compared: math-verify cannot read it"),
        (6, "the same problem as row 1"),
        (7, "it has no answer"),
    ]
    (file,) = preparation.files
    assert (file.num_read, file.num_written) == (8, 2)
    assert read_manifest(tmp_path / "out") == preparation
    with pytest.raises(PreparationError, match=r"deepscaler.json, row 2: problem must be a text"):
        prepare(PUBLISHED["deepscaler"], published, tmp_path / "out", is_strict=True)


def test_the_same_files_twice_change_nothing(published: Path, tmp_path: Path) -> None:
    publish(published, "math500")
    out = tmp_path / "out"
    first, _ = prepare(PUBLISHED["math500"], published, out)
    file = out / "math500.parquet"
    written = file.stat().st_mtime_ns
    assert prepare(PUBLISHED["math500"], published, out) == (first, False)
    assert file.stat().st_mtime_ns == written
    # A file that somebody damaged, and published files that changed, are converted again.
    file.write_bytes(b"damaged")
    assert prepare(PUBLISHED["math500"], published, out) == (first, True)
    lines(published / "test.jsonl", sums(3, "problem", "answer"))
    assert prepare(PUBLISHED["math500"], published, out)[0].files[0].num_written == 3


def test_a_failure_leaves_what_was_there(published: Path, tmp_path: Path) -> None:
    publish(published, "math500")
    out = tmp_path / "out"
    prepare(PUBLISHED["math500"], published, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    lines(published / "test.jsonl", [{"problem": "", "answer": ""}])
    with pytest.raises(PreparationError, match="has no good row; the first: row 1, problem must be a text"):
        prepare(PUBLISHED["math500"], published, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_missing_column_is_named_with_what_was_found(published: Path, tmp_path: Path) -> None:
    publish(published, "geometry3k")
    # The last file's schema is checked before the first file's rows.
    parquet(published / "data" / "test-00000-of-00001.parquet", [{"images": [], "question": "?", "answer": "1"}])
    with pytest.raises(PreparationError, match=r"has no column problem \(found: images, question, answer\)"):
        prepare(PUBLISHED["geometry3k"], published, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[1]", "row 1 is not a JSON object"),
        ("[]", r"has no column problem and no column answer \(found: none\)"),
    ],
)
def test_a_file_that_is_none_is_refused(published: Path, tmp_path: Path, content: str, message: str) -> None:
    (published / "deepscaler.json").write_text(content)
    with pytest.raises(PreparationError, match=message):
        prepare(PUBLISHED["deepscaler"], published, tmp_path / "out")


def test_a_damaged_parquet_file_is_refused(published: Path, tmp_path: Path) -> None:
    (published / "train.parquet").write_bytes(b"PAR1")
    with pytest.raises(PreparationError, match="not readable as parquet"):
        prepare(PUBLISHED["aime24"], published, tmp_path / "out")


# ---------------------------------------------------------------- the command


def test_the_command_reports_counts_and_bad_rows(published: Path, tmp_path: Path) -> None:
    lines(published / "test.jsonl", [*sums(2, "question", "answer"), {"question": "?", "answer": None}])
    command = ["data", "prepare", "minerva", "--from", str(published), "--out", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code == 0, ran.output
    row = next(line for line in ran.stdout.splitlines() if "minerva.parquet" in line)
    assert row.split()[1:4] == ["3", "2", "1"]
    assert "skipped: test.jsonl, row 3: answer must be a text or a number, not None" in ran.stderr
    assert "up to date" in CliRunner().invoke(app, command).stderr
    strict = CliRunner().invoke(app, [*command, "--strict"])
    assert (strict.exit_code, strict.stderr.strip()) == (
        2,
        "test.jsonl, row 3: answer must be a text or a number, not None",
    )
    assert json.loads((tmp_path / "out" / MANIFEST_FILE).read_text())["repository"] == "math-ai/minervamath"


def test_bad_input_of_the_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = CliRunner().invoke(app, ["data", "prepare", "gsm8k", "--from", str(tmp_path)])
    assert unknown.exit_code == 2
    assert "no such data set: take one of deepscaler, countdown" in unknown.stderr
    absent = CliRunner().invoke(app, ["data", "prepare", "aime24", "--from", str(tmp_path / "nowhere")])
    assert (absent.exit_code, "there is no folder" in absent.stderr) == (2, True)
    empty = CliRunner().invoke(app, ["data", "prepare", "aime24", "--from", str(tmp_path)])
    assert "(found: nothing)" in empty.stderr
    # An address at which nobody answers.
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    away = CliRunner().invoke(app, ["data", "prepare", "aime24", "--from", "hub"])
    assert away.exit_code == 3, away.output
    assert "the Hugging Face hub cannot be reached for HuggingFaceH4/aime_2024" in away.stderr
    assert "--from FOLDER" in away.stderr
