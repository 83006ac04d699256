"""Settings come from the environment, are refused in plain words, and are all documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.settings.environment import Settings
from bapo.deploy.settings import (
    ServiceSettings,
    SettingsError,
    known_variables,
    load,
    prefix_of,
    unknown_variables,
    with_password,
)
from frontend.server.settings import FrontendSettings
from scripts.write_settings import document, variables
from worker.settings import WorkerSettings

ROOT = Path(__file__).resolve().parents[3]
BACKEND = {
    "BAPO_DATABASE_URL": "postgresql://bapo:amaranth@db/bapo",
    "BAPO_BROKER_URL": "redis://:amaranth@broker:6379/0",
    "BAPO_RUNS_DIR": "/runs",
    "BAPO_ADMIN_TOKEN_FILE": "/secrets/admin",
    "BAPO_WORKER_TOKEN_FILE": "/secrets/worker",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in known_variables():
        monkeypatch.delenv(name, raising=False)
    for name, value in BACKEND.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BAPO_SERVER_URL", "https://bapo.example.org")


def test_the_documents_say_what_the_services_read() -> None:
    remedy = "run: python scripts/write_settings.py"
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == document(), remedy
    assert (ROOT / "bapo" / "deploy" / "variables.txt").read_text(encoding="utf-8") == variables(), remedy


def test_every_setting_says_what_it_is() -> None:
    for settings in (Settings, FrontendSettings, WorkerSettings):
        assert all(field.description for field in settings.model_fields.values())


def test_a_good_environment_is_taken_and_an_empty_variable_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAPO_LEASE_SECONDS", "12.5")
    monkeypatch.setenv("BAPO_METRICS_TOKEN_FILE", "")
    settings = load(Settings)
    assert (settings.lease_seconds, settings.metrics_token_file) == (12.5, None)
    assert settings.database_url == "postgresql+psycopg://bapo:amaranth@db/bapo"
    assert settings.secrets == ["amaranth", "amaranth"]


@pytest.mark.parametrize(
    ("settings", "variable", "value", "remedy"),
    [
        (Settings, "BAPO_LEASE_SECONDS", "0", ": must be more than 0, or unset it to take `"),
        (Settings, "BAPO_LEASE_SECONDS", "soon", ": must be a number, or unset"),
        (Settings, "BAPO_DATABASE_URL", "sqlite:///x", "only PostgreSQL"),
        (Settings, "BAPO_BROKER_URL", "amqp://x", "the broker is Redis"),
        (Settings, "BAPO_PUBLIC_URL", "bapo.example.org", "such as https://bapo.example.org"),
        (Settings, "BAPO_LOG_LEVEL", "loud", ": must be 'debug', 'info', 'warning' or 'error'"),
        (FrontendSettings, "BAPO_BACKEND_URL", "backend:8001", "such as https://"),
        (FrontendSettings, "BAPO_SESSION_CHECK_SECONDS", "-1", "must be at least 0"),
        (WorkerSettings, "BAPO_SERVER_URL", "bapo.example.org", "such as https://bapo.example.org"),
        (WorkerSettings, "BAPO_SERVER_URL", "http://10.0.0.5:8000", "--allow-http (BAPO_ALLOW_HTTP=true)"),
        (WorkerSettings, "BAPO_WORKER_SLOTS", "0", "must be at least 1"),
        (WorkerSettings, "BAPO_METRICS_PORT", "70000", "must be at most 65535"),
    ],
)
def test_a_wrong_value_is_refused_with_variable_value_and_remedy(
    monkeypatch: pytest.MonkeyPatch, settings: type[Settings], variable: str, value: str, remedy: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as refusal:
        load(settings)
    (line,) = str(refusal.value).splitlines()
    assert line.startswith(f"{variable} = '{value}': ")
    assert remedy in line


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("http://127.0.0.2:8000", "false"),
        ("http://localhost:8000", "false"),
        ("http://[::1]", "false"),
        ("http://x", "true"),
    ],
)
def test_a_worker_takes_plain_http_on_its_own_machine_and_where_it_was_told(
    monkeypatch: pytest.MonkeyPatch, address: str, allowed: str
) -> None:
    monkeypatch.setenv("BAPO_ALLOW_HTTP", allowed)
    monkeypatch.setenv("BAPO_SERVER_URL", address)
    assert load(WorkerSettings).server_url == address


def test_what_is_missing_is_named_with_its_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BAPO_RUNS_DIR")
    with pytest.raises(SettingsError, match=r"^BAPO_RUNS_DIR is not set: set it. Folder of the run folders"):
        load(Settings)


def test_a_refusal_never_repeats_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAPO_DATABASE_URL", "mysql://root:amaranth@db/bapo")
    with pytest.raises(SettingsError) as refusal:
        load(Settings)
    assert "amaranth" not in str(refusal.value)


def test_the_command_line_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAPO_WORKER_SLOTS", "3")
    assert load(WorkerSettings, worker_slots=None).worker_slots == 3
    assert load(WorkerSettings, worker_slots=5).worker_slots == 5


def test_an_unknown_variable_is_answered_with_the_nearest_name() -> None:
    lines = unknown_variables({"BAPO_LEASE_SECOND": "3", "BAPO_LEASE_SECONDS": "3", "OTHER": "", "BAPO_XQZW": ""})
    assert lines == [
        "BAPO_LEASE_SECOND is set, but nothing reads it: did you mean BAPO_LEASE_SECONDS?",
        "BAPO_XQZW is set, but nothing reads it: see docs/settings.md for the known ones",
    ]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://redis:6379/0", "redis://:p%40%2Fss@redis:6379/0"),
        ("postgresql+psycopg://bapo@db:5432/bapo?a=b", "postgresql+psycopg://bapo:p%40%2Fss@db:5432/bapo?a=b"),
        ("", ""),
    ],
)
def test_a_password_comes_from_a_file(url: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p@/ss\n")
    assert with_password(url, tmp_path / "password") == expected
    assert with_password(url, None) == url


def test_a_password_that_is_not_to_be_had_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "password"
    monkeypatch.setenv("BAPO_SERVER_URL", "https://bapo.example.org")
    monkeypatch.setenv("BAPO_BROKER_PASSWORD_FILE", str(file))
    monkeypatch.setenv("BAPO_BROKER_URL", "redis://redis:6379/0")
    with pytest.raises(SettingsError, match=rf"^BAPO_BROKER_URL = .*cannot be read from {file}: No such file"):
        load(WorkerSettings)
    file.write_text("\n")
    with pytest.raises(SettingsError, match="the file is empty"):
        load(WorkerSettings)
    file.write_text("secret\n")
    assert load(WorkerSettings).broker_url == "redis://:secret@redis:6379/0"
    monkeypatch.setenv("BAPO_BROKER_URL", "redis://:other@redis:6379/0")
    with pytest.raises(SettingsError, match="give it in one of the two") as refused:
        load(WorkerSettings)
    assert "other" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "address", "prefix"),
    [
        ("https://bapo.example.org", "https://bapo.example.org", ""),
        ("https://bapo.example.org/", "https://bapo.example.org", ""),
        ("https://example.org/bapo", "https://example.org/bapo", "/bapo"),
        ("http://10.0.0.5:8000/tools/bapo-2.0_x/", "http://10.0.0.5:8000/tools/bapo-2.0_x", "/tools/bapo-2.0_x"),
    ],
)
def test_a_public_address_may_have_a_path(
    given: str, address: str, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_PUBLIC_URL", given)
    settings = load(FrontendSettings)
    assert (settings.public_url, settings.prefix, prefix_of(given)) == (address, prefix, prefix)


@pytest.mark.parametrize("settings", [Settings, FrontendSettings])
@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("https://example.org/my bapo", "the path /my bapo cannot be served: give one of letters, digits"),
        ("https://example.org/../bapo", r"the path /\.\./bapo cannot be served"),
        ("https://example.org//bapo", "the path //bapo cannot be served"),
        ("https://example.org/b%61po", "the path /b%61po cannot be served"),
        ('https://example.org/"><script>', "cannot be served"),
        ("https://example.org/bapo?x=1", "give the address alone"),
        ("https://user@example.org/bapo", "give the address alone"),
        ("example.org/bapo", "give an address such as"),
    ],
)
def test_a_public_address_that_cannot_be_served_is_refused(
    settings: type[ServiceSettings], address: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAPO_PUBLIC_URL", address)
    with pytest.raises(SettingsError, match=problem):
        load(settings)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("rediss://redis:6379/0", "rediss://redis:6379/0?ssl_cert_reqs=required"),
        ("rediss://redis/0?ssl_ca_certs=/ca.pem", "rediss://redis/0?ssl_ca_certs=/ca.pem&ssl_cert_reqs=required"),
        ("rediss://redis/0?ssl_cert_reqs=none", "rediss://redis/0?ssl_cert_reqs=none"),
        ("redis://redis:6379/0", "redis://redis:6379/0"),
    ],
)
def test_a_brokers_certificate_is_checked_unless_it_is_said_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: str, used: str
) -> None:
    monkeypatch.setenv("BAPO_BROKER_URL", given)
    monkeypatch.setenv("BAPO_SERVER_URL", "https://bapo.example.org")
    assert load(WorkerSettings).broker_url == used


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"BAPO_OIDC_ISSUER": "https://sso.example.org"}, "single sign-on needs a client ID: set BAPO_OIDC_CLIENT_ID"),
        ({"BAPO_OIDC_ISSUER": "http://sso.example.org"}, "an issuer is an https address"),
        ({"BAPO_OIDC_ISSUER": "https://sso.example.org/?x=1"}, "an issuer is an address without [?] and #"),
        (
            {"BAPO_OIDC_CLIENT_SECRET_FILE": "/no/such/file"},
            "the secret cannot be read from /no/such/file: No such file",
        ),
        ({"BAPO_OIDC_SCOPES": "profile email"}, "without `openid` the provider does not say who signs in"),
        ({"BAPO_OIDC_ROLE_RULES": "staff=boss"}, "'staff=boss' gives the role 'boss': write one of viewer, member"),
        ({"BAPO_OIDC_PROJECT_RULES": "staff"}, "'staff' is no rule: write VALUE="),
    ],
)
def test_single_sign_on_that_cannot_work_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=message):
        load(Settings)


def test_single_sign_on_comes_back_to_the_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAPO_PUBLIC_URL", "https://bapo.example.org/")
    monkeypatch.setenv("BAPO_OIDC_CLIENT_ID", "bapo")
    # This machine needs no encryption.
    monkeypatch.setenv("BAPO_OIDC_ISSUER", "http://127.0.0.1:8080/realms/staff")
    assert load(Settings).oidc_redirect_uri == "https://bapo.example.org/login/callback"
