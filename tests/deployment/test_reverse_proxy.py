"""The product behind nginx and Caddy with TLS, with the configurations of docs/deployment.md."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from backend.identity.auth.throttle import MOST_OF_NAME_AND_ADDRESS
from bapo.api.runs import RunCreate
from tests.support.reverse_proxies import PROGRAMS, documented, running_proxy
from tests.support.stack import Stack

NAME = "bapo.example.org"
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Front:
    """A proxy that listens on this machine as if it were bapo.example.org."""

    stack: Stack
    port: int
    trusted: ssl.SSLContext

    def browser(self, address: str = "127.0.0.1", **headers: str) -> httpx.Client:
        """A client at this address of the machine that takes 127.0.0.1 for the name."""
        given = {"Host": NAME, **headers}
        transport = httpx.HTTPTransport(verify=self.trusted, local_address=address)
        return httpx.Client(base_url=f"https://127.0.0.1:{self.port}", transport=transport, headers=given, timeout=30)

    @property
    def token(self) -> dict[str, str]:
        """The administrator's, as a header."""
        return {"Authorization": f"Bearer {(self.stack.folder / 'admin-token').read_text().strip()}"}


NAMED: dict[str, Any] = {"sni_hostname": NAME}


@pytest.fixture(scope="module")
def tls_stack(make_stack: Callable[[], Stack]) -> Stack:
    made = make_stack()
    made.start("--no-demo", "--public-url", f"https://{NAME}", BAPO_TRUSTED_PROXIES="127.0.0.1")
    return made


@pytest.fixture(scope="module", params=PROGRAMS)
def front(
    request: pytest.FixtureRequest, tls_stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Front]:
    folder = tmp_path_factory.mktemp(request.param)
    with running_proxy(request.param, documented(request.param), folder, upstream=tls_stack.port) as proxy:
        yield Front(tls_stack, proxy.port, proxy.trusted)


def test_a_login_gives_a_cookie_for_tls_only_and_opens_the_pages(front: Front) -> None:
    with front.browser() as browser:
        body = {"token": front.token["Authorization"].removeprefix("Bearer ")}
        answer = browser.post("/api/v1/auth/login", json=body, headers={"Origin": f"https://{NAME}"}, extensions=NAMED)
        assert answer.status_code == 200, answer.text
        cookie = answer.headers["set-cookie"].lower()
        assert "secure" in cookie
        assert "httponly" in cookie
        named = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
        page = browser.get("/runs", headers=named, extensions=NAMED)
        assert page.headers["strict-transport-security"]
        assert (page.status_code, "<html" in page.text.lower()) == (200, True)
    with front.browser() as stranger:
        assert stranger.get("/runs", extensions=NAMED).status_code in (302, 303, 307)


def test_an_event_passes_while_the_stream_is_open(front: Front) -> None:
    with (
        front.browser(**front.token) as listener,
        listener.stream("GET", "/api/v1/events", extensions=NAMED) as stream,
        front.stack.client() as client,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()
        run = client.create_run(RunCreate(name="heard", recipe="countdown-demo"))
        assert any(run.id in line for line in lines)


def test_another_host_and_another_origin_are_refused(front: Front) -> None:
    with front.browser(**front.token) as browser:
        wrong_host = browser.get("/api/v1/me", headers={"Host": "other.example.org"}, extensions=NAMED)
        # Caddy answers for its own name only, with an empty page.
        assert wrong_host.status_code == 421 or wrong_host.content == b""
        answer = browser.post(
            "/api/v1/auth/login", json={"token": "x"}, headers={"Origin": "https://other.example.org"}, extensions=NAMED
        )
        assert answer.status_code == 403, answer.text


def test_failed_logins_of_one_client_keep_no_other_out(front: Front, request: pytest.FixtureRequest) -> None:
    # Each proxy's clients have addresses of their own: the failures of the first proxy's are not forgotten by then.
    number = 20 if "nginx" in request.node.callspec.id else 30
    with front.browser(f"127.0.0.{number}") as attacker, front.browser(f"127.0.0.{number + 1}") as owner:

        def status(browser: httpx.Client, name: str, **headers: str) -> int:
            own = {"Origin": f"https://{NAME}", **headers}
            form = {"name": name, "password": "wrong"}
            return browser.post("/login", data=form, headers=own, extensions=NAMED).status_code

        # An address that the client writes itself changes nothing.
        posing = {"X-Forwarded-For": f"127.0.0.{number + 1}"}
        tries = [status(attacker, "olga", **posing) for _ in range(MOST_OF_NAME_AND_ADDRESS + 1)]
        assert tries == [401] * MOST_OF_NAME_AND_ADDRESS + [429]
        assert status(owner, "olga") == 401
