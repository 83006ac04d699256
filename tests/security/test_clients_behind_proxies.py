"""Behind a reverse proxy each client counts as itself: failures keep no others out, and no client poses as another."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from backend.identity.auth import throttle
from backend.kit.request_rate import RequestRate
from frontend.app import create_app
from frontend.server import gate
from frontend.server.settings import FrontendSettings
from tests.support.services import BackendServer, wait_until
from tests.support.serving import serving

FAILURES = 3
ATTACKER, OWNER = "203.0.113.7", "198.51.100.1"

Dashboard = Callable[..., httpx.Client]


@pytest.fixture(scope="module")
def dashboard(backend_server: BackendServer) -> Iterator[Dashboard]:
    """Make a browser of a dashboard with these settings, whose requests this machine's proxy hands on."""
    with ExitStack() as opened:

        def made(**settings: str) -> httpx.Client:
            app = create_app(FrontendSettings.model_validate({"backend_url": backend_server.url, **settings}))
            url = opened.enter_context(serving(app))
            return opened.enter_context(httpx.Client(base_url=url, headers={"Origin": url}, timeout=60))

        yield made


def by_form(browser: httpx.Client, name: str, **headers: str) -> int:
    return browser.post("/login", data={"name": name, "password": "wrong"}, headers=headers).status_code


def by_api(browser: httpx.Client, name: str, **headers: str) -> int:
    body = {"name": name, "password": "wrong"}
    return browser.post("/api/v1/auth/login", json=body, headers=headers).status_code


@pytest.mark.parametrize("login", [by_form, by_api])
def test_failed_logins_of_one_client_keep_no_other_out(
    dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch, login: Callable[..., int]
) -> None:
    monkeypatch.setattr(throttle, "MOST_OF_ADDRESS", FAILURES)
    # Addresses of this test's own: the other one's failures are not forgotten.
    attacker, owner = f"{ATTACKER}{login is by_api:d}", f"{OWNER}{login is by_api:d}"
    browser = dashboard(trusted_proxies="127.0.0.1")
    failures = [login(browser, f"name-{n}", **{"X-Forwarded-For": attacker}) for n in range(FAILURES + 1)]
    assert failures == [401] * FAILURES + [429]
    assert login(browser, "olga", **{"X-Forwarded-For": owner}) == 401
    # A proxy appends: what the client wrote itself is to the left.
    assert login(browser, "olga", **{"X-Forwarded-For": f"{owner}, {attacker}"}) == 429


@pytest.mark.parametrize("login", [by_form, by_api])
def test_a_client_without_a_trusted_proxy_names_no_address(
    dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch, login: Callable[..., int]
) -> None:
    monkeypatch.setattr(throttle, "MOST_OF_ADDRESS", FAILURES)
    browser = dashboard()
    for n in range(FAILURES):
        login(browser, f"name-{n}", **{"X-Forwarded-For": f"192.0.2.{n}"})
    assert login(browser, "olga", **{"X-Forwarded-For": "192.0.2.99"}) == 429


def test_readers_of_shared_boards_count_each_for_itself(dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []
    monkeypatch.setattr(RequestRate, "take", lambda _, address: counted.append(address))
    browser = dashboard(trusted_proxies="127.0.0.1")
    for address in (ATTACKER, OWNER):
        browser.get("/shared", params={"key": "x" * 43}, headers={"X-Forwarded-For": address})
    assert counted == [ATTACKER, OWNER]


def test_requests_in_progress_of_one_address_keep_no_other_out(
    dashboard: Dashboard, backend_server: BackendServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MOST_REQUESTS_OF_ADDRESS", 2)
    browser = dashboard(trusted_proxies="127.0.0.1")
    token = {"Authorization": f"Bearer {backend_server.admin_token}"}

    def asked(address: str) -> httpx.Response:
        return browser.get("/healthz", headers={"X-Forwarded-For": address})

    with ExitStack() as opened:
        # Addresses of one network of IPv6 are one client's.
        for address in ("2001:db8::1", "2001:db8::2"):
            headers = token | {"X-Forwarded-For": address}
            stream = opened.enter_context(browser.stream("GET", "/api/v1/events", headers=headers))
            assert stream.status_code == 200
        refused = asked("2001:db8::3")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert asked("2001:db8:0:1::1").status_code == 200
        assert asked(OWNER).status_code == 200
    wait_until(lambda: asked("2001:db8::3").status_code == 200)


def test_a_proxy_that_is_not_trusted_is_warned_about_once(
    dashboard: Dashboard, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "frontend.server.gate")
    browser = dashboard(public_url="https://bapo.example.org", allowed_hosts="127.0.0.1")
    for _ in range(2):
        browser.get("/login", headers={"X-Forwarded-For": OWNER})
    assert [record.getMessage().count("BAPO_TRUSTED_PROXIES") for record in caplog.records] == [1]
