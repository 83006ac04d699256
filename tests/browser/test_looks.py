"""Light and dark, wide and narrow: nothing sticks out, nothing jumps, everything can be reached."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from bapo.client import Client
from bapo.figures.theme import DARK, LIGHT
from tests.browser.conftest import VIEWPORT, PlayedRun, assert_fits, play, points_of
from tests.support.fake_worker import FakeWorker
from tests.support.services import wait_until

pytestmark = pytest.mark.browser

# What opens over the page stands beside its landmarks, with a header of its own.
_BESIDE = ("region", "landmark-no-duplicate-banner", "landmark-unique")
NO_LANDMARKS = {"rules": {rule: {"enabled": False} for rule in _BESIDE}}
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
    "/runs/{}?tab=walk&step=5&c1=1/4",
    "/runs/{}?tab=what-if",
    "/runs/{}?tab=findings",
    "/runs/{}?tab=off-policy",
    "/runs/{}?tab=system",
    "/runs/{}?tab=artifacts",
    "/compare?runs={}",
    "/paper?runs={}",
    "/studies",
    "/studies/new",
    "/queue",
    "/workers",
    "/data",
    "/prompts",
    "/prompt-lists",
    "/alerts",
    "/alerts/rules",
    "/alerts/webhooks",
    "/account",
    "/people",
    "/worker-tokens",
    "/projects",
    "/prices",
    "/storage",
    "/audit",
)


@pytest.fixture(scope="module")
def long_run(admin: Client, worker: FakeWorker) -> PlayedRun:
    """A run with a name of 200 characters."""
    assert len(LONG_NAME) <= 200
    played = play(admin, worker, LONG_NAME.ljust(200, "y"))
    played.advance(26)
    return played


def _settled(page: Page) -> None:
    expect(page.locator("#page > *").first).to_be_visible()
    if page.locator("#run-panel").count():
        expect(page.locator("#run-panel > *").first).to_be_attached()
        expect(page.locator("#run-tiles .tile").first).to_be_attached()
    expect(page.locator(".chart-card.loading")).to_have_count(0)
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0)


def _faults(page: Page, **options: object) -> list[str]:
    """What axe-core finds wrong with the page, once nothing fades in any more."""
    page.evaluate("""async () => {
        for (let still = 0; still < 5; still += 1) {
            await new Promise(requestAnimationFrame);
            for (const each of document.getAnimations().filter((each) => each instanceof CSSTransition)) {
                each.finish();
                still = 0;
            }
        }
    }""")
    # Nothing plays: no style sheet and no sound is fetched once more for what axe-core would ask of it.
    wanted = {"resultTypes": ["violations"], "preload": False, **options}
    found = Axe().run(page, options=wanted).response["violations"]
    return [f"{each['id']}: {node['target']} {node['failureSummary']}" for each in found for node in each["nodes"]]


def test_every_page_can_be_used_by_everybody(page: Page, long_run: PlayedRun) -> None:
    for address in PAGES:
        page.goto(address.format(long_run.run.id))
        _settled(page)
        for width in (390, 768, VIEWPORT["width"]):
            assert_fits(page, width)
        assert not _faults(page), address
        expect(page.locator("h1")).to_have_count(1)
        # Only the colours are different there.
        page.evaluate("document.documentElement.setAttribute('data-mantine-color-scheme', 'dark')")
        assert not _faults(page, runOnly=["color-contrast"]), address

    # What opens on a page: its menu, a drawer, and a question.
    page.goto(f"/runs/{long_run.run.id}")
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_role("menuitem", name="Log out")).to_be_visible()
    assert not _faults(page, **NO_LANDMARKS)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Change parameters").click()
    expect(page.locator("#change-apply")).to_be_visible()
    assert not _faults(page, **NO_LANDMARKS)
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("cancelled for good")
    assert not _faults(page, **NO_LANDMARKS)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    for keys, name in (("Control+k", "Commands"), ("?", "Keyboard shortcuts"), ("", "Policy entropy")):
        if keys:
            page.keyboard.press(keys)
        else:
            page.get_by_role("button", name=f"Menu of {name}").click()
            page.get_by_role("menuitem", name="Show as table").click()
        expect(page.get_by_role("dialog", name=name)).to_be_visible()
        for scheme in ("light", "dark"):
            page.evaluate(
                "scheme => document.documentElement.setAttribute('data-mantine-color-scheme', scheme)", scheme
            )
            assert not _faults(page, **NO_LANDMARKS), (name, scheme)
        page.keyboard.press("Escape")


def test_a_phone_in_the_dark_keeps_its_navigation_behind_a_button(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto("/runs")
    # The system's scheme is the first choice.
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")
    expect(page.get_by_role("button", name="Navigation")).to_be_visible()
    page.get_by_role("button", name="Navigation").click()
    page.locator("#navbar").get_by_role("link", name="New run").click()
    expect(page.get_by_role("heading", name="New run")).to_be_visible()
    expect(page.locator("#navbar").get_by_role("link", name="New run")).not_to_be_in_viewport()


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


def test_nothing_moves_when_data_arrives(page: Page, long_run: PlayedRun) -> None:
    page.goto(f"/runs/{long_run.run.id}")
    _settled(page)
    places = """() => [...document.querySelectorAll(".tile, .chart-card, .tabs-row")]
        .map((element) => element.getBoundingClientRect().top)"""
    before = page.evaluate(places)
    step = long_run.advance()
    expect(page.locator("#run-step")).to_have_text(str(step))
    assert page.evaluate(places) == before


def test_a_link_leads_to_its_chart(page: Page, long_run: PlayedRun) -> None:
    page.goto(f"/runs/{long_run.run.id}?tab=batch&chart=rollouts")
    _settled(page)
    expect(page.locator("[data-chart=rollouts]")).to_be_in_viewport()
