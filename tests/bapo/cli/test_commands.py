"""The command line: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import json
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bapo.cli import app
from bapo.cli.describe import values_of
from bapo.config.documentation import documentation
from bapo.config.recipes import shipped_recipes
from tests.support.command_line import TINY, run_here
from tests.support.services import wait_until
from tests.support.simulated_engine import PACE_VARIABLE


def test_train_prints_one_json_summary_as_its_last_line(tmp_path: Path) -> None:
    result = run_here("train", "countdown-demo", *TINY, "--out", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout.splitlines()[-1])
    assert summary["run_dir"] == str(tmp_path / "run")
    assert (summary["status"], summary["steps"]) == ("succeeded", 4)
    # 4 steps of 6 prompts x 4 responses, and what was re-evaluated on top.
    assert summary["num_rollouts"] >= 4 * 6 * 4
    assert summary["seconds"] > 0
    assert {each["dataset"] for each in summary["evaluations"]} == {"CD-34", "CD-4"}
    assert "step 4/4: reward" in result.stderr


@pytest.mark.usefixtures("simulated_engine")
def test_the_same_command_goes_on_and_another_config_is_refused(tmp_path: Path) -> None:
    first = run_here("train", "countdown-demo", *TINY, "--out", tmp_path / "run")
    assert first.returncode == 0, first.stderr
    again = run_here("train", "countdown-demo", *TINY, "--out", tmp_path / "run")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout.splitlines()[-1])["steps"] == 4
    other = run_here("train", "countdown-demo", *TINY, "--set", "method.c1=0.5", "--out", tmp_path / "run")
    assert other.returncode == 2
    assert other.stderr.splitlines()[-1].startswith("method.c1 = ")
    assert "Traceback" not in other.stderr


@pytest.mark.usefixtures("simulated_engine")
def test_ctrl_c_stops_at_a_step_boundary_and_the_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PACE_VARIABLE, "0.02")
    records = tmp_path / "run" / "attempt-1" / "records.jsonl"

    def press() -> None:
        wait_until(lambda: records.exists() and records.read_text().count('"type":"step"') >= 10)
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        pressed = pool.submit(press)
        steps = ("--set", "training.steps=100000")
        done = run_here("train", "countdown-demo", *TINY, *steps, "--out", tmp_path / "run")
        pressed.result()
    assert done.returncode == 3, done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    assert summary["status"] == "stopped"
    assert 10 <= summary["steps"] < 100_000
    assert "stopping after this step, with a checkpoint" in done.stderr
    assert (tmp_path / "run" / "checkpoints" / f"step-{summary['steps']:06d}").is_dir()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no-such-recipe"], "recipe = 'no-such-recipe': no such recipe: take one of "),
        (["countdown-demo", "--set", "method.c11=1"], "method.c11 = 1: no such field: did you mean method.c1?"),
        (["countdown-demo", "--set", "method.c1"], "--set = 'method.c1': write FIELD=VALUE, such as method.c1=0.25"),
        (["countdown-demo", "--set", "model.path=/nowhere"], "model.path = '/nowhere': "),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, arguments: list[str], line: str) -> None:
    result = run_here("train", *arguments, "--out", tmp_path / "run")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith(line)
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_every_problem_is_a_line_of_its_own(tmp_path: Path) -> None:
    result = run_here(
        "train", "countdown-demo", "--set", "method.v=0", "--set", "method.m=0", "--out", tmp_path / "run"
    )
    assert result.returncode == 2
    assert [line.split(" = ")[0] for line in result.stderr.splitlines()] == ["method.v", "method.m"]


def test_recipes_are_listed_and_shown() -> None:
    listed = CliRunner().invoke(app, ["recipes"])
    assert listed.exit_code == 0
    assert all(recipe.name in listed.stdout for recipe in shipped_recipes())
    shown = CliRunner().invoke(app, ["recipes", "countdown-demo"])
    assert 'method.type = "bapo"' in shown.stdout.splitlines()


def test_every_config_field_is_explained() -> None:
    result = CliRunner().invoke(app, ["config", "--json"])
    assert [field["path"] for field in json.loads(result.stdout)] == [field.path for field in documentation()]
    some = CliRunner().invoke(app, ["config", "method.c1", "--json"])
    assert [field["path"] for field in json.loads(some.stdout)] == ["method.c1"]
    none = CliRunner().invoke(app, ["config", "learning-rate"])
    assert none.exit_code == 2


def test_values_say_kind_and_range() -> None:
    by_path = {field.path: values_of(field) for field in documentation()}
    assert by_path["method.c1"] == "fraction, 0 to 1"
    assert by_path["training.steps"] == "integer, 1 to 10000000, or empty"
    assert by_path["engine.device"] == "auto | cpu | cuda"


def test_up_on_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = run_here("up", "--port", str(port), "--data", tmp_path / "data", "--no-browser")
    assert result.returncode == 1
    assert result.stderr.startswith(f"bapo: Port {port} cannot be used (")
    assert result.stderr.rstrip().endswith("choose another with --port.")
    assert len(result.stderr.strip().splitlines()) == 1


def test_up_in_an_unwritable_folder_is_one_line() -> None:
    result = run_here("up", "--data", "/proc/bapo", "--no-browser")
    assert result.returncode == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert "/proc/bapo cannot be written" in result.stderr


def test_worker_and_import_ask_for_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clean = {name: None for name in os.environ if name.startswith("BAPO_")}
    for arguments, code in ((["worker", "--server", "http://127.0.0.1:9"], 2), (["import", str(tmp_path)], 4)):
        result = run_here(*arguments, env=clean)
        assert result.returncode == code
        assert "--token-file" in result.stderr


def test_import_of_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    result = run_here("import", tmp_path, "--token", "x")
    assert result.returncode == 2
    assert result.stderr.startswith(f"run folder = '{tmp_path}': it holds no config.json")


@pytest.mark.usefixtures("simulated_engine")
def test_import_without_a_server_is_one_line(tmp_path: Path) -> None:
    trained = run_here("train", "countdown-demo", *TINY, "--set", "training.steps=1", "--out", tmp_path)
    assert trained.returncode == 0, trained.stderr
    result = run_here("import", tmp_path, "--token", "x", "--server", "http://127.0.0.1:9")
    assert result.returncode == 3
    assert result.stderr.startswith("the server cannot be reached (")
    assert len(result.stderr.strip().splitlines()) == 1
