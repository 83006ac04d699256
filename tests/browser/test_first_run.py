"""From the login link to a run that is watched, changed and stopped, without ever loading a page anew."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from bapo.client import Client
from bapo.records import EventRecord
from tests.browser.conftest import WAIT_MILLISECONDS, PlayedRun, Visitor, field, id_of, play, points_of
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, wait_until
from tests.support.simulation import Simulation

pytestmark = pytest.mark.browser


def test_from_login_to_a_stopped_run(
    stranger: Visitor, backend_server: BackendServer, worker: FakeWorker, admin: Client
) -> None:
    page = stranger.page
    # A wrong secret is answered with 401, which the browser's console reports.
    stranger.expected = ("401",)
    page.goto("/runs")
    expect(page).to_have_url(re.compile("/login$"))
    page.get_by_text("With a login code or token").click()
    page.get_by_label("Login code or API token").fill("wrong")
    page.get_by_role("button", name="Log in with it").click()
    expect(page.get_by_role("alert")).to_contain_text("request")
    page.get_by_text("With a login code or token").click()
    page.get_by_label("Login code or API token").fill(backend_server.admin_token)
    page.get_by_role("button", name="Log in with it").click()

    # Nobody has run anything yet: one button says what to do.
    expect(page.get_by_text("No runs yet")).to_be_visible()
    page.get_by_role("button", name="Set up the Countdown demo").click()

    # c2 above c3 at r_tot = 1 (c3 is 5/8 there): field and remedy stand beneath the field, and what was typed stays.
    upper_c2 = field(page, "method.c2").get_by_role("textbox").nth(1)
    expect(upper_c2).to_have_value("1/2")
    expect(page.get_by_role("button", name="Start the run")).to_be_enabled()
    upper_c2.fill("0.9")
    expect(field(page, "method.c2")).to_contain_text("c2 = 0.9 is above c3 = 0.625 at r_tot = 1: lower c2")
    expect(page.locator("#new-problems")).to_contain_text("method.c2")
    expect(page.get_by_role("button", name="Start the run")).to_be_disabled()
    expect(upper_c2).to_have_value("0.9")
    upper_c2.fill("0.5")
    expect(page.get_by_role("button", name="Start the run")).to_be_enabled()
    page.get_by_label("Name").fill("watched <b>run</b>")
    page.evaluate("window.loadedOnce = true")
    page.get_by_role("button", name="Start the run").click()

    # The run waits for a worker; its page is there at once, with nothing in it yet.
    expect(page.get_by_role("heading", name="watched <b>run</b>")).to_be_visible()
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "queued")
    run_id = id_of(page)
    played = PlayedRun(admin.run(run_id), worker, Simulation(150))
    played.begin()
    played.upload()
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "running")

    def see_another_point() -> None:
        last = played.advance()
        expect(page.locator("[data-chart=rewards].ready")).to_be_visible()
        wait_until(lambda: points_of(page, "rewards") == last, WAIT_MILLISECONDS / 1000)

    # Points appear by themselves, one after the other.
    for _ in range(3):
        see_another_point()
    expect(page.locator("#run-step")).to_have_text("3")
    assert page.evaluate("window.loadedOnce")

    page.get_by_role("button", name="Stop", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("watched <b>run</b>")
    expect(dialog).to_contain_text("cancelled for good")
    dialog.get_by_role("button", name="Stop the run").click()
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "stopping")
    assert played.claim is not None
    controls = worker.heartbeat(played.claim, step=3).controls
    assert [control.stop for control in controls] == [True]
    worker.report(played.claim, "stopped")
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "cancelled")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_hidden()


def test_a_clone_shows_what_it_changes(page: Page, admin: Client, worker: FakeWorker) -> None:
    parent = play(admin, worker, "parent")
    parent.advance(2)
    page.goto(f"/runs/{parent.run.id}")
    page.get_by_role("button", name="Clone").click()
    expect(page).to_have_url(re.compile(f"/new\\?parent={parent.run.id}$"))
    expect(page.locator("#new-diff")).to_contain_text("Nothing: it is the same as “parent”")
    field(page, "method.c1").get_by_role("textbox").fill("1/4")
    expect(page.locator("#new-diff")).to_contain_text(re.compile(r"c1\s*0\.125\s*→\s*0\.25"))
    # The same value, written otherwise, is no difference.
    field(page, "method.c3").get_by_role("textbox").nth(0).fill("0.250")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator(".parent-link")).to_have_text("parent")
    child = admin.run(id_of(page))
    assert child.parent_id == parent.run.id
    assert list(child.diff) == ["method.c1"]
    page.get_by_role("tab", name="Config").click()
    expect(page.get_by_text("Differences to the parent run")).to_be_visible()
    expect(page.locator(".diff-new")).to_have_text("0.25")


def test_a_parameter_change_goes_from_pending_to_applied_and_is_marked(
    page: Page, admin: Client, worker: FakeWorker
) -> None:
    played = play(admin, worker, "changed")
    played.advance(3)
    page.goto(f"/runs/{played.run.id}?tab=batch")
    expect(page.locator("[data-chart=batch-composition].ready")).to_be_visible()
    page.get_by_role("button", name="Change parameters").click()
    upper_c2 = field(page, "method.c2").get_by_role("textbox").nth(1)
    upper_c2.fill("0.9")
    page.get_by_role("button", name="Apply").click()
    expect(field(page, "method.c2")).to_contain_text("lower c2 to at most 0.625 there, or raise c3")
    upper_c2.fill("1/2")
    field(page, "method.c1").get_by_role("textbox").fill("3/8")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#change-requests [data-control=pending]")).to_be_visible()
    assert played.claim is not None
    control = worker.heartbeat(played.claim, step=3).controls[0]
    assert control.set == {"method.c1": "3/8"}
    answer = {"id": control.id, "author": control.author, "set": control.set}
    event = EventRecord(attempt=1, step=3, event="parameter_change", message="Changed.", data=answer)
    played.add(event)
    expect(page.locator("#change-requests [data-control=applied]")).to_contain_text("applied")
    page.keyboard.press("Escape")
    graph = page.locator("[data-chart=batch-composition] .js-plotly-plot")
    expect(graph.locator(".shapelayer path")).to_have_count(1)
    expect(graph.locator(".annotation-text")).to_have_text("◆")


def test_a_wrong_address_says_so(visitor: Visitor) -> None:
    visitor.page.goto("/runs/no-such-run")
    expect(visitor.page.get_by_role("heading", name="Not found")).to_be_visible()
    expect(visitor.page.get_by_text("request")).to_be_visible()
    visitor.page.goto("/nowhere")
    expect(visitor.page.get_by_role("heading", name="Page not found")).to_be_visible()
