"""Alerts, their rules and webhooks, in a browser: made, previewed, told live, acknowledged."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from bapo.records import StepRecord
from tests.browser.conftest import PlayedRun, Visitor, box_of, play
from tests.support.fake_worker import FakeWorker
from tests.support.receiver import Receiver, receiving
from tests.support.services import wait_until

pytestmark = pytest.mark.browser

LONG = "<img src=x onerror=alert(1)> " + "a name that does not end " * 7


@pytest.fixture(scope="module")
def backend_settings() -> dict[str, str]:
    return {"webhook_allowed_hosts": "127.0.0.1"}


@pytest.fixture(scope="module")
def played(admin: Client, worker: FakeWorker) -> PlayedRun:
    """A run with a long name and forty steps, whose entropy falls slowly from 0.9."""
    run = play(admin, worker, LONG[:200])
    run.advance(40)
    return run


def test_a_rule_is_written_previewed_and_saved(page: Page, visitor: Visitor, admin: Client, played: PlayedRun) -> None:
    page.goto("/runs")
    page.locator(".nav-link", has_text="Alerts").click()
    expect(page.get_by_text("No alert rules yet")).to_be_visible()
    page.get_by_role("link", name="Create rules").click()
    page.get_by_role("button", name="New rule").click()
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_text("Alert when a run fails, in every run of the project.")).to_be_visible()
    drawer.get_by_role("textbox", name="What to watch").click()
    page.get_by_role("option", name="Any metric").click()
    metric = drawer.get_by_role("textbox", name="Metric")
    metric.fill("actor/entropy")
    drawer.get_by_role("textbox", name="Is").click()
    page.get_by_role("option", name="below", exact=True).click()
    threshold = drawer.get_by_role("textbox", name="Threshold")
    place = box_of(drawer.get_by_role("button", name="Save"))
    threshold.fill("0.85")
    expect(drawer.get_by_text("On your last 1 run this rule would have fired once, in 1 run:")).to_be_visible()
    # A preview that comes between pressing and letting go does not take the button away.
    assert drawer.get_by_role("button", name="Save").bounding_box() == place
    # What cannot be is said at its field, in the server's words, and nothing typed is lost.
    steps = drawer.get_by_role("textbox", name="Values in a row")
    steps.fill("0")
    expect(drawer.get_by_text("must be at least 1")).to_be_visible()
    steps.fill("2")
    threshold.fill("0.1")
    expect(drawer.get_by_text("This rule would not have fired on your last 1 run.")).to_be_visible()
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.get_by_text("is empty: fill it in")).to_be_visible()
    drawer.get_by_role("textbox", name="Name").fill("Entropy low")
    run_field = drawer.get_by_role("textbox", name="Run")
    run_field.fill("nowhere")
    visitor.expected = ("404",)
    drawer.get_by_role("button", name="Save").click()
    expect(drawer.get_by_text("there is no run 'nowhere'")).to_be_visible()
    run_field.fill(played.run.id)
    drawer.get_by_role("button", name="Save").click()
    expect(drawer).to_be_hidden()
    card = page.locator(".rule-card")
    expect(card).to_contain_text(
        f"Alert when actor/entropy is below 0.1 for 2 values in a row, in run {played.run.id}."
    )
    # Edited, switched off and on, deleted.
    card.get_by_role("button", name="Edit").click()
    expect(drawer.get_by_role("textbox", name="Name")).to_have_value("Entropy low")
    drawer.get_by_role("textbox", name="Threshold").fill("0.85")
    drawer.get_by_role("button", name="Save").click()
    expect(card).to_contain_text("below 0.85")
    card.locator("label.mantine-Switch-body").click()
    expect(page.locator(".rule-card.off")).to_be_visible()
    assert not admin.alert_rules().items[0].enabled
    card.locator("label.mantine-Switch-body").click()
    expect(page.locator(".rule-card.off")).to_have_count(0)
    card.get_by_role("button", name="Delete the rule Entropy low").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the rule").click()
    expect(page.get_by_text("No rules yet")).to_be_visible()


def test_alerts_come_live_stand_in_the_charts_and_are_acknowledged(
    page: Page, admin: Client, played: PlayedRun
) -> None:
    page.goto("/alerts/rules")
    page.get_by_role("button", name="Add default rules").click()
    expect(page.locator(".rule-card")).to_have_count(7)
    page.goto(f"/runs/{played.run.id}?tab=batch")
    expect(page.locator("#bell-count")).to_have_text("")
    expect(page.locator("[data-chart='fill-rate'] .js-plotly-plot")).to_be_visible()
    for _ in range(10):
        played.simulation.train(1)
        # After the step there may be a tracking and evaluations.
        records = played.simulation.records
        at, record = next((at, each) for at, each in enumerate(records) if each.step == played.simulation.last_step)
        assert isinstance(record, StepRecord)
        counts = record.counts.model_copy(update={"fill_rate": 0.2})
        records[at] = record.model_copy(update={"counts": counts})
    played.upload()
    # The bell, the notice and the mark, without anybody loading anything.
    expect(page.locator("#bell-count")).to_have_text("1")
    notice = page.locator("#run-alerts .alert-card")
    expect(notice).to_contain_text("Less than 50 % of the batch was filled for 10 steps in a row, up to step 50")
    expect(page.locator("[data-chart='fill-rate'] .annotation-text", has_text="▲")).to_be_visible()
    notice.get_by_role("link", name="See why").click()
    expect(page).to_have_url(f"/runs/{played.run.id}?tab=what-if")

    page.get_by_role("link", name="1 open alert in 1 run").click()
    # The page that is left has a card of it too.
    card = page.locator("#alerts-list .alert-card")
    expect(card).to_contain_text("Thin batches")
    expect(card.locator("img")).to_have_count(0)
    card.get_by_role("button", name="Acknowledge").click()
    expect(page.locator("#bell-count")).to_have_text("")
    expect(page.locator(".alert-card.seen")).to_contain_text("Acknowledged by admin")
    page.get_by_text("Resolved", exact=True).click()
    expect(page).to_have_url("/alerts?state=resolved")
    expect(page.get_by_text("No resolved alerts")).to_be_visible()
    page.goto("/alerts?state=all&kind=fill_rate")
    expect(page.locator(".alert-card")).to_have_count(1)
    page.goto("/alerts?state=all&kind=ratio")
    expect(page.get_by_text("No alerts", exact=True)).to_be_visible()


def test_a_webhook_is_made_tried_and_deleted(page: Page, visitor: Visitor, admin: Client) -> None:
    with receiving() as receiver:
        page.goto("/alerts/webhooks")
        page.get_by_role("button", name="New webhook").click()
        drawer = page.get_by_role("dialog")
        drawer.get_by_role("textbox", name="Name").fill("team")
        address = drawer.get_by_role("textbox", name="Address")
        address.fill("http://10.0.0.1/x")
        drawer.get_by_role("button", name="Save").click()
        visitor.expected = ("422",)
        expect(drawer.get_by_text("10.0.0.1 is not a public address")).to_be_visible()
        address.fill(receiver.url)
        drawer.get_by_role("button", name="Save").click()
        expect(page.get_by_text("It is not shown again.")).to_be_visible()
        secret = page.locator(".secret-text").inner_text()
        assert secret.startswith("whsec_")
        page.reload()
        expect(page.locator(".rule-card")).to_be_visible()
        assert secret not in page.content()
        _try(page, receiver)
        card = page.locator(".rule-card")
        card.get_by_role("button", name="Edit").click()
        editor = page.get_by_role("dialog", name="Edit the webhook")
        editor.locator("label.mantine-Switch-body", has_text="On").click()
        editor.get_by_role("button", name="Save").click()
        expect(page.locator(".rule-card.off")).to_be_visible()
        card.get_by_role("button", name="Delete the webhook team").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete the webhook").click()
        expect(page.get_by_text("No webhooks yet")).to_be_visible()
        assert admin.webhooks().items == []


def _try(page: Page, receiver: Receiver) -> None:
    page.locator(".rule-card").get_by_role("button", name="Send a test").click()
    messages = page.get_by_role("dialog", name="Messages to team")
    expect(messages.get_by_text("delivered", exact=True)).to_be_visible()
    assert receiver.received[-1].headers["BAPO-Event"] == "test"
    messages.get_by_role("button", name="Send again").click()
    wait_until(lambda: len(receiver.received) == 2)
    page.keyboard.press("Escape")
    expect(messages).to_be_hidden()
