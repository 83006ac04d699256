"""Fixtures: base images, our images built by Compose, the whole product from them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.containers.packages import downloaded, served
from tests.containers.product import GPU_WORKER, SERVER, WORKER, Product
from tests.containers.stand_ins import debian, docker, done, public_images, usable
from tests.support.compose import ROOT

_SAID: list[str] = []


@pytest.fixture(scope="session")
def bases() -> Mapping[str, str]:
    """The image for each role; skips where there is no engine."""
    if docker("compose", "version").returncode or docker("version", "--format", "{{.Server.Version}}").returncode:
        pytest.skip("no container engine with the Compose plugin answers")
    found = {role: usable(role) for role in public_images()}
    stood_in = [f"{public_images()[role]} ({image})" for role, image in found.items() if image != public_images()[role]]
    _SAID.append(f"stand-ins for: {', '.join(stood_in) or 'no image'}")
    return found


@pytest.fixture(scope="session")
def images(bases: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The images of server and worker, built by `docker compose build`."""
    product = Product.made("bapo-build", tmp_path_factory.mktemp("build") / "env", bases)
    # Three services are of one image.
    _build(product, "backend", "worker")
    _say_sizes(SERVER, WORKER)
    return SERVER, WORKER


@pytest.fixture(scope="session")
def gpu_image(images: tuple[str, str], bases: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image for GPUs as far as it goes without one: on Debian instead of CUDA, with the worker's packages."""
    context = tmp_path_factory.mktemp("context")
    wanted = re.findall(r"^!([\w./*-]+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    for path in (found for name in (*wanted, "docker", ".dockerignore") for found in ROOT.glob(name)):
        copy = context / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
    frozen = done("run", "--rm", images[1], "pip", "list", "--format", "freeze").splitlines()
    lines = [line for line in frozen if not line.startswith("bapo")]
    (context / "requirements-verl-gpu.lock").write_text("\n".join(lines) + "\n")
    product = Product.made("bapo-build-gpu", tmp_path_factory.mktemp("build-gpu") / "env", bases)
    build = {"context": str(context), "args": {"CUDA_IMAGE": debian(), "PYTHON": "python3.11"}, "network": "host"}
    product.override({"services": {"worker-gpu": {"build": build}}})
    _build(product, "worker-gpu")
    _SAID.append(f"{GPU_WORKER}: without CUDA, verl, vLLM and Ray, on {debian()}")
    _say_sizes(GPU_WORKER)
    return GPU_WORKER


def _build(product: Product, *services: str) -> None:
    with served(downloaded()) as index:
        conf = product.folder / "pip.conf"
        conf.write_text(f"[global]\nindex-url = {index}\n")
        product("build", *services, pip_conf=conf)


def _say_sizes(*images: str) -> None:
    for image in images:
        (found,) = json.loads(done("image", "inspect", image))
        _SAID.append(f"{image}: {found['Size'] / 1e6:.0f} MB")


@pytest.fixture(scope="module")
def product(
    images: tuple[str, str], bases: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Product]:
    """The product, up and healthy."""
    product = Product.made("bapo-test", tmp_path_factory.mktemp("product") / "env", bases)
    try:
        product.up()
        yield product
    finally:
        (Path(product.folder) / "logs").write_text(product("logs", "--no-color"))
        product.down()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What stood in for what, and the sizes."""
    for line in _SAID:
        terminalreporter.write_line(f"bapo: {line}")
