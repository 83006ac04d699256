"""A new user from the link to the account, in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from tests.browser.conftest import Visitor, log_out

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("cheap_passwords")]

PASSWORD = "correct horse battery"


def test_a_new_user_sets_a_password_and_looks_after_the_account(page: Page, visitor: Visitor, admin: Client) -> None:
    page.goto("/people")
    page.get_by_role("button", name="New user").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name").fill("ada")
    dialog.get_by_role("button", name="Create user").click()
    link = page.locator(".secret-text").inner_text()
    assert "/set-password?code=" in link
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.locator(".secret-copy .icon-check")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == link

    # Ada opens it: no menu shows her what she may not do.
    log_out(page)
    page.goto(link)
    page.get_by_label("New password").fill(PASSWORD)
    page.get_by_label("Again").fill(PASSWORD)
    page.get_by_role("button", name="Set password and log in").click()
    page.get_by_role("button", name="Account").click()
    expect(page.get_by_text("ada · member")).to_be_visible()
    expect(page.get_by_role("menuitem", name="People")).to_have_count(0)
    page.get_by_role("menuitem", name="Account").click()

    page.get_by_label("New token").fill("nightly")
    page.get_by_role("button", name="Create token").click()
    expect(page.locator(".secret-text")).to_contain_text("bapo_")
    page.get_by_role("button", name="Revoke nightly").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    expect(page.get_by_text("No tokens yet.")).to_be_visible()
    assert [each.name for each in admin.people().items] == ["ada", "admin"]


def test_members_are_added_to_a_project(page: Page, visitor: Visitor) -> None:
    page.goto("/projects")
    page.get_by_role("button", name="Members and settings").first.click()
    visitor.expected = ("422",)
    page.get_by_label("Add a member").fill("nobody")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("no user has this name")).to_be_visible()
    page.get_by_label("Add a member").fill("ada")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.locator("#members")).to_contain_text("ada")


def test_the_page_of_worker_tokens_has_the_command_of_a_machine_that_joins(page: Page, visitor: Visitor) -> None:
    page.goto("/worker-tokens")
    origin = page.evaluate("location.origin")
    expect(page.locator("#worker-join")).to_have_text(f"bapo worker --server {origin} --token-file worker-token")
    expect(page.get_by_text("leads to the server on its own machine only")).to_be_visible()
