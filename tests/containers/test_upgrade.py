"""From the release before to this one, as docs/deployment.md says: the same volumes, new images, nothing lost."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from bapo.api.runs import RunStatus
from bapo.client.core import API
from tests.containers.product import SERVER, VERSION, WORKER, Product
from tests.containers.stand_ins import docker, done
from tests.support.compose import ROOT
from tests.support.services import wait_until
from tests.support.stack import NUM_STEPS, SMALL_RUN, ended

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1500)]
BEFORE = "ba9b4db4b"
"""No release has images yet: the last commit before workers over HTTPS and single sign-on, with the schema of 0018."""
OLD = "before"
_ON_TODAYS_PACKAGES = """
FROM {image}
USER 0
COPY . /src
RUN pip install --no-deps --no-build-isolation --force-reinstall --quiet /src
USER 10001
"""
"""Building from nothing would take minutes for packages that hardly differ."""
LONG = 2000
"""Steps of a run that an upgrade interrupts."""


def _api(product: Product) -> httpx.Client:
    """The administrator, without the client: that of today need not know what a server of before answers."""
    headers = {"Authorization": f"Bearer {product.token()}"}
    return httpx.Client(base_url=f"http://127.0.0.1:{product.port}{API}", headers=headers, timeout=60)


def _started(api: httpx.Client, name: str, changes: Mapping[str, Any]) -> str:
    body = {"name": name, "recipe": "countdown-demo", "changes": dict(changes)}
    answer = api.post("/runs", json=body, headers={"Idempotency-Key": name})
    assert answer.is_success, answer.text
    return str(answer.json()["id"])


def _run(api: httpx.Client, run_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(f"/runs/{run_id}").raise_for_status().json()
    return answer


@pytest.fixture
def checkout_before(tmp_path: Path) -> Path:
    """The sources of the release before."""
    archive, folder = tmp_path / "before.tar", tmp_path / "before"
    with archive.open("wb") as file:
        told = subprocess.run(["git", "archive", BEFORE], cwd=ROOT, stdout=file, check=False)
    if told.returncode:
        pytest.skip(f"this checkout has no history that reaches back to {BEFORE}")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    return folder


def test_an_upgrade_keeps_runs_tokens_and_a_run_under_way(
    images: tuple[str, str], bases: Mapping[str, str], checkout_before: Path, tmp_path: Path
) -> None:
    for image in (SERVER, WORKER):
        (tmp_path / "Dockerfile").write_text(_ON_TODAYS_PACKAGES.format(image=image))
        tag = image.replace(VERSION, OLD)
        done("build", "--quiet", "--file", str(tmp_path / "Dockerfile"), "--tag", tag, str(checkout_before))
    product = Product.made("bapo-upgraded", tmp_path / "env", bases, checkout=checkout_before, version=OLD)
    try:
        product.up()
        token = product.token()
        with _api(product) as api:
            finished = _started(api, "finished", SMALL_RUN)
            wait_until(lambda: _run(api, finished)["status"] == "succeeded")
            records = api.get(f"/runs/{finished}/records?type=step&limit=50").json()
            under_way = _started(api, "under way", {**SMALL_RUN, "training.steps": LONG})
            wait_until(lambda: _run(api, under_way)["step"] >= 1)
        product = replace(product, checkout=ROOT, version=VERSION)
        product.up()
        assert product.token() == token
        with product.client() as client, _api(product) as api:
            assert (client.run(finished).status, client.run(finished).step) == (RunStatus.SUCCEEDED, NUM_STEPS)
            assert api.get(f"/runs/{finished}/records?type=step&limit=50").json() == records
            wait_until(lambda: client.run(under_way).attempt == 2)
            left_at = client.run(under_way).step
            assert left_at >= 1
            wait_until(lambda: client.run(under_way).step > left_at)
            client.stop(under_way)
            assert ended(client, under_way).status == RunStatus.CANCELLED
    finally:
        product.down()
        docker("rmi", "--force", *(image.replace(VERSION, OLD) for image in (SERVER, WORKER)))
