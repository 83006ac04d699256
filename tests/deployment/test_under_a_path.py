"""The dashboard under /bapo behind nginx and Caddy, with the configurations of docs/deployment.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

from frontend.app import create_app
from frontend.server.settings import FrontendSettings
from tests.support.reverse_proxies import PROGRAMS, documented, running_proxy
from tests.support.services import BackendServer
from tests.support.serving import serving

NAME = "example.org"
PUBLIC = f"https://{NAME}/bapo"
SIGNED = {"sni_hostname": NAME}
STRIPPING = {
    "nginx": ("proxy_pass http://127.0.0.1:8000;", "proxy_pass http://127.0.0.1:8000/;"),
    "caddy": ("handle /bapo/*", "handle_path /bapo/*"),
}


@pytest.fixture(scope="module")
def server_settings() -> Mapping[str, Any]:
    return {"public_url": PUBLIC}


@pytest.fixture(scope="module")
def upstream(backend_server: BackendServer) -> Iterator[int]:
    """The port of a dashboard with a path."""
    settings = FrontendSettings(backend_url=backend_server.url, public_url=PUBLIC, trusted_proxies="127.0.0.1")
    with serving(create_app(settings)) as url:
        yield int(url.rpartition(":")[2])


Get = Callable[[str], httpx.Response]


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(upstream: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, str], Get]]:
    """Starts a proxy with a configuration, and asks it."""
    opened = []

    def start(program: str, configuration: str) -> Get:
        running = running_proxy(program, configuration, tmp_path_factory.mktemp(program), upstream=upstream)
        proxy = running.__enter__()
        client = httpx.Client(base_url=f"https://127.0.0.1:{proxy.port}", verify=proxy.trusted, timeout=30)
        opened.append((running, client))
        return lambda path: client.get(path, headers={"Host": NAME}, extensions=SIGNED)

    yield start
    for running, client in opened:
        client.close()
        running.__exit__(None, None, None)


def test_the_documented_proxy_serves_it_under_the_path_and_nothing_outside(
    program: str, ask: Callable[[str, str], Get]
) -> None:
    get = ask(program, documented(program, place=", under a path"))
    assert get("/bapo").headers["location"].endswith("/bapo/")
    assert get("/bapo/").headers["location"] == "/bapo/login?next=/"
    page = get("/bapo/login")
    assert (page.status_code, "Log in" in page.text) == (200, True)
    assert page.headers["content-security-policy"]
    assert get("/bapo/healthz").json()["version"]
    outside = get("/runs")
    assert "bapo" not in outside.text.lower()
    assert "content-security-policy" not in outside.headers


def test_a_proxy_that_takes_the_path_off_is_answered_with_what_to_change(
    program: str, ask: Callable[[str, str], Get]
) -> None:
    configuration = documented(program, place=", under a path")
    before, after = STRIPPING[program]
    assert before in configuration
    answer = ask(program, configuration.replace(before, after))("/bapo/runs")
    assert answer.status_code == 404
    assert "a proxy in front must leave /bapo in the addresses that it hands on" in answer.text
