"""Light and dark, wide and narrow: nothing sticks out, nothing jumps, everything can be reached."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from bapo.client import Client
from bapo.figures.theme import DARK, LIGHT
from tests.backend.fake_worker import FakeWorker
from tests.browser.conftest import WAIT_MILLISECONDS, PlayedRun, Visitor, log_in, play, points_of
from tests.services import BackendServer, wait_until

pytestmark = pytest.mark.browser

LONG_NAME = "x" * 90 + " " + "very-long-name-" * 7
PAGES = (
    "/runs",
    "/new?recipe=countdown-demo",
    "/new?parent={}",
    "/runs/{}",
    "/runs/{}?tab=batch",
    "/runs/{}?tab=difficulty",
    "/runs/{}?tab=prompts",
    "/runs/{}?tab=samples",
    "/runs/{}?tab=log",
    "/runs/{}?tab=config",
    "/runs/{}?tab=history",
)


@pytest.fixture(scope="module")
def long_run(admin: Client, worker: FakeWorker) -> PlayedRun:
    """A run with a name of 200 characters."""
    assert len(LONG_NAME) <= 200
    played = play(admin, worker, LONG_NAME.ljust(200, "y"))
    played.advance(26)
    return played


@pytest.fixture(params=[390, 768, 1280])
def narrow(
    request: pytest.FixtureRequest, chromium: Browser, dashboard: str, backend_server: BackendServer
) -> Iterator[Page]:
    """A window of some width."""
    context = chromium.new_context(base_url=dashboard, viewport={"width": request.param, "height": 844})
    context.set_default_timeout(WAIT_MILLISECONDS)
    log_in(context, dashboard, backend_server)
    visitor = Visitor.watching(context.new_page())
    yield visitor.page
    visitor.check()
    context.close()


def _settled(page: Page) -> None:
    expect(page.locator("#page > *").first).to_be_visible()
    if page.locator("#run-panel").count():
        expect(page.locator("#run-panel > *").first).to_be_attached()
    expect(page.locator(".chart-card.loading")).to_have_count(0)
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0)


def test_no_page_scrolls_sideways(narrow: Page, long_run: PlayedRun) -> None:
    for address in PAGES:
        narrow.goto(address.format(long_run.run.id))
        _settled(narrow)
        widths = narrow.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1], address


def test_a_narrow_window_keeps_its_navigation_behind_a_button(
    chromium: Browser, dashboard: str, backend_server: BackendServer
) -> None:
    context = chromium.new_context(base_url=dashboard, viewport={"width": 390, "height": 844})
    context.set_default_timeout(WAIT_MILLISECONDS)
    log_in(context, dashboard, backend_server)
    page = context.new_page()
    page.goto("/runs")
    link = page.get_by_role("link", name="New run").first
    expect(page.get_by_role("button", name="Navigation")).to_be_visible()
    page.get_by_role("button", name="Navigation").click()
    page.locator("#navbar").get_by_role("link", name="New run").click()
    expect(page.get_by_role("heading", name="New run")).to_be_visible()
    expect(page.locator("#navbar").get_by_role("link", name="New run")).not_to_be_in_viewport()
    assert link is not None
    context.close()


def test_the_chosen_scheme_reaches_every_part_and_is_remembered(page: Page, long_run: PlayedRun) -> None:
    page.goto(f"/runs/{long_run.run.id}")
    _settled(page)
    colours = """() => document.querySelector('[data-chart="rewards"] .js-plotly-plot').data.map((t) => t.line.color)"""
    background = "() => getComputedStyle(document.querySelector('.chart-card')).backgroundColor"
    root = page.locator("html")
    expect(root).to_have_attribute("data-mantine-color-scheme", "light")
    wait_until(lambda: points_of(page, "rewards") > 0)
    assert LIGHT.fresh in page.evaluate(colours)
    light = page.evaluate(background)
    page.get_by_role("button", name="Switch between light and dark").click()
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    wait_until(lambda: DARK.fresh in page.evaluate(colours))
    assert page.evaluate(background) != light
    page.reload()
    _settled(page)
    expect(root).to_have_attribute("data-mantine-color-scheme", "dark")
    wait_until(lambda: points_of(page, "rewards") > 0)
    assert DARK.fresh in page.evaluate(colours)


def test_the_systems_scheme_is_the_first_choice(
    chromium: Browser, dashboard: str, backend_server: BackendServer
) -> None:
    context = chromium.new_context(base_url=dashboard, color_scheme="dark")
    context.set_default_timeout(WAIT_MILLISECONDS)
    log_in(context, dashboard, backend_server)
    page = context.new_page()
    page.goto("/runs")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    context.close()


def test_nothing_moves_when_data_arrives(page: Page, long_run: PlayedRun) -> None:
    page.goto(f"/runs/{long_run.run.id}")
    _settled(page)
    places = """() => [...document.querySelectorAll(".tile, .chart-card, .tabs-row")]
        .map((element) => element.getBoundingClientRect().top)"""
    before = page.evaluate(places)
    step = long_run.advance()
    expect(page.locator("#run-step")).to_have_text(str(step))
    assert page.evaluate(places) == before


def test_a_chart_can_be_saved_and_linked(page: Page, long_run: PlayedRun) -> None:
    page.goto(f"/runs/{long_run.run.id}?tab=batch&chart=rollouts")
    _settled(page)
    expect(page.locator("[data-chart=rollouts]")).to_be_in_viewport()
    page.get_by_role("button", name="Menu of Rollouts so far").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Download as CSV").click()
    lines = download.value.path().read_text().splitlines()
    assert lines[0] == "step,all rollouts,full fresh batches"
    # The first step: 32 prompts of 8 responses.
    assert lines[1] == "1,256,256"
