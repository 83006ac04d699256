"""The product from its images, as a newcomer starts it: a login, a run, crashes, a backup in another place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from bapo.api.runs import RunCreate, RunStatus
from tests.containers.product import Product
from tests.containers.stand_ins import done
from tests.support.services import wait_until
from tests.support.stack import SMALL_RUN, ended

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1500)]
SERVICES = ("postgres", "redis", "backend", "frontend", "worker")


def test_a_newcomer_logs_in_and_trains_through_celery(product: Product) -> None:
    assert all(product.is_healthy(service) for service in SERVICES)
    code = product("exec", "-T", "backend", "python", "-m", "backend", "login-code").strip()
    address = f"http://127.0.0.1:{product.port}"
    with httpx.Client(base_url=address, follow_redirects=True, timeout=60) as browser:
        assert browser.get("/runs").url.path == "/login"
        assert browser.get("/login", params={"code": code}).url.path == "/runs"
    with product.client() as client:
        run = client.create_run(RunCreate(name="from images", recipe="countdown-quick"))
        found = ended(client, run.id)
        assert (found.status, found.status_reason, found.worker) == (RunStatus.SUCCEEDED, None, "worker")
    logs = product("logs", "--no-color")
    secrets = [path.read_text() for path in (product.folder / ".env.secrets").iterdir()]
    assert not any(secret in logs for secret in [*secrets, product.token()])
    assert "nothing reads it" not in logs
    assert "Traceback" not in logs, logs


def test_every_container_comes_back_after_a_crash_and_the_run_ends_well(product: Product) -> None:
    with product.client() as client:
        changes = {**SMALL_RUN, "training.steps": 60}
        run = client.create_run(RunCreate(name="through crashes", recipe="countdown-demo", changes=changes))
        wait_until(lambda: (client.run(run.id).step or 0) >= 1)
        for service in ("redis", "frontend", "backend", "postgres", "worker"):
            product.crash(service)
            wait_until(lambda service=service: product.state(service)["RestartCount"] == 1)  # type: ignore[misc]
            wait_until(lambda service=service: product.is_healthy(service))  # type: ignore[misc]
        wait_until(lambda: all(product.is_healthy(service) for service in SERVICES))
    with product.client() as client:
        found = ended(client, run.id)
        assert (found.status, found.status_reason, found.step) == (RunStatus.SUCCEEDED, None, 60)


def test_a_restart_and_a_backup_keep_everything(product: Product, bases: Mapping[str, str], tmp_path: Path) -> None:
    product("restart")
    product.up()
    with product.client() as client:
        before = {run.id: (run.name, run.status) for run in client.runs().items}
    assert len(before) >= 1
    folder = tmp_path / "backups"
    folder.mkdir()
    # For account 10001, as docs/deployment.md says.
    folder.chmod(0o777)
    product("run", "--rm", "-v", f"{folder}:/backups", "backend", "bapo", "backup", "/backups/bapo.tar")
    other = Product.made("bapo-restored", tmp_path / "env", bases)
    try:
        other("up", "--detach", "--wait", "postgres")
        given = ("run", "--rm", "--no-deps", "-v", f"{folder}:/backups", "backend")
        other(*given, "bapo", "restore", "/backups/bapo.tar")
        other.up()
        with other.client() as client:
            assert {run.id: (run.name, run.status) for run in client.runs().items} == before
        assert done("ps", "--quiet", "--filter", "label=com.docker.compose.project=bapo-restored").split()
    finally:
        other.down()
