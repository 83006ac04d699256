"""`python -m backend`, as `bapo up` starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, text

from backend.__main__ import main
from bapo.api.accounts import Login
from bapo.client import Client
from tests.support.command_line import main_here
from tests.support.ports import free_port
from tests.support.services import new_database
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture
def environment(postgres_url: str, tmp_path: Path) -> dict[str, str]:
    port = free_port()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("BAPO_")},
        "BAPO_DATABASE_URL": postgres_url,
        "BAPO_BROKER_URL": "redis://127.0.0.1:1/0",
        "BAPO_RUNS_DIR": str(tmp_path / "runs"),
        "BAPO_ADMIN_TOKEN_FILE": str(tmp_path / "admin-token"),
        "BAPO_WORKER_TOKEN_FILE": str(tmp_path / "worker-token"),
        "BAPO_PUBLIC_URL": f"http://127.0.0.1:{port}",
    }


def backend(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return main_here(main, *arguments, env=environment)


def test_help_names_the_commands() -> None:
    result = backend(dict(os.environ), "--help")
    assert result.returncode == 0
    assert all(command in result.stdout for command in ("serve", "migrate", "login-code"))


def test_a_missing_setting_is_named(environment: dict[str, str]) -> None:
    del environment["BAPO_DATABASE_URL"]
    result = backend(environment, "migrate")
    assert result.returncode == 2
    assert "BAPO_DATABASE_URL" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_database_that_is_away_is_named(environment: dict[str, str]) -> None:
    result = backend({**environment, "BAPO_DATABASE_URL": "postgresql+psycopg://127.0.0.1:1/x"}, "migrate")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("The database does not answer")


@pytest.mark.parametrize(
    ("revision", "commands", "remedy"),
    [
        ("0011", ("login-code", "serve", "migrate"), "Migrate it once with `git checkout"),
        ("9999", ("login-code", "serve", "migrate"), "a newer version has migrated it"),
    ],
)
def test_another_schema_is_not_served(
    environment: dict[str, str], postgres_server: str, revision: str, commands: tuple[str, ...], remedy: str
) -> None:
    with new_database(postgres_server) as url:
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
        engine.dispose()
        for command in commands:
            result = backend({**environment, "BAPO_DATABASE_URL": url}, command)
            assert (result.returncode, result.stdout) == (1, "")
            assert remedy in result.stderr
            assert revision in result.stderr
            assert "Traceback" not in result.stderr


def test_a_database_without_a_schema_is_not_served_before_it_is_migrated(
    environment: dict[str, str], postgres_server: str
) -> None:
    with new_database(postgres_server) as url:
        engine = create_engine(url)
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM alembic_version"))
        engine.dispose()
        for command in ("login-code", "serve"):
            result = backend({**environment, "BAPO_DATABASE_URL": url}, command)
            assert (result.returncode, result.stdout) == (1, "")
            assert "is at nothing" in result.stderr
            assert "run `python -m backend migrate` first" in result.stderr


def test_serve_logs_in_by_code_and_ends_on_sigterm(environment: dict[str, str]) -> None:
    plain = backend(environment, "migrate")
    assert (plain.returncode, plain.stdout) == (0, "")
    migrated = backend(environment, "migrate", "--login-code").stdout.strip()
    url = environment["BAPO_PUBLIC_URL"]
    command = [sys.executable, "-m", "backend", "serve", "--port", url.rsplit(":", 1)[1]]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        try:
            with Client(url) as client:
                wait_until(lambda: answers(client) or server.poll() is not None)
                code = backend(environment, "login-code").stdout.strip()
                for each in (migrated, code):
                    assert re.fullmatch(r"[\w-]{43}", each)
                    assert client.login(Login(code=each))[0].name == "admin"
            taken = backend(environment, "serve", "--port", url.rsplit(":", 1)[1])
            assert taken.returncode == 1
            assert "in use" in taken.stderr
        finally:
            server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE_SECONDS) in (0, -signal.SIGTERM)
        assert server.stderr is not None
        assert "Traceback" not in server.stderr.read()


def answers(client: Client) -> bool:
    try:
        return client.http.get(str(client.http.base_url).replace("/api/v1/", "/healthz")).status_code == 200
    except httpx.TransportError:
        return False


def test_the_server_never_imports_torch() -> None:
    code = "import backend.app, backend.__main__, sys; print('torch' in sys.modules, 'transformers' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False False"
