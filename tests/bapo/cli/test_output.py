"""What commands print where the output is no terminal, or not in UTF-8, and where what they read or write fails."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.table import Table
from typer.testing import CliRunner, Result

from bapo.cli import app, output, streams
from bapo.cli.failures import Exit
from tests.support.command_line import run_here

BOXES = "─│╭╮╰╯┏┓┗┛┃━├┤┼╡╞╪┡┩╇"


def run_in(charset: str, *arguments: str) -> Result:
    return CliRunner(charset=charset).invoke(app, list(arguments))


@pytest.mark.parametrize("charset", ["ascii", "latin-1", "cp1252", "gbk"])
@pytest.mark.parametrize("arguments", [["recipes"], ["config", "method"], ["--help"], ["study", "list"], ["nonsense"]])
def test_output_needs_no_utf_8(charset: str, arguments: list[str]) -> None:
    result = run_in(charset, *arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stdout_bytes or result.stderr_bytes


def test_signs_that_cannot_be_written_are_replaced_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    streams.replace_what_cannot_be_written()
    # The last one is a byte of a file's name that is no text.
    print("1–2 → 3× é 漢 \udcff", flush=True)
    assert written.getvalue() == b"1-2 > 3x ? ? \xff\n"


def test_a_table_needs_no_command_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    output.console.cache_clear()
    made = output.table("name", "eval")
    made.add_row("run", "–")
    output.print_table(made)
    sys.stdout.flush()
    output.console.cache_clear()
    assert written.getvalue() == b"name  eval\nrun   -\n"


def test_a_file_on_standard_output_is_in_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    streams.replace_what_cannot_be_written()
    print("é", file=streams.data_output(), flush=True)
    assert written.getvalue() == "é\n".encode()


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1", "COLUMNS": "20"}, {"TERM": "dumb"}])
@pytest.mark.parametrize("arguments", [["config", "method"], ["recipes"], ["what-if", "RUN", "--set", "method.c1=1/4"]])
def test_piped_output_has_no_boxes_colours_or_cut_text(
    arguments: list[str], variables: dict[str, str], recorded_folders: Mapping[str, Path]
) -> None:
    output.console.cache_clear()
    printed = run_here(
        *(recorded_folders["bapo-seed-1"] if each == "RUN" else each for each in arguments), env=variables
    )
    assert printed.returncode == 0, printed.stderr
    assert not set(BOXES) & set(printed.stdout)
    assert "\x1b" not in printed.stdout
    assert "…" not in printed.stdout
    output.console.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["runs", "--help"], 0),
        (["study", "--help"], 0),
        (["study", "submit", "--help"], 0),
        (["runs", "--nope"], 2),
        (["nonsense"], 2),
        (["study", "run"], 2),
        (["study", "nonsense", "--nope"], 2),
        (["runs", "--limit", "x"], 2),
    ],
)
def test_piped_help_and_usage_errors_are_plain_text(arguments: list[str], code: int) -> None:
    printed = run_here(*arguments, env={"FORCE_COLOR": "1", "COLUMNS": "60"})
    text = printed.stdout if code == 0 else printed.stderr
    assert printed.returncode == code
    assert "Usage: " in text
    assert not set(BOXES) & set(text)
    assert "\x1b" not in text
    assert "[bold]" not in text
    assert "paired..." not in text


def test_piped_help_lists_each_command_in_its_panel() -> None:
    lines = run_here("--help").stdout.splitlines()
    assert (
        lines.index("Servers:")
        < lines.index("  up          Start all services on this machine.")
        < lines.index("Runs:")
    )


def test_a_framed_table_becomes_a_line_for_each_row(capsys: pytest.CaptureFixture[str]) -> None:
    output.console.cache_clear()
    made = Table("name", "value", title="All", show_lines=True)
    made.add_row("a\nb", "x" * 2_000)
    made.add_row("c", "\x1b[31m1")
    output.print_framed(made)
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["All", "name  value", f"a; b  {'x' * 2_000}", "c     �[31m1"]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, recorded_folders: Mapping[str, Path]) -> None:
    missing = tmp_path / "missing" / "report.html"
    result = run_here("report", recorded_folders["bapo-seed-1"], "--out", missing)
    assert result.returncode == Exit.FAILED
    assert result.stderr.splitlines()[-1] == f"bapo: {missing}: No such file or directory"


@pytest.mark.parametrize("command", [["login", "http://[::1"], ["runs", "--server", "http://[::1", "--token", "t"]])
def test_what_is_no_address_ends_in_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    result = run_here(*command)
    assert result.returncode in (Exit.BAD_INPUT, Exit.NOT_LOGGED_IN)
    assert "'http://[::1' is not an address" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_token_with_a_letter_that_none_has_ends_in_one_line() -> None:
    result = run_here("runs", "--server", "http://127.0.0.1:9", "--token", "täken")
    assert result.returncode == Exit.BAD_INPUT
    assert result.stderr.startswith("token = '…': holds")


def test_an_address_of_a_database_that_is_none_ends_in_one_line(tmp_path: Path) -> None:
    variables = {"BAPO_DATABASE_URL": "postgresql://127.0.0.1:1/x?nonsense=1", "BAPO_RUNS_DIR": str(tmp_path)}
    result = run_here("backup", tmp_path / "backup.tar", env=variables)
    assert result.returncode == Exit.FAILED
    assert result.stderr.startswith("bapo: ")
    assert "nonsense" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_import_of_what_is_no_text_ends_in_one_line(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.csv"
    prompts.write_bytes(b"prompt_id,action\n\xff,exclude\n")
    result = run_here("train", "countdown-demo", "--prompt-list", prompts, "--out", tmp_path / "run")
    assert result.returncode != Exit.DONE
    assert len(result.stderr.splitlines()) == 1
