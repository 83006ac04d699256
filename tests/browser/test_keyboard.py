"""By keyboard alone: from the login to a run that is watched, changed, read as a table and compared."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from bapo.client import Client
from tests.browser.conftest import WAIT_MILLISECONDS, PlayedRun, Visitor, field, id_of, log_in_with, play, points_of
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, add_person, wait_until
from tests.support.simulation import Simulation

pytestmark = pytest.mark.browser

MOST_TABS = 120
MARKUP = "<img src=x onerror=\"document.title='owned'\">"


def _tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until what is wanted has the focus, which can be seen."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if wanted.evaluate("element => element === document.activeElement"):
            assert wanted.evaluate("element => element.matches(':focus-visible')")
            return
    raise AssertionError(f"{MOST_TABS} presses of Tab do not reach {wanted}")


def _command(page: Page, text: str, name: str) -> None:
    """Choose what the palette finds first."""
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Commands")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.type(text)
    chosen = palette.get_by_role("option", selected=True)
    expect(chosen.locator(".palette-label")).to_have_text(name)
    expect(palette.get_by_role("combobox")).to_have_attribute("aria-activedescendant", str(chosen.get_attribute("id")))
    page.keyboard.press("Enter")
    expect(palette).to_have_count(0)


def test_every_step_of_a_run_by_keyboard(
    stranger: Visitor, backend_server: BackendServer, worker: FakeWorker, admin: Client
) -> None:
    page = stranger.page
    page.goto("/login")
    _tab_to(page, page.get_by_text("With a login code or token"))
    page.keyboard.press("Enter")
    _tab_to(page, page.get_by_label("Login code or API token"))
    page.keyboard.type(backend_server.admin_token)
    page.keyboard.press("Enter")

    # Submit: past the navigation, to the one thing to do.
    first = page.get_by_role("link", name="Set up the Countdown demo")
    expect(first).to_be_visible()
    expect(page).to_have_title("Runs · BAPO")
    _tab_to(page, page.get_by_role("link", name="Skip to the content"))
    page.keyboard.press("Enter")
    expect(page.locator("#page")).to_be_focused()
    _tab_to(page, first)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="New run")).to_be_focused()
    _tab_to(page, page.get_by_label("Name"))
    page.keyboard.press("Control+a")
    page.keyboard.type("nothing but keys")
    start = page.get_by_role("button", name="Start the run")
    expect(start).to_be_enabled()
    _tab_to(page, start)
    page.keyboard.press("Enter")

    # Watch: its page begins with its name, and its tabs turn.
    expect(page.get_by_role("heading", name="nothing but keys")).to_be_focused()
    expect(page).to_have_title("nothing but keys · BAPO")
    played = PlayedRun(admin.run(id_of(page)), worker, Simulation(150))
    played.begin()
    played.advance(3)
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "running")
    page.keyboard.press("]")
    expect(page.get_by_role("tab", name="Batch")).to_be_focused()
    page.keyboard.press("[")
    expect(page.get_by_role("tab", name="Overview")).to_have_attribute("aria-selected", "true")

    # Steer: the drawer has the focus, and gives it back.
    page.keyboard.press("c")
    expect(page.get_by_role("button", name="Apply")).to_be_visible()
    _tab_to(page, field(page, "method.c1").get_by_role("textbox"))
    page.keyboard.press("Control+a")
    page.keyboard.type("3/8")
    _tab_to(page, page.get_by_role("button", name="Apply"))
    page.keyboard.press("Enter")
    expect(page.locator("#change-requests [data-control=pending]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Change parameters")).to_be_focused()
    # It slides away: until then it covers the page, and keys are its own.
    expect(page.get_by_role("dialog")).to_have_count(0)

    # Read: a chart as a table, in reach of the palette, from where the focus comes back.
    wait_until(lambda: points_of(page, "entropy") == played.simulation.last_step, WAIT_MILLISECONDS / 1000)
    _command(page, "table entropy", "Table of Policy entropy")
    table = page.get_by_role("dialog", name="Policy entropy").get_by_role("table")
    expect(table.get_by_role("row")).to_have_count(1 + played.simulation.last_step)
    expect(table.get_by_role("columnheader").first).to_have_text("step")
    expect(page.get_by_role("region", name="Table of Policy entropy")).to_be_focused()
    page.keyboard.press("Escape")
    expect(table).to_have_count(0)
    expect(page.get_by_role("button", name="Change parameters")).to_be_focused()

    # Compare: two rows of the list. A name is text, whatever stands in it.
    play(admin, worker, MARKUP)
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_focused()
    expect(page.locator("[row-id]").locator(".cell-name")).to_have_count(2)
    page.keyboard.press("j")
    expect(page.locator(".ag-cell-focus[col-id=name]")).to_have_text(MARKUP)
    page.keyboard.press("Space")
    page.keyboard.press("j")
    page.keyboard.press("Space")
    expect(page.locator("#runs-chosen")).to_have_text("2 selected")
    _command(page, "compare", "Compare")
    expect(page).to_have_url(re.compile("/compare\\?runs="))
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_focused()
    _command(page, "onerror", MARKUP)
    expect(page.get_by_role("heading", name=MARKUP)).to_be_focused()
    expect(page).to_have_title(f"{MARKUP} · BAPO")

    # Switched off, single keys do nothing; the palette still opens, and leads to the sheet.
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet.get_by_role("checkbox")).to_be_focused()
    expect(sheet.get_by_role("heading", name="On the page of a run")).to_be_visible()
    expect(sheet.get_by_role("heading", name="In the run list")).to_have_count(0)
    page.keyboard.press("Space")
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    page.keyboard.press("?")
    page.keyboard.press("c")
    _command(page, "shortcuts", "Keyboard shortcuts")
    expect(sheet.get_by_role("checkbox")).not_to_be_checked()
    expect(page.get_by_role("dialog")).to_have_count(1)


def test_the_palette_offers_what_the_person_may_do(
    stranger: Visitor, dashboard: str, backend_server: BackendServer, worker: FakeWorker, admin: Client
) -> None:
    played = play(admin, worker, "looked at")
    page = stranger.page

    def offered(token: str) -> set[str]:
        log_in_with(page.context, dashboard, backend_server, token)
        page.goto(f"/runs/{played.run.id}")
        expect(page.get_by_role("heading", name="looked at")).to_be_visible()
        # A phone has no field above: the button opens the palette, and all of the bar fits.
        with page.expect_response(re.compile("/api/v1/me$")):
            page.get_by_role("button", name="Commands").click()
        expect(page.get_by_role("option", name="looked at")).to_be_visible()
        # An administrator's come once the page knows that it is one.
        if token == backend_server.admin_token:
            expect(page.locator(".palette-label", has_text="Audit trail")).to_be_visible()
        return set(page.locator(".palette-label").all_inner_texts())

    page.set_viewport_size({"width": 390, "height": 844})
    viewer = offered(add_person(backend_server, "vera", "viewer"))
    assert viewer >= {"Batch", "Queue", "Account", "Log out"}
    assert not viewer & {"New run", "Stop", "Fork", "Clone", "Change parameters", "People", "Audit trail"}
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Commands")).to_be_focused()
    expect(page.get_by_role("button", name="Account")).to_be_in_viewport(ratio=1)
    page.keyboard.press("n")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    expect(page).to_have_url(re.compile(f"/runs/{played.run.id}$"))

    administrator = offered(backend_server.admin_token)
    # A run that trains can be stopped, but neither started nor deleted.
    assert administrator >= {"New run", "Stop", "Clone", "Change parameters", "People", "Audit trail"}
    assert not administrator & {"Start", "Resume", "Delete"}


def test_an_answer_to_less_than_is_typed_by_now_changes_nothing(page: Page, worker: FakeWorker, admin: Client) -> None:
    play(admin, worker, "not asked for")
    question = re.compile(r"/api/v1/runs\?limit=8$")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(question, hold)
    page.goto("/runs")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Commands")
    expect(palette.get_by_role("combobox")).to_be_focused()
    # The next question waits until nobody has typed for a moment, which does not end here.
    page.evaluate("""() => {
        const wait = window.setTimeout;
        window.setTimeout = (act, delay, ...given) => (delay === 150 ? 0 : wait(act, delay, ...given));
    }""")
    page.keyboard.type("shortcuts")
    # Read, and acted upon: what waits for an answer goes on before the next timer.
    page.evaluate("""() => {
        const whole = Response.prototype.json;
        Response.prototype.json = async function () {
            const content = await whole.call(this);
            if (this.url.endsWith("/api/v1/runs?limit=8")) setTimeout(() => { window.isRead = true; });
            return content;
        };
    }""")
    wait_until(lambda: page.evaluate("true") and bool(held), WAIT_MILLISECONDS / 1000)
    held[0].continue_()
    page.wait_for_function("() => window.isRead")
    expect(palette.get_by_role("option", selected=True).locator(".palette-label")).to_have_text("Keyboard shortcuts")
    expect(palette.get_by_role("option", name="not asked for")).to_have_count(0)


def test_enter_searches_for_what_is_in_the_field_however_busy_the_page_is(page: Page) -> None:
    page.goto("/queue")
    expect(page.get_by_role("heading", name="Queue")).to_be_visible()
    # In one task, as keys that were pressed while the page was drawn: no timer runs between them.
    page.locator("#search").evaluate(
        """field => {
            field.focus();
            document.execCommand("insertText", false, "second of two");
            field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
        }"""
    )
    expect(page).to_have_url(re.compile(r"/runs\?search=second%20of%20two$"))
