"""Ten thousand runs in a real Chromium: scrolled, filtered, sorted, chosen, changed and shared."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from backend.kit.database import Database
from bapo.api.runs import RunCreate, RunFilters, RunPage, RunStatus
from bapo.api.views import RunListLayouts
from bapo.client import Client
from tests.browser.conftest import VIEWPORT, WAIT_MILLISECONDS, Visitor, address_of, log_in, play, requests_of
from tests.support.fake_worker import FakeWorker
from tests.support.many_runs import invent_runs
from tests.support.services import BackendServer, wait_until

pytestmark = pytest.mark.browser


COUNT = 10_000


@pytest.fixture(scope="module")
def history(backend_server: BackendServer, postgres_url: str) -> Iterator[None]:
    """Ten thousand runs; one in twenty is archived."""
    database = Database(postgres_url)
    invent_runs(database, COUNT)
    yield
    database.close()


@pytest.fixture(autouse=True)
def usual_columns(admin: Client) -> Iterator[None]:
    """Every test begins with the columns and the order of somebody who never chose any, and leaves them so."""
    admin.set_run_list_layouts(RunListLayouts())
    yield
    admin.set_run_list_layouts(RunListLayouts())


@pytest.fixture
def listed(page: Page, history: None) -> Page:
    """The page with its first rows."""
    page.goto("/runs")
    expect(row(page, 0)).to_be_visible()
    return page


def row(page: Page, index: int) -> Locator:
    """A row by its place in the list."""
    return page.locator(f".ag-center-cols-container .ag-row[row-index='{index}']")


def shown(page: Page, total: int) -> None:
    """Wait until the list says that so many runs match."""
    expect(page.locator("#runs-shown")).to_have_text(f"{total:,} run{'' if total == 1 else 's'}")


def names(page: Page, count: int = 5) -> list[str]:
    """Names of the first rows."""
    for index in range(count):
        expect(row(page, index).locator(".cell-name")).to_be_visible()
    return [row(page, index).locator(".cell-name").inner_text() for index in range(count)]


def wait_for_names(page: Page, expected: RunPage) -> None:
    """Wait for the first rows: they come after the number of runs."""
    wait_until(lambda: names(page) == [run.name for run in expected.items], WAIT_MILLISECONDS / 1000)


def choose(page: Page, *indices: int) -> None:
    """Tick the boxes of rows."""
    for index in indices:
        row(page, index).locator("input[type=checkbox]").check()


def test_only_a_few_of_ten_thousand_rows_are_fetched(page: Page, history: None, admin: Client) -> None:
    with requests_of(page, "/live/runs?") as asked:
        # From another page, whose scripts leave the table out.
        page.goto("/account")
        page.get_by_role("link", name="Runs", exact=True).click()
        total = admin.runs(limit=1).total
        shown(page, total)
        assert names(page) == [run.name for run in admin.runs(limit=5).items]
    fetched = sum(int(match[1]) for url in asked if (match := re.search(r"limit=(\d+)", url)))
    assert fetched <= 300
    assert page.locator(".ag-center-cols-container .ag-row").count() < 100
    # The last row, after one jump.
    page.evaluate("(last) => dash_ag_grid.getApi('runs-grid').ensureIndexVisible(last, 'bottom')", total - 1)
    last = admin.runs(limit=1, offset=total - 1).items[0]
    expect(row(page, total - 1)).to_contain_text(last.name)


def test_filters_search_and_order_are_the_servers_and_stand_in_the_address(listed: Page, admin: Client) -> None:
    page = listed
    page.locator("#runs-status").get_by_text("Failed").click()
    total = admin.runs(status=["failed", "lost"], limit=1).total
    shown(page, total)
    page.locator("#runs-search").fill("paper seed 99")
    expected = admin.runs(status=["failed", "lost"], search="paper seed 99", limit=5)
    shown(page, expected.total)
    assert 0 < expected.total < total
    page.get_by_role("columnheader", name="Progress").click()
    expected = admin.runs(status=["failed", "lost"], search="paper seed 99", sort="-progress", limit=5)
    wait_for_names(page, expected)
    expect(page).to_have_url(re.compile(r"\?(?=.*status=failed)(?=.*search=paper\+seed\+99)(?=.*sort=-progress)"))
    page.reload()
    shown(page, expected.total)
    wait_for_names(page, expected)
    expect(page.locator("#runs-search")).to_have_value("paper seed 99")


def test_the_panel_of_filters_says_what_it_holds(listed: Page, admin: Client) -> None:
    page = listed
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Tags").first.fill("paper")
    page.get_by_role("option", name=re.compile("^paper")).click()
    page.get_by_label("min best, at least").fill("60")
    total = admin.runs(tag="paper", min_best=0.6, limit=1).total
    shown(page, total)
    expect(page.locator("#runs-filter-count")).to_have_text("2")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove the filter tag: paper").click()
    shown(page, admin.runs(min_best=0.6, limit=1).total)
    expect(page).to_have_url(re.compile(r"\?min_best=0\.6$"))


def test_a_search_without_a_match_says_what_to_do(listed: Page, admin: Client) -> None:
    page = listed
    page.locator("#runs-search").fill("no such run anywhere")
    expect(page.get_by_text("No run matches")).to_be_visible()
    page.locator("#runs-clear-none").click()
    shown(page, admin.runs(limit=1).total)
    expect(row(page, 0)).to_be_visible()


def test_columns_are_chosen_and_remembered(listed: Page) -> None:
    page = listed
    header = page.get_by_role("columnheader", name="Compute")
    expect(header).to_have_count(0)
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Compute", exact=True).check()
    page.get_by_label("Reward", exact=True).uncheck()
    expect(header).to_be_visible()
    page.keyboard.press("Escape")
    # Whoever leaves at once has chosen all the same.
    page.get_by_role("columnheader", name="Best").click()
    expect(page.get_by_role("columnheader", name="Best")).to_have_attribute("aria-sort", "descending")
    page.goto("/runs")
    expect(header).to_be_visible()
    expect(page.get_by_role("columnheader", name="Reward")).to_have_count(0)
    expect(page.get_by_role("columnheader", name="Best")).to_have_attribute("aria-sort", "descending")
    expect(row(page, 0)).to_contain_text("-h")
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("button", name="Reset").click()
    expect(header).to_have_count(0)
    expect(page.get_by_role("columnheader", name="Reward")).to_be_visible()


def test_any_config_field_is_a_column_to_sort_and_filter_by(listed: Page, visitor: Visitor, admin: Client) -> None:
    page = listed
    visitor.expected = ("status of 422",)
    wide = admin.create_run(
        RunCreate(name="sixteen", recipe="countdown-demo", changes={"rollout.group_size": 16}, start=False)
    )
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Search columns").fill("rollout.group_size")
    page.get_by_label("rollout.group_size", exact=True).check()
    page.get_by_role("button", name="Move rollout.group_size to the left").press("Enter")
    page.keyboard.press("Escape")
    header = page.get_by_role("columnheader", name="rollout.group_size")
    header.click()
    expect(row(page, 0)).to_contain_text("sixteen")
    expect(row(page, 0).locator("[col-id='config.rollout.group_size']")).to_have_text("16")
    expect(page).to_have_url(re.compile(r"sort=-config\.rollout\.group_size"))
    # A condition on it, and on another column.
    page.get_by_role("button", name="Filters").click()
    page.get_by_label("Column of the condition").first.fill("rollout.group_size")
    page.get_by_role("option", name=re.compile("config.rollout.group_size")).click()
    page.get_by_label("Value of the condition").first.fill("16")
    page.get_by_role("button", name="Add condition").click()
    shown(page, admin.runs(where="config.rollout.group_size = 16", limit=1).total)
    page.keyboard.press("Escape")
    # Elsewhere, the same person finds column and condition again.
    page.goto(address_of(page))
    expect(header).to_be_visible()
    expect(page.locator(".runs-chip")).to_have_text("config.rollout.group_size = 16")
    page.goto("/runs?where=config.rollout.group_size+>=+many")
    expect(page.locator("#runs-problem")).to_contain_text("'many' is no number")
    admin.delete_run(wide.id, permanently=True)


def test_runs_are_grouped_with_means_and_open_in_place(page: Page, history: None, admin: Client) -> None:
    page.goto("/runs?search=paper+seed+9")
    expect(row(page, 0)).to_be_visible()
    page.get_by_label("Group by").first.click()
    page.get_by_role("option", name="Method").click()
    found = admin.run_groups("method", ["eval_best"], RunFilters(search="paper seed 9"))
    expect(page.locator("#runs-shown")).to_have_text(f"{found.total} groups")
    expect(page).to_have_url(re.compile("by=method"))
    first = page.locator("#runs-groups tbody").first
    largest = found.items[0]
    expect(first).to_contain_text(f"{largest.num_runs:,}")
    expect(first).to_contain_text(f"{100 * (largest.aggregates['eval_best'].mean or 0):.1f}")
    toggle = first.get_by_role("button", name=largest.label)
    toggle.press("Enter")
    expect(toggle).to_have_attribute("aria-expanded", "true")
    expect(first.locator(".runs-group-run a").first).to_have_attribute("href", re.compile("/runs/h"))
    first.get_by_role("button", name="Show in list").click()
    shown(page, largest.num_runs)
    expect(page.locator(".runs-chip")).to_have_text(f'method = ["{largest.value}"]')


def test_a_view_is_saved_and_opens_by_its_link(
    listed: Page, chromium: Browser, dashboard: str, backend_server: BackendServer, admin: Client
) -> None:
    page = listed
    page.locator("#runs-status").get_by_text("Failed").click()
    page.get_by_role("columnheader", name="Name").click()
    shown(page, admin.runs(status="failed", limit=1).total)
    page.get_by_role("button", name="Views").click()
    page.get_by_label("Save current view as").fill("failed by name")
    page.get_by_role("button", name="Save view").click()
    expect(page).to_have_url(re.compile(r"/runs\?view=\w+$"))
    view = next(view for view in admin.views().items if view.name == "failed by name")
    assert (view.sort, list(view.filters.status)) == ("-name", [RunStatus.FAILED, RunStatus.LOST])
    address = address_of(page)
    # Another browser, which remembers nothing.
    context = chromium.new_context(base_url=dashboard, viewport=VIEWPORT)
    context.set_default_timeout(WAIT_MILLISECONDS)
    log_in(context, dashboard, backend_server)
    visitor = Visitor.watching(context.new_page())

    # The table is there, and asks for rows, before the view is.
    def hold(route: Route) -> None:
        expect(row(visitor.page, 0)).to_be_attached()
        route.continue_()

    visitor.page.route("**/api/v1/views/*", hold)
    visitor.page.goto(address)
    expected = admin.runs(status=["failed", "lost"], sort="-name", limit=5)
    shown(visitor.page, expected.total)
    wait_for_names(visitor.page, expected)
    expect(visitor.page.locator("#runs-view-name")).to_contain_text("failed by name")
    visitor.check()
    context.close()
    # What somebody changes is no longer the view.
    page.locator("#runs-status").get_by_text("All").click()
    expect(page).to_have_url(re.compile(r"/runs\?sort=-name$"))
    page.get_by_role("button", name="Views").click()
    page.get_by_role("link", name=re.compile("failed by name")).click()
    shown(page, expected.total)
    # While the menu loads there is nothing to press that would be drawn anew under the pointer.
    delete = page.get_by_role("button", name="Delete the view failed by name")
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    page.route("**/_dash-update-component*", keep)
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_label("Save current view as")).to_be_visible()
    expect(delete).to_have_count(0)
    wait_until(lambda: page.evaluate("true") and bool(held))
    expect(delete).to_have_count(0)
    for route in held:
        route.continue_()
    page.unroute("**/_dash-update-component*")
    delete.click()
    expect(page.get_by_text("No saved views yet.")).to_be_visible()


def test_chosen_runs_are_tagged_starred_archived_and_deleted(listed: Page, admin: Client) -> None:
    page = listed
    page.locator("#runs-search").fill("wide seed 88")
    found = [run.id for run in admin.runs(search="wide seed 88", limit=500).items]
    shown(page, len(found))
    expect(page.locator("#runs-bulk")).to_be_hidden()
    choose(page, 0)
    row(page, 2).locator("input[type=checkbox]").click(modifiers=["Shift"])
    expect(page.locator("#runs-chosen")).to_have_text("3 selected")

    page.get_by_role("button", name="Tags", exact=True).click()
    page.locator("#runs-tag").fill("reviewed")
    page.get_by_role("button", name="Add to all").click()
    expect(page.get_by_text("Tag added to 3 runs")).to_be_visible()
    assert admin.runs(tag="reviewed", limit=1).total == 3
    page.keyboard.press("Escape")

    bar = page.locator("#runs-bulk")
    bar.get_by_role("button", name="Star", exact=True).click()
    wait_until(lambda: admin.runs(starred=True, limit=1).total == 3)
    expect(page.locator(".cell-star.starred")).to_have_count(3)
    expect(bar.get_by_role("button", name="Unstar")).to_be_visible()
    expect(page.locator("#runs-chosen")).to_have_text("3 selected")

    (first,) = names(page, 1)
    bar.get_by_role("button", name="Archive", exact=True).click()
    shown(page, len(found) - 3)
    assert admin.runs(archived="only", tag="reviewed", limit=1).total == 3
    # What left the list is not chosen any longer: nothing that is out of sight would be deleted.
    expect(bar).to_be_hidden()
    # The rows come after their number; the box of one that is leaving keeps no tick.
    expect(row(page, 0).locator(".cell-name")).not_to_have_text(first)

    choose(page, 0)
    doomed = names(page, 1)[0]
    # What is deleted can be taken back at once.
    bar.get_by_role("button", name="Delete").click()
    shown(page, len(found) - 4)
    expect(bar).to_be_hidden()
    undo = page.locator("#runs-undo")
    expect(undo).to_contain_text("1 run moved to the trash")
    undo.get_by_role("button", name="Undo").click()
    shown(page, len(found) - 3)
    expect(undo).to_be_hidden()
    assert admin.runs(search=doomed, limit=1).total == 1
    # The rows come after their number.
    expect(row(page, 0)).to_contain_text(doomed)
    choose(page, 0)
    bar.get_by_role("button", name="Delete").click()
    # From the trash it goes for good, after a word on what goes with it.
    undo.get_by_role("link", name="Open the trash").click()
    expect(page.locator("#runs-trash-note")).to_contain_text("14 days")
    expect(row(page, 0)).to_contain_text(doomed)
    choose(page, 0)
    expect(bar.get_by_role("button", name="Restore")).to_be_visible()
    bar.get_by_role("button", name="Delete now").click()
    # The table's tooltips are dialogs too.
    dialog = page.locator("[role=dialog][aria-modal=true]")
    expect(dialog).to_contain_text(doomed)
    expect(dialog).to_contain_text("folder")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    assert admin.runs(trash="only", limit=1).total == 1
    bar.get_by_role("button", name="Delete now").click()
    dialog.get_by_role("button", name="Delete this run").click()
    wait_until(lambda: admin.runs(trash="only", limit=1).total == 0)
    expect(page.get_by_text("The trash is empty")).to_be_visible()


def test_all_that_match_are_changed_after_their_number_is_agreed_to(listed: Page, admin: Client) -> None:
    page = listed
    page.locator("#runs-search").fill("narrow seed 77")
    total = admin.runs(search="narrow seed 77", limit=1).total
    shown(page, total)
    choose(page, 0)
    page.get_by_role("button", name=f"Select all {total} that match").click()
    expect(page.locator("#runs-chosen")).to_have_text(f"All {total} that match selected")
    page.locator("#runs-bulk").get_by_role("button", name="Archive", exact=True).click()
    dialog = page.locator("[role=dialog][aria-modal=true]")
    expect(dialog).to_contain_text(f"Archive {total} runs?")
    dialog.get_by_role("button", name=f"Archive {total} runs").click()
    expect(page.get_by_text("No run matches")).to_be_visible()
    assert admin.runs(search="narrow seed 77", archived="only", limit=1).total >= total


def test_what_is_refused_is_named_with_its_reason(visitor: Visitor, history: None, admin: Client) -> None:
    page = visitor.page
    visitor.expected = ("ERR_FAILED",)
    run = admin.create_run(RunCreate(name="refusing one", recipe="countdown-demo", start=False))
    page.goto("/runs?search=refusing")
    choose(page, 0)
    # It starts elsewhere while the list still shows a draft.
    page.route("**/live/runs?*", lambda route: route.abort())
    admin.start(run.id)
    page.locator("#runs-bulk").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("1 run refused")).to_be_visible()
    expect(page.get_by_text(re.compile("“refusing one”: a queued run does not allow"))).to_be_visible()
    page.unroute("**/live/runs?*")


def test_the_list_lives_and_keeps_what_is_chosen(page: Page, history: None, admin: Client, worker: FakeWorker) -> None:
    played = play(admin, worker, "living one")
    played.advance(2)
    page.set_viewport_size({"width": 1560, "height": 900})
    page.goto("/runs")
    place = page.locator(".ag-row", has_text="living one")
    expect(place).to_contain_text("2 / 150")
    corners = place.get_by_role("img", name=re.compile("^Reward from .* to .*")).locator("polyline")
    expect(corners).to_have_attribute("points", re.compile(r"^\S+ \S+$"))
    choose(page, 1)
    page.evaluate("window.loadedOnce = true")
    played.advance(3)
    expect(place).to_contain_text("5 / 150")
    expect(corners).to_have_attribute("points", re.compile(r"^(\S+ ){4}\S+$"))
    expect(page.locator("#runs-chosen")).to_have_text("1 selected")
    # A new run comes before the others; the chosen one stays chosen, a row further down.
    chosen = row(page, 1).locator(".cell-name").inner_text()
    admin.create_run(RunCreate(name="newest one", recipe="countdown-demo", start=False))
    expect(row(page, 0)).to_contain_text("newest one")
    expect(page.locator(".ag-row.ag-row-selected .cell-name")).to_have_text(chosen)
    assert page.evaluate("window.loadedOnce")
    place.locator("[col-id=method]").first.click()
    expect(page).to_have_url(re.compile(f"/runs/{played.run.id}$"))


def test_the_keyboard_suffices(listed: Page, admin: Client) -> None:
    page = listed
    row(page, 0).locator("[col-id=status]").focus()
    page.keyboard.press("ArrowDown")
    name = row(page, 1).locator(".cell-name").inner_text()
    run = next(run for run in admin.runs(limit=5).items if run.name == name)
    page.keyboard.press("s")
    wait_until(lambda: admin.run(run.id).is_starred)
    expect(row(page, 1).locator(".cell-star")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Space")
    expect(page.locator("#runs-chosen")).to_have_text("1 selected")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/runs/{run.id}$"))


def test_csv_holds_every_match(listed: Page, admin: Client) -> None:
    page = listed
    page.locator("#runs-search").fill("narrow seed 9")
    total = admin.runs(search="narrow seed 9", limit=1).total
    shown(page, total)
    with page.expect_download() as download:
        page.locator("#runs-csv").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) == total + 1 > 101
    assert lines[0].startswith("id,name,status,")


def test_two_chosen_runs_lead_to_their_comparison(listed: Page, admin: Client) -> None:
    choose(listed, 0, 1)
    listed.get_by_role("button", name="Compare", exact=True).click()
    first, second = (run.id for run in admin.runs(limit=2).items)
    expect(listed).to_have_url(re.compile(f"/compare\\?runs={first},{second}$"))


def test_name_tags_and_notes_are_edited_on_the_runs_page(page: Page, history: None, admin: Client) -> None:
    run = admin.create_run(RunCreate(name="to be named", recipe="countdown-demo", start=False))
    page.goto(f"/runs/{run.id}")
    page.get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_have_value("to be named")
    dialog.get_by_label("Name").fill("")
    dialog.get_by_label("Notes in Markdown").fill(
        "A **wider** c1, [paper](https://arxiv.org/abs/2602.20722), [trap](javascript:window.hacked=1)\n\n"
        "<img src=x onerror='window.hacked = 1'>"
    )
    dialog.get_by_role("tab", name="Preview").click()
    expect(dialog.locator(".markdown strong")).to_have_text("wider")
    # What is wrong is said, and what was typed stays.
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("is empty: fill it in")
    dialog.get_by_label("Name").fill("named")
    dialog.locator("#edit-tags").fill("paper")
    dialog.locator("#edit-tags").press("Enter")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", name="named")).to_be_visible()
    notes = page.locator(".run-notes")
    expect(notes.get_by_role("link")).to_have_count(1)
    expect(notes.get_by_role("link", name="paper")).to_have_attribute("href", "https://arxiv.org/abs/2602.20722")
    expect(notes).to_contain_text("<img src=x onerror")
    assert page.evaluate("window.hacked === undefined")
    changed = admin.run(run.id)
    assert (changed.name, list(changed.tags)) == ("named", ["paper"])
    page.locator("#run-star").click()
    wait_until(lambda: admin.run(run.id).is_starred)
    page.get_by_role("button", name="Archive").click()
    expect(page.get_by_text("Archived: hidden from lists")).to_be_visible()
    page.get_by_role("button", name="Unarchive").click()
    expect(page.get_by_text("Archived: hidden from lists")).to_be_hidden()
    page.locator(".run-tag").click()
    expect(page).to_have_url(re.compile(r"/runs\?tag=paper$"))
    shown(page, admin.runs(tag="paper", limit=1).total)
