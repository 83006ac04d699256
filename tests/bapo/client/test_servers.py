"""Which server a command asks where none is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bapo.client.servers import ServerLogin, find_server
from bapo.deploy.up.folder import DataFolder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    """The data folder of a `bapo up` in the working folder; nobody has logged in anywhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("BAPO_SERVER", raising=False)
    monkeypatch.delenv("BAPO_TOKEN", raising=False)
    folder = DataFolder(Path("bapo-data"))
    folder.prepare()
    folder.admin_token.write_text("secret\n")
    return folder


@pytest.mark.parametrize(
    ("started_at", "asked"),
    [
        ("http://127.0.0.1:8400", "http://127.0.0.1:8400"),
        ("http://0.0.0.0:8400", "http://127.0.0.1:8400"),
        ("http://127.0.0.1:8400/tools/bapo", "http://127.0.0.1:8400/tools/bapo"),
        ("backup or restore", "http://127.0.0.1:8000"),
    ],
)
def test_commands_find_bapo_up_of_this_folder_at_its_port(folder: DataFolder, started_at: str, asked: str) -> None:
    folder.lock(started_at)
    assert find_server() == ServerLogin(asked, "secret")
    folder.unlock()


def test_a_data_folder_that_was_never_started_is_asked_for_at_the_usual_port(folder: DataFolder) -> None:
    assert find_server().url == "http://127.0.0.1:8000"
    (folder.path / "lock").write_text(json.dumps([]))
    assert find_server().url == "http://127.0.0.1:8000"
