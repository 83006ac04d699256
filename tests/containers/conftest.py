"""Fixtures: base images, our images built by Compose, the whole product from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.containers.packages import downloaded, served
from tests.containers.product import SERVER, WORKER, Product
from tests.containers.stand_ins import docker, done, public_images, usable

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
    conf = tmp_path_factory.mktemp("pip") / "pip.conf"
    with served(downloaded()) as index:
        conf.write_text(f"[global]\nindex-url = {index}\n")
        product("build", pip_conf=conf)
    for image in (SERVER, WORKER):
        (found,) = json.loads(done("image", "inspect", image))
        _SAID.append(f"{image}: {found['Size'] / 1e6:.0f} MB")
    return SERVER, WORKER


@pytest.fixture(scope="session")
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
