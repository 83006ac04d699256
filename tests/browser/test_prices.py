"""Prices: an administrator changes them in a browser, a member sees them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from bapo.api.workers import GpuInfo
from bapo.client import Client
from tests.browser.conftest import Visitor, log_in_with
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, add_person

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("cheap_passwords")]

H200 = "NVIDIA H200"


def test_an_administrator_sets_prices_and_a_member_sees_them(
    page: Page, visitor: Visitor, admin: Client, backend_server: BackendServer, dashboard: str
) -> None:
    FakeWorker(backend_server, "gpu-1", gpus=[GpuInfo(index=0, name=H200)]).close()
    page.goto("/prices")
    expect(page.get_by_text("No prices yet")).to_be_visible()
    page.get_by_role("button", name="Change the price of any GPU").click()
    dialog = page.get_by_role("dialog", name="Price of any GPU")
    dialog.get_by_label("Price per hour").fill("2.5")
    dialog.get_by_role("button", name="Save").click()
    # What has no price of its own costs what any GPU does.
    kind = page.get_by_role("row").filter(has_text=H200)
    expect(kind).to_contain_text("2.50\u202fUSD")

    page.get_by_role("button", name=f"Change the price of {H200}").click()
    dialog = page.get_by_role("dialog", name=f"Price of {H200}")
    dialog.get_by_label("Price per hour").fill("4")
    dialog.get_by_label("From").fill("yesterday")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("give a date such as 2026-11-01")).to_be_visible()
    dialog.get_by_label("From").fill("2026-01-01")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row").filter(has_text="the worker gpu-1")).to_contain_text("4.00\u202fUSD")
    assert [(each.name, each.hour_price) for each in admin.prices().history] == [(H200, 4.0), ("", 2.5)]

    page.get_by_role("button", name="Change currency").click()
    dialog = page.get_by_role("dialog", name="Currency of all prices")
    dialog.get_by_label("Currency").fill("eur")
    dialog.get_by_label("Rate").fill("0.5")
    dialog.get_by_role("button", name="Convert").click()
    expect(kind.first).to_contain_text("2.00\u202fEUR")

    member = add_person(backend_server, "ada")
    log_in_with(page.context, dashboard, backend_server, member)
    page.goto("/prices")
    expect(page.get_by_text("Administrators of this server change prices.")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="the worker gpu-1")).to_contain_text("2.00\u202fEUR")
    expect(page.get_by_role("button", name="Change the price of any GPU")).to_have_count(0)
