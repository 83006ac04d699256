"""The tour: from the list over a run to the form, and out of it at any time."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from bapo.client import Client
from tests.browser.conftest import play
from tests.support.fake_worker import FakeWorker

pytestmark = pytest.mark.browser


def _card(page: Page) -> Locator:
    return page.get_by_role("dialog", name=re.compile("^Tour, "))


def test_it_leads_through_the_pages_and_is_left_at_any_time(page: Page, admin: Client, worker: FakeWorker) -> None:
    played = play(admin, worker, "toured")
    played.advance(3)
    page.goto("/runs")
    expect(page.locator(".ag-row", has_text="toured")).to_be_visible()
    page.keyboard.press("?")
    page.get_by_role("button", name="Take the tour").click()
    stops = (
        ("Every run of the team", r"/runs$", "#runs-grid-box"),
        ("One run", rf"/runs/{played.run.id}$", "#run-tiles"),
        ("What each batch was made of", r"tab=batch$", ".chart-card"),
        ("How prompts move", r"tab=difficulty$", ".chart-card"),
        ("What is wrong with the data", r"tab=findings$", "#run-panel"),
        ("Is it better?", r"/compare$", "h1"),
        ("Your turn", r"/new$", "h1"),
    )
    for index, (title, address, pointed_at) in enumerate(stops):
        expect(_card(page)).to_have_attribute("aria-label", f"Tour, {index + 1} of {len(stops)}: {title}")
        expect(page).to_have_url(re.compile(address))
        expect(page.locator(f"{pointed_at}.tour-target")).to_be_visible()
        expect(_card(page).locator(".tour-next")).to_be_focused()
        page.keyboard.press("Enter")
    expect(_card(page)).to_have_count(0)
    expect(page.locator(".tour-target")).to_have_count(0)

    page.keyboard.press("Control+k")
    page.keyboard.type("tour")
    page.keyboard.press("Enter")
    _card(page).get_by_role("button", name="Next").click()
    _card(page).get_by_role("button", name="Back").click()
    expect(page).to_have_url(re.compile("/runs$"))
    page.keyboard.press("Escape")
    expect(_card(page)).to_have_count(0)
