"""`bapo prompts`: lists of prompts by command, and files that go between a server and `bapo train`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bapo.cli import app
from bapo.cli.prompt_files import entries_of
from bapo.client import Client
from tests.support.services import BackendServer

Cli = Callable[..., Result]


@pytest.fixture
def cli(backend_server: BackendServer) -> Cli:
    """Runs a command as the administrator."""
    environment = {"BAPO_SERVER": backend_server.url, "BAPO_TOKEN": backend_server.admin_token, "COLUMNS": "200"}

    def call(*arguments: str, code: int = 0) -> Result:
        result = CliRunner().invoke(app, ["prompts", *arguments], env=environment)
        assert result.exit_code == code, result.output
        return result

    return call


def test_a_list_is_made_filled_exported_and_removed(cli: Cli, admin: Client, tmp_path: Path) -> None:
    assert "@doubtful: 2 prompts, version 1" in cli("put", "doubtful", "sums:1f", "sums:2e", "--note", "why").output
    assert "nothing changed" in cli("put", "@doubtful", "sums:1f", "sums:2e", "--note", "why").output
    file = tmp_path / "more.csv"
    file.write_text("prompt_id,action,weight\nsums:2e,weight,0.5\nsums:3d,quarantine,\n")
    told = json.loads(cli("put", "doubtful", "--file", str(file), "--json").stdout)
    assert (told["num_quarantined"], told["num_weighted"], told["version"]) == (2, 1, 2)
    cli("drop", "doubtful", "sums:3d")

    page = json.loads(cli("entries", "doubtful", "--json").stdout)
    assert [(each["prompt_id"], each["weight"]) for each in page["items"]] == [("sums:1f", 0.0), ("sums:2e", 0.5)]
    assert "@doubtful" in cli("lists").stdout
    exported = tmp_path / "list.csv"
    exported.write_text(cli("export", "doubtful").stdout)
    # What one command prints another reads, and so does `bapo train --prompt-list`.
    assert [(each.prompt_id, each.weight, each.note) for each in entries_of(exported)] == [
        ("sums:1f", 0.0, "why"),
        ("sums:2e", 0.5, ""),
    ]
    assert cli("export", "doubtful", "--version", "1", "--jsonl").stdout.count("\n") == 2
    cli("remove", "doubtful")
    assert admin.prompt_lists().items == []


def test_what_names_no_prompt_or_no_list_says_what_to_do(cli: Cli, tmp_path: Path) -> None:
    assert "no prompt is named" in cli("put", "new", code=2).output
    assert "give --run and --finding together" in cli("put", "new", "--run", "x", code=2).output
    assert "is no number" in cli("put", "new", "a:1", "--weight", "two", code=2).output
    assert "no prompt list is called 'nowhere'" in cli("export", "nowhere", code=2).output
    assert "cannot be read" in cli("put", "new", "--file", str(tmp_path / "none.csv"), code=2).output
    assert "take one of all, never_solved" in cli("list", "--show", "easy", code=2).output


def test_a_project_without_runs_has_no_prompts(cli: Cli) -> None:
    assert json.loads(cli("list", "--json").stdout)["total"] == 0
    assert cli("history", "sums:1f").stdout.startswith("run_id,run_name,method")
    assert json.loads(cli("show", "sums:1f", "--json").stdout)["totals"] is None
