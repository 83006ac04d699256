"""The paper view over really recorded runs, and its report opened from the disk without a network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from bapo.client import Client
from bapo.figures.theme import DARK, LIGHT
from bapo.records import TrackingRecord
from tests.browser.conftest import VIEWPORT, WAIT_MILLISECONDS, Visitor, assert_fits
from tests.support.recorded import import_folder
from tests.support.services import wait_until

pytestmark = pytest.mark.browser

TRACES = """(name) => {
    const place = document.querySelector(`[data-paper="${name}"]`);
    return place ? [...place.children].flatMap((graph) => (graph.data || []).map((trace) => ({
        name: trace.name, x: Array.from(trace.x || []), y: Array.from(trace.y || []),
        colour: (trace.line || {}).color || (trace.marker || {}).color, axis: trace.xaxis || "x",
        legend: trace.showlegend }))) : [];
}"""


@pytest.fixture(scope="module")
def run_ids(admin: Client, recorded_folders: Mapping[str, Path]) -> dict[str, str]:
    """The recorded runs, imported: identifier by name."""
    return {name: import_folder(admin, folder) for name, folder in recorded_folders.items()}


@pytest.fixture(scope="module")
def address(run_ids: dict[str, str]) -> str:
    """The paper view of all of them."""
    return f"/paper?runs={','.join(run_ids.values())}"


def _open(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(".paper-section")


def _traces(page: Page, name: str) -> list[dict[str, Any]]:
    """What a figure shows, once it has been drawn."""
    place = page.locator(f'[data-paper="{name}"]')
    place.scroll_into_view_if_needed()
    page.wait_for_selector(f'[data-paper="{name}"].drawn')
    found: list[dict[str, Any]] = page.evaluate(TRACES, name)
    return found


def test_runs_are_laid_out_as_the_papers_figures(
    page: Page, admin: Client, address: str, run_ids: dict[str, str]
) -> None:
    _open(page, address)
    expect(page.locator(".paper-section")).to_have_count(17)
    numbers = page.locator(".paper-number").all_inner_texts()
    assert numbers[:3] == ["Figure 1", "Figure 4", "Table 1"]

    # Figure 11 shows what the API has: the mean over both seeds of the moving mean of ten steps.
    entropy = {
        name: admin.metrics(run_id, ["actor/entropy"], from_step=1).columns["actor/entropy"]
        for name, run_id in run_ids.items()
    }
    known = [[value for value in entropy[f"bapo-seed-{seed}"][:10] if value is not None] for seed in (1, 2)]
    expected = sum(sum(values) / len(values) for values in known) / 2
    shown = next(
        trace for trace in _traces(page, "figure-11") if trace["name"] == "BAPO (n = 2)" and trace["axis"] == "x2"
    )
    assert shown["y"][shown["x"].index(10)] == pytest.approx(expected)

    # Figure 7: the share of prompts at 0/8 of the base model, over both seeds.
    base = [
        TrackingRecord.model_validate(record)
        for name, run_id in run_ids.items()
        if name.startswith("bapo")
        for record in admin.records(run_id, type="tracking", from_step=0, to_step=0).items
        if not record["replicate"]
    ]
    share = sum(sum(count == 0 for count in record.num_correct) / len(record.num_correct) for record in base) / 2
    red = next(trace for trace in _traces(page, "figure-7") if trace["name"] == "0/8")
    assert red["x"][:2] == ["base", "again"]
    assert red["y"][0] == pytest.approx(share)

    # Figure 8: X1 + X2 + X3 is the batch.
    batch = admin.metrics(run_ids["grpo-seed-1"], ["bapo/batch/batch"], from_step=1).columns["bapo/batch/batch"]
    grpo = [trace for trace in _traces(page, "figure-8") if trace["axis"] == "x2"][:3]
    assert sum(trace["y"][0] for trace in grpo) == batch[0]

    # Table 1 has a row for the base model and one per method; what the runs lack is said in its place.
    rows = page.locator("#table-1 tbody tr")
    expect(rows).to_have_count(3)
    # The base model was evaluated once per seed: in four runs, but two replicates.
    assert [rows.nth(index).locator("td").nth(1).inner_text() for index in range(3)] == ["2", "2", "2"]
    assert rows.nth(1).locator("td").first.inner_text() == "BAPO"
    expect(page.locator("#figure-10 .paper-needs")).to_contain_text("method.filter.type")
    expect(page.locator("#figure-16 .paper-needs")).to_contain_text("ba_ppo, ppo")


def _assert_whole(page: Page, name: str) -> None:
    """Each chart of a figure is as wide as its column: one that is wider is cut off at the right."""
    _traces(page, name)
    widths = page.evaluate(
        """(name) => [...document.querySelectorAll(`[data-paper="${name}"] .paper-graph`)]
        .map((graph) => [Math.floor(graph.getBoundingClientRect().width),
            Number(graph.querySelector(".main-svg").getAttribute("width"))])""",
        name,
    )
    assert len(widths) > 1
    assert all(column == drawn for column, drawn in widths)


def test_figures_fill_their_columns_are_saved_and_follow_the_scheme(page: Page, address: str) -> None:
    # The first was drawn over the whole width, before the second made it share that, and was cut off.
    _open(page, address)
    for name in ("figure-1", "figure-15"):
        _assert_whole(page, name)

    traces = _traces(page, "figure-9")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save Figure 9 as CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "panel,series,x,y"
    assert len(lines) == 1 + sum(len(trace["x"]) for trace in traces if "interval" not in trace["name"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Save Figure 9 as SVG").click()
    assert download.value.suggested_filename == "figure-9.svg"

    assert _traces(page, "figure-4")[-1]["colour"] == LIGHT.methods[1]
    page.get_by_role("button", name="Switch between light and dark").click()
    wait_until(lambda: page.evaluate(TRACES, "figure-4")[-1]["colour"] == DARK.methods[1])


def test_the_grouping_stands_in_the_address(page: Page, address: str, run_ids: dict[str, str]) -> None:
    _open(page, address)
    page.get_by_role("textbox", name="Group by").click()
    page.get_by_role("option", name="training.seed").or_(page.get_by_role("option", name="single runs")).first.click()
    page.wait_for_url(re.compile("group=run"))
    page.locator("#figure-4 .paper-shows", has_text="bapo-seed-1 (n = 1)").wait_for()
    # Each run alone is a line without a band.
    assert [trace["name"] for trace in _traces(page, "figure-4")] == [f"{name} (n = 1)" for name in run_ids]
    page.go_back()
    page.locator("#figure-4 .paper-shows", has_text="BAPO (n = 2)").wait_for()


def test_an_unknown_field_is_explained(page: Page, address: str) -> None:
    page.goto(f"{address}&group=no.such.field")
    page.get_by_text("no run has the config field 'no.such.field'").wait_for()


def test_without_runs_it_asks_for_some(page: Page, run_ids: dict[str, str]) -> None:
    page.goto("/paper")
    page.get_by_role("heading", name="Select runs").wait_for()
    page.get_by_role("textbox", name="Runs", exact=True).click()
    page.get_by_role("option", name="grpo-seed-1").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url(re.compile(run_ids["grpo-seed-1"]))
    page.locator("#figure-4 .paper-shows", has_text="Shows GRPO (n = 1).").wait_for()


def test_a_narrow_page_puts_panels_below_one_another(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    _open(page, address)
    _traces(page, "figure-11")
    domains = page.evaluate(
        """() => { const layout = document.querySelector('[data-paper="figure-11"] .paper-graph').layout;
        return [layout.xaxis.domain, layout.xaxis2.domain, layout.yaxis.domain[0] > layout.yaxis2.domain[1]]; }"""
    )
    assert domains == [[0, 1], [0, 1], True]
    assert_fits(page, 390)


def test_the_report_opens_from_the_disk_without_a_network(
    visitor: Visitor, chromium: Browser, address: str, tmp_path: Path
) -> None:
    _open(visitor.page, address)
    export = visitor.page.get_by_role("link", name="Export as one HTML file")
    expect(export).to_contain_text(re.compile(r"about \d\.\d MB"))
    with visitor.page.expect_download() as download:
        export.click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    assert file.stat().st_size < 8e6

    context = chromium.new_context(offline=True, color_scheme="light", viewport=VIEWPORT)
    context.set_default_timeout(WAIT_MILLISECONDS)
    reader = Visitor.watching(context.new_page())
    requests: list[str] = []
    reader.page.on("request", lambda request: requests.append(request.url))
    reader.page.goto(file.as_uri())
    assert _traces(reader.page, "figure-4")[-1]["colour"] == LIGHT.methods[1]
    for name in ("figure-1", "figure-15"):
        _assert_whole(reader.page, name)
    expect(reader.page.locator("h1")).to_have_text("Runs as the paper's figures and tables")
    reader.page.locator("summary").first.click()
    settings = reader.page.locator("details pre").first
    expect(settings).to_be_visible()
    expect(settings).to_contain_text('"group_size": 8')
    reader.page.emulate_media(color_scheme="dark")
    reader.page.reload()
    assert _traces(reader.page, "figure-4")[-1]["colour"] == DARK.methods[1]
    _assert_whole(reader.page, "figure-15")
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert reader.page.evaluate("Object.keys(window.bapoPaper)") == ["show", "arranged", "tableOf"]
    reader.check()
    context.close()
