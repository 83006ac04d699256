"""The whole dashboard behind nginx under /bapo/: nothing that a browser asks for leaves the path, and nothing fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, expect

from bapo.api.boards import BoardCreate, BoardLinkCreate, TextPanel
from bapo.client import Client
from frontend.app import create_app
from frontend.pages.run.tabs import TABS
from frontend.server.settings import FrontendSettings
from frontend.shell import NAVIGATION
from tests.browser.conftest import VIEWPORT, WAIT_MILLISECONDS, Visitor, play, points_of
from tests.support.fake_worker import FakeWorker
from tests.support.ports import free_port
from tests.support.reverse_proxies import documented, running_proxy
from tests.support.services import BackendServer, wait_until
from tests.support.serving import serving

pytestmark = pytest.mark.browser

ELSEWHERE = """() => [...document.querySelectorAll("[href], [src], [action]")]
    .flatMap((each) => ["href", "src", "action"].map((name) => each.getAttribute(name)))
    .filter((address) => address?.startsWith("/") && !address.startsWith("/bapo/"))"""


@pytest.fixture(scope="module")
def public_url() -> str:
    return f"https://127.0.0.1:{free_port()}/bapo"


@pytest.fixture(scope="module")
def backend_settings(public_url: str) -> Mapping[str, Any]:
    return {"public_url": public_url}


@pytest.fixture(scope="module")
def nginx(public_url: str, backend_server: BackendServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The public address, which the nginx of the documentation answers."""
    port = int(public_url.split(":")[2].partition("/")[0])
    settings = FrontendSettings(
        backend_url=backend_server.url, public_url=public_url, trusted_proxies="127.0.0.1", session_check_seconds=0
    )
    with serving(create_app(settings)) as url:
        configuration = documented("nginx", place=", under a path")
        folder = tmp_path_factory.mktemp("nginx")
        upstream = int(url.rpartition(":")[2])
        with running_proxy("nginx", configuration, folder, upstream=upstream, port=port):
            yield public_url


