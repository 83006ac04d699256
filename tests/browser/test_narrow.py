"""A run's page on a phone: nothing lies on anything else or is cut, and what was chosen is in sight."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from bapo.client import Client
from tests.browser.conftest import PlayedRun, play, points_of
from tests.support.fake_worker import FakeWorker
from tests.support.services import wait_until

pytestmark = pytest.mark.browser

PHONE: ViewportSize = {"width": 390, "height": 844}
WHOLE = 0.99
"""Of an element: a scrolled row ends at a whole pixel, its last tab at a fraction of one."""
MOST_ABOVE_TABS = 480
"""Pixels of a phone's 844 that a run's name, actions, progress and tiles may take."""

CROWDED = """() => [...document.querySelectorAll(".chart-card")].flatMap((card) => {
    const parts = [...card.querySelectorAll(".chart-title, .chart-question, .chart-info, .chart-tools input, "
        + ".chart-tools label, .chart-tools span, .chart-tools button")].filter((part) => part.getClientRects().length);
    const beside = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1;
    const apart = (a, b) => beside(a, b) || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
    return parts.flatMap((one, index) => parts.slice(index + 1)
        .filter((other) => !one.contains(other) && !other.contains(one))
        .filter((other) => !apart(one.getBoundingClientRect(), other.getBoundingClientRect()))
        .map((other) => `${card.dataset.chart}: ${one.className} lies on ${other.className}`));
})"""

NARROW_TITLES = """() => [...document.querySelectorAll(".chart-title")]
    .filter((title) => title.getClientRects().length && title.getBoundingClientRect().height > 45)
    .map((title) => `${title.textContent} stands in ${title.getBoundingClientRect().height} px`)"""

CUT_LABELS = """() => [...document.querySelectorAll("[data-chart=reevaluation] .points .point")].filter((point) => {
    const label = point.querySelector("text");
    if (!label || label.style.display === "none" || !label.getClientRects().length) return false;
    const bar = point.querySelector("path").getBoundingClientRect();
    const text = label.getBoundingClientRect();
    return text.left < bar.left - 1 || text.right > bar.right + 1;
}).map((point) => point.textContent)"""


@pytest.fixture(scope="module")
def run(admin: Client, worker: FakeWorker) -> PlayedRun:
    """A run that trains, with figures in every tile."""
    played = play(admin, worker, "on a phone")
    played.advance(26)
    return played


@pytest.fixture
def phone(page: Page) -> Page:
    page.set_viewport_size(PHONE)
    return page


@pytest.mark.parametrize("tab", ["overview", "batch", "difficulty", "off-policy", "system"])
def test_nothing_in_the_head_of_a_chart_lies_on_anything_else(phone: Page, run: PlayedRun, tab: str) -> None:
    phone.goto(f"/runs/{run.run.id}?tab={tab}")
    expect(phone.locator(".chart-card").first).to_be_visible()
    expect(phone.locator(".chart-card.loading")).to_have_count(0)
    assert phone.evaluate(CROWDED) == []
    assert phone.evaluate(NARROW_TITLES) == []


def test_the_text_of_a_bar_is_whole_or_left_out(phone: Page, run: PlayedRun) -> None:
    phone.goto(f"/runs/{run.run.id}?tab=batch&chart=reevaluation")
    wait_until(lambda: points_of(phone, "reevaluation") > 0)
    expect(phone.locator("[data-chart=reevaluation] .points text").first).to_be_attached()
    assert phone.evaluate(CUT_LABELS) == []
    # The widest bar has room for its own.
    expect(phone.locator("[data-chart=reevaluation] .points text", has_text="100.0 %").first).to_be_visible()


def test_the_chosen_tab_is_in_sight_and_the_tabs_begin_within_the_first_screen(phone: Page, run: PlayedRun) -> None:
    for tab in ("overview", "what-if", "history", "artifacts"):
        phone.goto(f"/runs/{run.run.id}?tab={tab}")
        chosen = phone.get_by_role("tab", selected=True)
        expect(chosen).to_be_in_viewport(ratio=WHOLE)
        assert phone.locator(".tabs-row").evaluate("(row) => row.getBoundingClientRect().top") < MOST_ABOVE_TABS
    # A count that comes later makes a neighbour wider.
    phone.get_by_role("tab", name="Overview").evaluate("(tab) => { tab.style.minWidth = '400px'; }")
    expect(phone.get_by_role("tab", selected=True)).to_be_in_viewport(ratio=WHOLE)
