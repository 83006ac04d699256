"""A board from beginning to end: made, filled, ordered, shared without a login, revoked, exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from bapo.api.boards import BoardChange, BoardCreate, BoardLinkCreate, ChartPanel, TextPanel
from bapo.api.runs import RunFilters, RunUpdate
from bapo.client import Client
from tests.browser.conftest import WAIT_MILLISECONDS, Visitor, assert_fits, id_of, log_in_with
from tests.support.recorded import RUNS, import_folder
from tests.support.services import BackendServer, add_person, wait_until

pytestmark = pytest.mark.browser

REWARD = "critic/rewards/mean"
TRACES = """(title) => {
    const card = document.querySelector(`.board-card[aria-label="${title}"] .js-plotly-plot`);
    const lines = (card?._fullData || []).filter((trace) => trace.hoverinfo !== "skip");
    return lines.map((trace) => [trace.name, trace.x.length]);
}"""


@pytest.fixture(scope="module")
def runs(admin: Client, recorded_folders: Mapping[str, Path]) -> dict[str, str]:
    """Identifiers of the recorded runs by name."""
    return {name: import_folder(admin, recorded_folders[name], group="recorded") for name in RUNS}


@pytest.fixture
def nobody(chromium: Browser, dashboard: str) -> Iterator[Page]:
    """A window without a login."""
    context = chromium.new_context(base_url=dashboard)
    context.set_default_timeout(WAIT_MILLISECONDS)
    yield context.new_page()
    context.close()


def drawn(page: Page, title: str) -> dict[str, int]:
    found: list[tuple[str, int]] = page.evaluate(TRACES, title)
    return dict(found)


def titles(page: Page) -> list[str]:
    return page.locator("#board-grid > .board-card").evaluate_all(
        "(cards) => cards.map((card) => card.getAttribute('aria-label') || 'Text')"
    )


def drawer(page: Page) -> None:
    expect(page.locator("#board-panel-submit")).to_be_visible()


def save_panel(page: Page) -> None:
    page.locator("#board-panel-submit").click()
    expect(page.locator("#board-panel-submit")).to_be_hidden()


def add_chart(page: Page, metric: str, over: str, condition: str) -> None:
    page.locator(".page-actions").get_by_role("button", name="Chart").click()
    drawer(page)
    page.locator("#board-panel-y").fill(metric)
    page.locator("#board-panel-x").fill(over)
    page.locator("#board-panel-where").fill(condition)
    page.locator("#board-panel-where").press("Enter")
    save_panel(page)


def test_a_board_is_made_shared_revoked_and_exported(
    page: Page,
    visitor: Visitor,
    nobody: Page,
    admin: Client,
    runs: dict[str, str],
    tmp_path: Path,
) -> None:
    page.goto("/boards")
    expect(page.get_by_text("No board yet")).to_be_visible()
    page.get_by_role("button", name="New board").click()
    page.locator("#board-new-name").fill("Does BAPO help?")
    page.locator("#board-new-submit").click()
    page.wait_for_url("**/boards/*")
    expect(page.locator("#board-state")).to_contain_text("The board is empty")
    board_id = id_of(page)

    # Two charts and a text.
    add_chart(page, REWARD, "rollouts", "group = recorded")
    wait_until(
        lambda: (
            {name for name, num_points in drawn(page, "Training reward").items() if num_points > 1} == {"BAPO", "GRPO"}
        )
    )
    add_chart(page, "actor/entropy", f"metric.{REWARD}", "name = bapo-seed-1")
    wait_until(lambda: drawn(page, "Policy entropy over Training reward") == {"BAPO": 24})
    page.locator(".page-actions").get_by_role("button", name="Text").click()
    drawer(page)
    # What is wrong with a number is said by name, and nothing of the text is lost.
    page.locator("#board-panel-text").fill("## Now\n{{lst metric.critic/rewards/mean}}")
    page.locator("#board-panel-submit").click()
    expect(page.get_by_text("'lst' is no figure: use last, max, min, mean, count")).to_be_visible()
    page.locator("#board-panel-text").fill(
        "## Now\n{{count of group = recorded}} runs, {{max metric.critic/rewards/mean of name = bapo-seed-1}}"
    )
    save_panel(page)
    text = page.locator(".board-text-card")
    expect(text).to_contain_text("4 runs")
    best = max(value for value in admin.metrics(runs["bapo-seed-1"], [REWARD]).columns[REWARD] if value is not None)
    expect(text).to_contain_text(f"{best:.4g} (n = 1)")

    # The text comes first, by the keyboard: the focus stays at its button.
    earlier = page.get_by_role("button", name="Move Now earlier")
    for place in (1, 0):
        earlier.focus()
        earlier.press("Enter")
        wait_until(lambda place=place: titles(page).index("Text") == place)  # type: ignore[misc]
    assert [panel.kind for panel in admin.board(board_id).panels] == ["text", "chart", "chart"]
    wait_until(lambda: page.evaluate("document.activeElement.getAttribute('aria-label')") == "Move Now earlier")

    # The chart's menu has its table.
    page.get_by_role("button", name="Menu of Training reward").click()
    page.get_by_role("menuitem", name="Show as table").click()
    expect(page.locator("dialog table")).to_contain_text("BAPO")
    page.keyboard.press("Escape")

    # A chart that runs, and the board as somebody else changes it: without a reload.
    board = admin.board(board_id)
    changed = [
        panel.model_copy(update={"title": "Renamed"}) if panel.id == board.panels[1].id else panel
        for panel in board.panels
    ]
    admin.replace_board(
        board_id, BoardChange(name="Changed name", filters=board.filters, panels=changed, version=board.version)
    )
    page.evaluate("window.bapoBoards.refresh()")
    expect(page.locator("#board-head h1")).to_have_text("Changed name")
    wait_until(lambda: "Renamed" in titles(page))

    # Shared, and opened by somebody without a login.
    page.get_by_role("button", name="Share").click()
    page.locator("#board-link-submit").click()
    link = page.locator(".secret-text").inner_text()
    assert "/shared?key=" in link
    page.keyboard.press("Escape")
    address = link[link.index("/shared") :]
    nobody.goto(address)
    expect(nobody.get_by_role("heading", name="Changed name")).to_be_visible()
    expect(nobody.locator(".markdown")).to_contain_text("4 runs, ")
    expect(nobody.locator(".js-plotly-plot").first).to_be_visible()
    assert nobody.context.cookies() == []
    nobody.goto(f"/boards/{board_id}")
    assert "/login" in nobody.url

    # Revoked: who opens it is told.
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_role("button", name="Revoke the link").click()
    expect(page.locator("#board-links")).to_contain_text("revoked")
    page.keyboard.press("Escape")
    nobody.goto(address)
    expect(nobody.get_by_role("alert")).to_contain_text("This link was revoked")

    # Exported, the file opens from a disk and draws itself.
    with page.expect_download() as download:
        page.locator("#board-export").click()
    file = tmp_path / "board.html"
    download.value.save_as(file)
    nobody.goto(file.as_uri())
    expect(nobody.get_by_role("heading", name="Changed name")).to_be_visible()
    expect(nobody.locator(".js-plotly-plot")).to_have_count(2)
    visitor.expected = ("410",)

    assert_fits(page, 390)


def test_panels_are_dragged_by_mouse_and_stay_where_they_are_dropped(page: Page, admin: Client) -> None:
    panels = [TextPanel(id=name, text=f"# {name}") for name in ("first", "second", "third")]
    board = admin.create_board(BoardCreate(name="dragged", filters=RunFilters(), panels=panels))
    page.goto(f"/boards/{board.id}")
    expect(page.locator(".board-card")).to_have_count(3)

    def order() -> list[str]:
        return [panel.id for panel in admin.board(board.id).panels]

    def drag(name: str, onto: str) -> None:
        """By the head, as somebody does who sees where it lands."""
        page.locator(f"[data-panel={name}] .chart-head").hover(position={"x": 12, "y": 14})
        page.mouse.down()
        # The first move over the other panel enters it, the second is over it.
        for left in (80, 90):
            page.locator(f"[data-panel={onto}]").hover(position={"x": left, "y": 40})
        expect(page.locator(f"[data-panel={onto}].over")).to_be_visible()
        page.mouse.up()

    shown = "() => [...document.querySelectorAll('.board-card')].map((card) => card.dataset.panel).join()"
    drag("third", "first")
    wait_until(lambda: page.evaluate(shown) == "third,first,second")
    assert order() == ["third", "first", "second"]
    drag("third", "second")
    wait_until(lambda: page.evaluate(shown) == "first,second,third")
    # What is let go elsewhere stays where it was.
    page.locator("[data-panel=first] .chart-head").hover(position={"x": 12, "y": 14})
    page.mouse.down()
    page.mouse.move(0, 0, steps=4)
    page.mouse.up()
    expect(page.locator(".board-card.over")).to_have_count(0)
    # A panel that moves by the keyboard afterwards moves once.
    page.get_by_role("button", name="Move third earlier").press("Enter")
    wait_until(lambda: page.evaluate(shown) == "first,third,second")
    assert order() == ["first", "third", "second"]
    admin.delete_board(board.id)


def test_the_second_editor_of_a_board_is_warned_and_loses_nothing(
    page: Page, chromium: Browser, dashboard: str, backend_server: BackendServer, admin: Client
) -> None:
    panels = [TextPanel(id=name, text=f"# {name}") for name in ("shared", "taken")]
    board = admin.create_board(BoardCreate(name="two editors", filters=RunFilters(), panels=panels))
    context = chromium.new_context(base_url=dashboard)
    context.set_default_timeout(WAIT_MILLISECONDS)
    log_in_with(context, dashboard, backend_server, add_person(backend_server, "second-editor", "member"))
    other = context.new_page()

    def texts() -> list[str]:
        return [panel.text for panel in admin.board(board.id).panels if isinstance(panel, TextPanel)]

    def edit(window: Page, panel: str) -> None:
        window.get_by_role("button", name=f"Edit {panel}").click()
        drawer(window)
        expect(window.locator("#board-panel-text")).to_have_value(f"# {panel}")

    def name_dialog(window: Page) -> None:
        window.get_by_role("button", name="Name and runs").click()
        expect(window.locator("#board-edit-name")).to_have_value("two editors")

    try:
        for window in (page, other):
            window.goto(f"/boards/{board.id}")
            edit(window, "shared")
        page.locator("#board-panel-text").fill("# mine")
        save_panel(page)
        # The second is told who was first, and what was typed is kept; who insists, saves.
        other.locator("#board-panel-text").fill("# theirs")
        other.locator("#board-panel-submit").click()
        warning = other.locator("#board-panel-problem")
        expect(warning).to_contain_text("admin has changed this panel meanwhile (version 2 of the board)")
        expect(other.locator("#board-panel-text")).to_have_value("# theirs")
        assert texts() == ["# mine", "# taken"]
        other.locator("#board-panel-submit").click()
        expect(other.locator("#board-panel-submit")).to_be_hidden()
        assert texts() == ["# theirs", "# taken"]
        # Changes to different panels are both kept, without a word.
        edit(other, "taken")
        page.goto(f"/boards/{board.id}")
        page.get_by_role("button", name="Move theirs later").click()
        wait_until(lambda: texts() == ["# taken", "# theirs"])
        other.locator("#board-panel-text").fill("# kept")
        save_panel(other)
        assert texts() == ["# kept", "# theirs"]
        # A panel that is removed while somebody writes in it comes back.
        other.goto(f"/boards/{board.id}")
        other.get_by_role("button", name="Edit kept").click()
        drawer(other)
        expect(other.locator("#board-panel-text")).to_have_value("# kept")
        page.goto(f"/boards/{board.id}")
        page.get_by_role("button", name="Remove kept").click()
        page.get_by_role("button", name="Remove the panel").click()
        wait_until(lambda: texts() == ["# theirs"])
        other.locator("#board-panel-text").fill("# long work")
        save_panel(other)
        expect(
            other.get_by_text("This panel was removed meanwhile: it has been added again at the end.")
        ).to_be_visible()
        assert texts() == ["# theirs", "# long work"]
        # So with the name of the board and its runs.
        for window in (page, other):
            name_dialog(window)
        page.locator("#board-edit-name").fill("first name")
        page.locator("#board-edit-submit").click()
        expect(page.locator("#board-edit-submit")).to_be_hidden()
        other.locator("#board-edit-name").fill("second name")
        other.locator("#board-edit-submit").click()
        expect(other.locator("#board-edit-problem")).to_contain_text("“first name” by now")
        expect(other.locator("#board-edit-name")).to_have_value("second name")
        assert admin.board(board.id).name == "first name"
        other.locator("#board-edit-submit").click()
        expect(other.locator("#board-edit-submit")).to_be_hidden()
        assert admin.board(board.id).name == "second name"
    finally:
        context.close()
    admin.delete_board(board.id)


def test_an_open_page_behind_a_link_follows_its_runs_until_the_link_is_revoked(
    nobody: Page, admin: Client, runs: dict[str, str]
) -> None:
    def follow(name: str, *tags: str) -> None:
        admin.update_run(runs[name], RunUpdate(tags=tags))

    follow("bapo-seed-1", "followed")
    panels = [
        ChartPanel(id="reward", y=REWARD, group="run"),
        TextPanel(id="number", text="{{count of tags = followed}} runs"),
    ]
    filters = RunFilters(where=["tags = followed"])
    board = admin.create_board(BoardCreate(name="followed", filters=filters, panels=panels))
    link = admin.share_board(board.id, BoardLinkCreate())
    asked: list[int] = []
    nobody.on("response", lambda answer: asked.append(answer.status) if "/shared?" in answer.url else None)
    nobody.clock.install()
    nobody.goto(link.address[link.address.index("/shared") :])
    expect(nobody.locator(".markdown")).to_have_text("1 runs")
    expect(nobody.locator(".js-plotly-plot")).to_be_visible()
    nobody.locator("[data-paper=reward]").evaluate("(place) => { place.dataset.same = 'yes'; }")

    def later(condition: Callable[[], bool]) -> None:
        # The next question is timed once the last one is answered.
        def is_so() -> bool:
            nobody.clock.run_for(15_000)
            return condition()

        wait_until(is_so)

    later(lambda: 304 in asked)
    follow("bapo-seed-2", "followed")
    later(lambda: nobody.locator(".markdown").inner_text().strip() == "2 runs")
    # The chart was drawn anew where it stood.
    lines = "() => document.querySelector('[data-paper=reward][data-same] .js-plotly-plot').data.length"
    wait_until(lambda: nobody.evaluate(lines) == 2)

    # Nobody looks: nothing is asked for. Who comes back sees what is new at once.
    hide = "(is) => { Object.defineProperty(document, 'hidden', { value: is, configurable: true });"
    hide += " document.dispatchEvent(new Event('visibilitychange')); }"
    nobody.evaluate(hide, True)
    count = len(asked)
    nobody.clock.run_for(600_000)
    assert len(asked) == count
    follow("bapo-seed-2")
    nobody.evaluate(hide, False)
    expect(nobody.locator(".markdown")).to_have_text("1 runs")

    admin.revoke_board_link(board.id, link.id)
    later(lambda: nobody.get_by_role("alert").count() == 1)
    expect(nobody.get_by_role("alert")).to_contain_text("This link was revoked")
    expect(nobody.locator(".markdown")).to_have_text("1 runs")
    count = len(asked)
    nobody.clock.run_for(600_000)
    assert len(asked) == count
    admin.delete_board(board.id)
    follow("bapo-seed-1")


def test_a_viewer_is_offered_nothing_that_changes_a_board(
    stranger: Visitor, dashboard: str, backend_server: BackendServer, admin: Client, runs: dict[str, str]
) -> None:
    (board,) = [each for each in admin.boards().items if each.name == "Changed name"]
    page = stranger.page
    log_in_with(page.context, dashboard, backend_server, add_person(backend_server, "board-viewer", "viewer"))
    page.goto(f"/boards/{board.id}")
    wait_until(lambda: drawn(page, "Renamed") != {})
    expect(page.locator(".board-tool")).to_have_count(0)
    expect(page.locator(".page-actions").get_by_role("button")).to_have_text(["Export as one HTML file"])
    page.goto("/boards")
    expect(page.get_by_role("link", name="Changed name")).to_be_visible()
    expect(page.get_by_role("button", name="New board")).to_have_count(0)
