"""Links, the address and the way back, without another document."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_links_change_the_page_and_open_another_tab_where_asked(page: Page) -> None:
    page.goto("/queue")
    studies = page.get_by_role("link", name="Studies")
    expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
    page.evaluate("window.loadedOnce = true")
    studies.click()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
    expect(studies).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()

    with page.context.expect_page() as other:
        page.get_by_role("link", name="Workers").click(modifiers=["Control"])
    expect(other.value).to_have_url(re.compile("/workers$"))
    other.value.close()
    # A menu of Mantine's leads to pages as well.
    page.get_by_role("button", name="Account").click()
    page.get_by_role("menuitem", name="Projects").click()
    expect(page.get_by_role("heading", name="Projects", exact=True)).to_be_visible()
    assert page.evaluate("window.loadedOnce")


def test_a_callback_leads_to_another_page_with_one_step_back(page: Page) -> None:
    page.goto("/queue?by=project")
    page.evaluate("window.loadedOnce = true")
    search = page.locator("#search")
    for _ in range(2):
        search.fill("nothing")
        search.press("Enter")
        expect(page).to_have_url(re.compile(r"/runs\?search=nothing$"))
    page.go_back()
    expect(page).to_have_url(re.compile(r"/queue\?by=project$"))
    expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
    assert page.evaluate("window.loadedOnce")
