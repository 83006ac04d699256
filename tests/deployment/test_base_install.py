"""The base install is the client and the command line: an environment with its packages and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from bapo.api.runs import RunCreate
from bapo.client import Client
from tests.support.distributions import ROOT, brought
from tests.support.services import BackendServer

pytestmark = pytest.mark.packaging
SOURCES = ("bapo", "backend", "frontend", "worker", "migrations")


@pytest.fixture(scope="module")
def base_install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder of programs. This project is built and installed; its dependencies are linked from here."""
    folder = tmp_path_factory.mktemp("base")
    environment = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    for name in brought():
        _link(metadata.distribution(name), packages)
    source = folder / "source"
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source], check=True)
    target = ["--python", str(environment / "bin" / "python")]
    subprocess.run([*pip, *target, "install", "--no-deps", "--no-index", *folder.glob("*.whl")], check=True)
    return environment / "bin"


def _link(distribution: metadata.Distribution, packages: Path) -> None:
    for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        (packages / top).symlink_to(Path(str(distribution.locate_file(top))))


def run(base_install: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program, *arguments = command
    return subprocess.run(
        [base_install / program, *arguments],
        env=environment | {"COLUMNS": "200"} | variables,
        cwd=base_install.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_client_is_importable_and_pytorch_is_not_there(base_install: Path) -> None:
    done = run(
        base_install, "python", "-c", "import bapo.client; from importlib.util import find_spec as f; f('torch')"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert run(base_install, "python", "-c", "import torch").returncode == 1


def test_help_lists_the_commands_also_those_of_extras(base_install: Path) -> None:
    shown = run(base_install, "bapo", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert {"train", "up", "runs"} <= set(shown.stdout.split())
    assert run(base_install, "bapo", "train", "--help").returncode == 0


def test_runs_are_listed_from_a_server(base_install: Path, backend_server: BackendServer, admin: Client) -> None:
    made = admin.create_run(RunCreate(name="from afar", recipe="countdown-demo"))
    listed = run(base_install, "bapo", "runs", BAPO_SERVER=backend_server.url, BAPO_TOKEN=backend_server.admin_token)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert made.id in listed.stdout


def test_without_a_login_a_command_says_how_to_log_in(base_install: Path) -> None:
    refused = run(base_install, "bapo", "runs", BAPO_SERVER="https://bapo.example.org")
    assert refused.returncode == 4
    assert "run `bapo login https://bapo.example.org`" in refused.stderr


@pytest.mark.parametrize(
    ("command", "named", "extra"),
    [
        (("train", "countdown-demo"), "gguf, huggingface-hub, math-verify and 7 more", "train"),
        (("up",), "alembic, argon2-cffi, authlib and ", "all"),
        (("backup", "file.tar"), "psycopg", "server"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_names_the_extra_that_it_needs(
    base_install: Path, command: tuple[str, ...], named: str, extra: str
) -> None:
    refused = run(base_install, "bapo", *command)
    assert (refused.returncode, refused.stdout) == (1, "")
    (line,) = refused.stderr.splitlines()
    assert line.startswith(f"bapo: this needs {named}")
    assert line.endswith(f'install the extra {extra!r}: pip install ".[{extra}]" in the checkout')


def test_what_if_needs_no_extra(base_install: Path) -> None:
    refused = run(base_install, "bapo", "what-if", ".")
    assert refused.returncode == 2
    assert "this needs" not in refused.stderr


def test_the_documents_are_installed_where_the_dashboard_looks_for_them(base_install: Path) -> None:
    folder = base_install.parent / "share" / "doc" / "bapo-control-plane"
    assert (folder / "README.md").is_file()
    assert {path.name for path in (folder / "docs").glob("*.md")} == {
        path.name for path in (ROOT / "docs").glob("*.md")
    }
