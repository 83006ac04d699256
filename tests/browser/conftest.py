"""A real Chromium in front of the real dashboard and server; only the trainer is played, record by record."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    FloatRect,
    Locator,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from bapo.api.accounts import Login
from bapo.api.runs import RunCreate, RunDetail
from bapo.api.workers import Claim
from bapo.client import SESSION_COOKIE, Client
from bapo.records import AnyRecord, SampleRecord
from frontend.app import create_app
from frontend.server.settings import FrontendSettings
from tests.support.fake_worker import FakeWorker
from tests.support.services import NO_BROKER, BackendServer, running_backend, wait_until
from tests.support.serving import serving
from tests.support.simulation import Simulation

# The shell first: it has no windows to draw, and takes the less CPU time for it.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # What was compiled of a script is kept, however long no page has called it.
    "--js-flags=--no-flush-bytecode",
)
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
WAIT_MILLISECONDS = 60_000
"""A machine with every core busy draws slowly."""
expect.set_options(timeout=WAIT_MILLISECONDS)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Start the browser; while it is open, an event loop runs in this thread, so it ends with the folder's tests."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install Debian's package `chromium`")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def backend_port() -> Iterator[int]:
    """Reserve a port that the servers of all modules take, one after the other."""
    # Bound, but silent: no other program gets it between two servers, which may listen on it all the same.
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield reserved.getsockname()[1]


@pytest.fixture(scope="package")
def dashboard(backend_port: int) -> Iterator[str]:
    """Serve the dashboard, at one address for all modules: at another, Chromium would compile the scripts again.

    What it keeps of a module's server goes by sessions and runs, which no other server knows.
    """
    with serving(create_app(FrontendSettings(backend_url=f"http://127.0.0.1:{backend_port}"))) as url:
        yield url


@pytest.fixture(scope="module")
def backend_settings() -> dict[str, Any]:
    """Settings of the module's server; one with a broker really hands out runs."""
    return {}


@pytest.fixture(scope="module")
def backend_server(
    postgres_url: str,
    tmp_path_factory: pytest.TempPathFactory,
    backend_settings: Mapping[str, Any],
    backend_port: int,
) -> Iterator[BackendServer]:
    """Serve the API behind the dashboard, with the settings of this module and its own database."""
    settings = {"broker_url": NO_BROKER, **backend_settings}
    with running_backend(postgres_url, tmp_path_factory.mktemp("backend"), port=backend_port, **settings) as server:
        yield server


@dataclass
class Visitor:
    """A browser window whose complaints count as failures."""

    page: Page
    complaints: list[str]
    expected: tuple[str, ...] = ()
    """Parts of complaints that a test provokes."""

    @classmethod
    def watching(cls, page: Page) -> Visitor:
        visitor = cls(page, [])
        page.on("console", visitor._on_console)
        page.on("pageerror", visitor._on_error)
        return visitor

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _on_error(self, error: Error) -> None:
        self.complaints.append(str(error))

    def leave(self) -> None:
        """Forget everything: nobody is logged in, nothing is stored, no request is held up."""
        self.page.remove_listener("console", self._on_console)
        self.page.remove_listener("pageerror", self._on_error)
        self.page.unroute_all()
        log_out(self.page)
        self.page.context.clear_permissions()
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.set_viewport_size(VIEWPORT)
        self.page.emulate_media(color_scheme="light")
        # Whatever lies there on the next page is not hovered over.
        self.page.mouse.move(0, 0)

    def check(self) -> None:
        """Raises AssertionError where the browser complained of something that no test provoked."""
        unexpected = [text for text in self.complaints if not any(part in text for part in self.expected)]
        assert not unexpected, unexpected


@pytest.fixture(scope="package")
def window(chromium: Browser, dashboard: str) -> Iterator[Page]:
    """Open the window of all tests: a new one would compile all scripts again, which takes longer than most tests."""
    # Without the shimmer of what loads and the pulse of what runs, for which a page is drawn sixty times a second.
    context = chromium.new_context(base_url=dashboard, viewport=VIEWPORT, reduced_motion="reduce")
    context.set_default_timeout(WAIT_MILLISECONDS)
    yield context.new_page()
    context.close()


@pytest.fixture
def stranger(window: Page, backend_server: BackendServer) -> Iterator[Visitor]:
    """A window that has not logged in and remembers nothing."""
    visitor = Visitor.watching(window)
    yield visitor
    visitor.leave()
    visitor.check()


def log_out(page: Page) -> None:
    """Leave the page, then give the session up."""
    # In this order: a page that is still there asks on, is refused, and goes to the login page by itself. Where it is
    # left for is of the same origin, for its storage, and for the renderer, which keeps the scripts it compiled.
    page.goto("/healthz")
    page.context.clear_cookies()