@dataclass
class Traffic:
    """What the pages of a window ask for."""

    public_url: str
    asked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        """Listen to all that the window asks for, and to what becomes of it."""
        context.on("request", lambda request: self.asked.append(request.url))
        context.on("requestfailed", self._on_failure)
        context.on("response", self._on_response)

    def _on_failure(self, request: Request) -> None:
        # Streams and questions of a page that is left, and downloads, which the browser takes out of its window.
        if request.failure != "net::ERR_ABORTED":
            self.failed.append(f"{request.failure} {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.failed.append(f"{response.status} {response.url}")

    def check(self) -> None:
        """Raises AssertionError where something was asked outside the path, or was refused."""
        own = re.compile(rf"{re.escape(self.public_url)}(/|$)|data:|blob:|about:")
        assert [url for url in self.asked if not own.match(url)] == []
        assert self.failed == []
        assert len(self.asked) > 50


@pytest.fixture
def window(chromium: Browser, nginx: str) -> Iterator[Page]:
    context = chromium.new_context(viewport=VIEWPORT, reduced_motion="reduce", ignore_https_errors=True)
    context.set_default_timeout(WAIT_MILLISECONDS)
    traffic = Traffic(nginx)
    traffic.watch(context)
    page = context.new_page()
    visitor = Visitor.watching(page)
    # A request that is under way when the session ends.
    visitor.expected = ("401",)
    yield page
    context.close()
    visitor.check()
    traffic.check()


def _log_in(page: Page, nginx: str, token: str) -> None:
    page.goto(nginx)
    expect(page).to_have_url(f"{nginx}/login?next=/")
    page.get_by_text("With a login code or token").click()
    page.get_by_label("Login code or API token").fill(token)
    page.get_by_role("button", name="Log in with it").click()
    expect(page).to_have_url(f"{nginx}/runs")


def _is_inside(page: Page) -> None:
    assert page.evaluate(ELSEWHERE) == []


def test_from_the_login_over_the_run_list_to_a_run_that_trains(
    window: Page, nginx: str, backend_server: BackendServer, admin: Client, worker: FakeWorker
) -> None:
    played = play(admin, worker, "behind nginx")
    played.advance(10)
    page = window
    _log_in(page, nginx, backend_server.admin_token)
    cookie = next(each for each in page.context.cookies() if each["name"].startswith("bapo_session"))
    assert (cookie["path"], cookie["secure"]) == ("/bapo", True)
    link = page.get_by_role("link", name="behind nginx").first
    expect(link).to_have_attribute("href", f"/bapo/runs/{played.run.id}")
    _is_inside(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV of all matching runs").click()
    assert "behind nginx" in Path(download.value.path()).read_text()

    link.click()
    expect(page).to_have_url(f"{nginx}/runs/{played.run.id}")
    wait_until(lambda: points_of(page, "rewards") == 10, WAIT_MILLISECONDS / 1000)
    for _ in range(3):
        played.advance()
        wait_until(lambda: points_of(page, "rewards") == played.simulation.last_step, WAIT_MILLISECONDS / 1000)
    page.get_by_role("tab", name="Batch").click()
    expect(page).to_have_url(f"{nginx}/runs/{played.run.id}?tab=batch")
    expect(page.locator("[data-chart='buffer-sizes'] .js-plotly-plot")).to_be_visible()
    page.go_back()
    expect(page.locator("[data-chart='rewards'] .js-plotly-plot")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(f"{nginx}/runs")
    expect(page.locator(".ag-row", has_text="behind nginx")).to_be_visible()
    page.goto(f"{nginx}/runs/{played.run.id}?tab=artifacts")
    row = page.locator("[data-kind='config']")
    row.get_by_role("button", name="Prepare").click()
    with page.expect_download() as download:
        row.get_by_role("link", name="Download").click()
    assert download.value.suggested_filename == f"behind-nginx-{played.run.id}-config.toml"
    for tab in TABS:
        page.goto(f"{nginx}/runs/{played.run.id}?tab={tab.name}")
        expect(page.get_by_role("tab", selected=True)).to_have_attribute("id", f"run-tabs-tab-{tab.name}")
        expect(page.locator("#run-panel > *").first).to_be_visible()
        _is_inside(page)


def test_the_form_the_comparison_and_the_keyboard(
    window: Page, nginx: str, backend_server: BackendServer, admin: Client, worker: FakeWorker, tmp_path: Path
) -> None:
    runs = [play(admin, worker, name) for name in ("first of two", "second of two")]
    for each in runs:
        each.advance(12)
    page = window
    _log_in(page, nginx, backend_server.admin_token)
    expect(page.locator(".ag-row", has_text="first of two")).to_be_visible()
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(re.escape(nginx) + "/new"))
    submit = page.get_by_role("button", name="Start the run")
    expect(submit).to_be_enabled()
    page.get_by_label("Name").fill("made under a path")
    expect(submit).to_be_enabled()
    submit.click()
    page.wait_for_url(re.compile(re.escape(nginx) + r"/runs/\w+$"))
    expect(page.get_by_role("heading", name="made under a path")).to_be_visible()

    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page).to_have_url(f"{nginx}/compare")
    page.goto(f"{nginx}/compare?runs={','.join(each.run.id for each in runs)}")
    expect(page.locator("#compare-results table").last).to_be_visible()
    _is_inside(page)
    for label, part in (("Curves as JSON", "columns"), ("Tables as JSON", "first of two")):
        with page.expect_download() as download:
            page.get_by_role("link", name=label).click()
        assert part in Path(download.value.path()).read_text() or part == "columns"
    page.locator("#compare-paper").click()
    expect(page).to_have_url(re.compile(re.escape(nginx) + r"/paper\?runs="))
    with page.expect_download() as download:
        page.locator("#paper-export").click()
    assert f"{nginx}/runs/{runs[0].run.id}" in Path(download.value.path()).read_text()

    page.keyboard.press("Control+k")
    page.keyboard.type("first of two")
    expect(page.get_by_role("option", selected=True)).to_contain_text("first of two")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{nginx}/runs/{runs[0].run.id}")
    expect(page.get_by_role("heading", name="first of two")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("second of")
    expect(page.locator("#search")).to_have_value("second of")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{nginx}/runs?search=second%20of")
    expect(page.locator(".ag-row", has_text="second of two")).to_be_visible()


def test_every_page_its_documents_and_the_way_out(
    window: Page, nginx: str, backend_server: BackendServer, admin: Client
) -> None:
    board = admin.create_board(BoardCreate(name="shared", panels=[TextPanel(id="p", text="Seen by all.")]))
    shared = admin.share_board(board.id, BoardLinkCreate()).address
    page = window
    _log_in(page, nginx, backend_server.admin_token)
    for label, href, _ in NAVIGATION:
        link = page.locator(".shell-nav").get_by_role("link", name=label, exact=True)
        expect(link).to_have_attribute("href", f"/bapo{href}")
        link.click()
        expect(page).to_have_url(re.compile(rf"{re.escape(nginx)}{href}(\?.*)?$"))
        expect(link).to_have_attribute("aria-current", "page")
        expect(page.locator("#page h1, #page h2").first).to_be_visible()
        expect(page.get_by_text("Page not found")).to_have_count(0)
        _is_inside(page)
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="People").click()
    expect(page).to_have_url(f"{nginx}/people")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("menuitem", name="Log out")).to_be_visible()
    for item in page.get_by_role("menuitem").all():
        assert (item.get_attribute("href") or "/bapo/").startswith("/bapo/")
    page.keyboard.press("Escape")
    page.goto(f"{nginx}/documents/docs/dashboard.md")
    _is_inside(page)
    page.get_by_role("link", name="Dashboard", exact=True).first.click()
    expect(page).to_have_url(f"{nginx}/runs")
    page.goto(f"{nginx}/api/v1/docs")
    expect(page.get_by_role("heading", name="API").first).to_be_visible()

    assert shared.startswith(f"{nginx}/shared?key=")
    page.goto(shared)
    expect(page.get_by_text("Seen by all.")).to_be_visible()
    _is_inside(page)
    page.goto(f"{nginx}/boards/{board.id}")
    expect(page.get_by_role("paragraph").filter(has_text="Seen by all.")).to_be_visible()

    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Log out").click()
    expect(page).to_have_url(f"{nginx}/login")