def log_in(context: BrowserContext, dashboard: str, server: BackendServer) -> None:
    """Give a context the session of the administrator."""
    log_in_with(context, dashboard, server, server.admin_token)


def log_in_with(context: BrowserContext, dashboard: str, server: BackendServer, token: str) -> None:
    """Give a context the session of a token's owner, in place of the one it has."""
    with Client(server.url) as client:
        _, secret = client.login(Login(token=token))
    context.add_cookies([{"name": SESSION_COOKIE, "value": secret, "url": dashboard}])


@pytest.fixture
def visitor(stranger: Visitor, dashboard: str, backend_server: BackendServer) -> Visitor:
    """A window of the administrator."""
    log_in(stranger.page.context, dashboard, backend_server)
    return stranger


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """The window's page."""
    return visitor.page


@pytest.fixture(scope="module")
def worker(backend_server: BackendServer) -> Iterator[FakeWorker]:
    """The one worker of the module; it takes every run."""
    worker = FakeWorker(backend_server)
    yield worker
    worker.close()


@dataclass
class PlayedRun:
    """A run whose records a simulation makes up and whose worker is the fake one."""

    run: RunDetail
    worker: FakeWorker
    simulation: Simulation
    claim: Claim | None = None
    uploaded: int = 0

    def begin(self) -> None:
        """The worker takes the run, and its trainer is up."""
        self.claim = self.worker.begin(self.run)

    def upload(self) -> None:
        """Send what the simulation has that the server has not."""
        assert self.claim is not None
        self.worker.upload(self.claim, self.simulation.records[self.uploaded :])
        self.uploaded = len(self.simulation.records)

    def advance(self, steps: int = 1) -> int:
        """Train some steps; the number of the last one."""
        self.simulation.train(steps)
        self.upload()
        return self.simulation.last_step

    def add(self, *records: AnyRecord) -> None:
        """Records out of the ordinary."""
        self.simulation.records.extend(records)
        self.upload()

    def add_sample(self, sample: SampleRecord) -> None:
        """A group of responses."""
        assert self.claim is not None
        self.worker.upload(self.claim, [sample], "samples")


def play(client: Client, worker: FakeWorker, name: str, *, num_steps: int = 150, **fields: object) -> PlayedRun:
    """Submit a run and begin it."""
    body = RunCreate.model_validate({"name": name, "recipe": "countdown-demo", **fields})
    played = PlayedRun(client.create_run(body), worker, Simulation(num_steps))
    played.begin()
    played.upload()
    return played


def field(page: Page, path: str) -> Locator:
    """A field of a form, with its error."""
    return page.locator(f"[data-field='{path}']")


def assert_fits(page: Page, width: int) -> None:
    """Nothing sticks out of a window of this width, once the page has followed it."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")


def points_of(page: Page, chart: str, trace: int = 0) -> int:
    """Number of points that a chart shows."""
    script = """([name, trace]) => {
        const graph = document.querySelector(`[data-chart="${name}"] .js-plotly-plot`);
        return graph && graph.data && graph.data.length > trace ? graph.data[trace].x.length : 0;
    }"""
    count: int = page.evaluate(script, [chart, trace])
    return count


def box_of(element: Locator) -> FloatRect:
    """Return where an element stands, once it is in sight, no longer moves and lies on top."""
    element.hover(trial=True)
    box = element.bounding_box()
    assert box is not None
    return box


def view_of(page: Page) -> dict[str, str]:
    """The keys of its address, asked of the page: what Playwright itself knows of it is as old as its last call."""
    found: dict[str, str] = page.evaluate("Object.fromEntries(new URLSearchParams(location.search))")
    return found


def address_of(page: Page) -> str:
    """Ask the page for its address, without the host."""
    address: str = page.evaluate("location.pathname + location.search")
    return address


def id_of(page: Page) -> str:
    """Read the identifier of the run, board or study whose page is open from its address."""
    return address_of(page).partition("?")[0].rpartition("/")[2]


def wait_for_view(page: Page, view: dict[str, str]) -> None:
    """Wait until the address has these keys, and no others."""
    wait_until(lambda: view_of(page) == view, WAIT_MILLISECONDS / 1000)


@contextmanager
def requests_of(page: Page, part: str) -> Iterator[list[str]]:
    """Collect the addresses with this part that the page asks for meanwhile."""
    addresses: list[str] = []

    def note(request: Request) -> None:
        if part in request.url:
            addresses.append(request.url)

    page.on("request", note)
    yield addresses
    page.remove_listener("request", note)


@contextmanager
def beginning_with(page: Page, script: str) -> Iterator[None]:
    """Run the script first in each document that the page opens meanwhile; `add_init_script` would do so for good."""
    session = page.context.new_cdp_session(page)
    session.send("Page.enable")
    made = session.send("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    yield
    session.send("Page.removeScriptToEvaluateOnNewDocument", made)
    session.detach()
