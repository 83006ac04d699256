"""The charts of a run page: what they show, how they are looked at, and links that restore it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from backend.records import endpoints
from bapo.api.runs import ParameterChange
from bapo.client import Client
from bapo.records import EventRecord
from tests.browser.conftest import (
    WAIT_MILLISECONDS,
    PlayedRun,
    address_of,
    box_of,
    play,
    points_of,
    view_of,
    wait_for_view,
)
from tests.support.fake_worker import FakeWorker
from tests.support.recorded import NUM_STEPS, import_folder
from tests.support.services import wait_until

pytestmark = pytest.mark.browser

WAIT_SECONDS = WAIT_MILLISECONDS / 1000
REQUEST = "c1-request"


@pytest.fixture(scope="module")
def recorded(admin: Client, recorded_folders: Mapping[str, Path]) -> str:
    """A run that was really trained."""
    return import_folder(admin, recorded_folders["bapo-seed-1"])


@pytest.fixture(scope="module")
def played(admin: Client, worker: FakeWorker) -> PlayedRun:
    """A run that goes on as long as a test wants."""
    return play(admin, worker, "charted")


def _open(page: Page, run_id: str, query: str, chart: str) -> None:
    page.goto(f"/runs/{run_id}{query}")
    _drawn(page, chart)


def _drawn(page: Page, chart: str) -> None:
    """Wait until a chart is drawn: one is after the other, what is out of sight last."""
    drawn = """(name) => {
        const graph = document.querySelector(`[data-chart="${name}"].ready .js-plotly-plot`);
        return Boolean(graph?.data?.length && graph._fullLayout);
    }"""
    page.wait_for_function(drawn, arg=chart)


def _graph(page: Page, chart: str, question: str) -> Any:
    """What a chart answers once it is drawn."""
    _drawn(page, chart)
    script = f"""(name) => ({question})(document.querySelector(`[data-chart="${{name}}"] .js-plotly-plot`))"""
    return page.evaluate(script, chart)


def _values(page: Page, chart: str, name: str) -> list[float]:
    question = f"graph => Array.from(graph.data.find((trace) => trace.name === {json.dumps(name)}).y)"
    values: list[float] = _graph(page, chart, question)
    return values


def _menu(page: Page, chart: str, entry: str) -> None:
    page.locator(f"[data-chart={chart}] .chart-menu-button").click()
    page.locator(".chart-menu-item", has_text=re.compile(f"^{re.escape(entry)}$")).click()


def test_new_tabs_show_what_the_api_answers(page: Page, admin: Client, recorded: str) -> None:
    _open(page, recorded, "?tab=off-policy", "ratios")
    ratios = admin.ratios(recorded)
    total = sum(ratios.counts[-1])
    shown = _graph(page, "ratios", "graph => graph.data[0].customdata.map((row) => row[row.length - 1])")
    assert shown == pytest.approx([100 * count / total for count in ratios.counts[-1]])
    staleness = admin.staleness(recorded)
    totals = {source: sum(map(sum, table)) for source, table in staleness.counts.items()}
    sums = _graph(page, "staleness", "graph => graph.data.map((bar) => bar.y.reduce((sum, value) => sum + value, 0))")
    assert sums == [totals["fresh"], totals["reevaluated"], totals["reused"]]
    key = "bapo/tv/tokens/fresh"
    assert _values(page, "tv-tokens", "X1 fresh") == admin.metrics(recorded, [key], from_step=1).columns[key]
    expect(page.locator(".panel-text")).to_contain_text("K1 = 2.02")

    page.get_by_role("tab", name="System").click()
    _drawn(page, "timings")
    key = "timing_s/gen"
    assert _values(page, "timings", "generation") == admin.metrics(recorded, [key], from_step=1).columns[key]
    # No GPU was recorded: nothing is said about one.
    expect(page.locator("[data-chart=gpu]")).to_have_count(0)


def test_a_funnel_sums_the_chosen_steps(page: Page, admin: Client, recorded: str) -> None:
    _open(page, recorded, "?tab=batch", "reevaluation")
    keys = ["bapo/batch/reevaluated", "bapo/batch/improved"]

    def shown() -> list[int]:
        counts: list[int] = _graph(page, "reevaluation", "graph => graph.data.slice(0, 2).map((bar) => bar.x[0])")
        return counts

    def expected(**steps: int) -> list[int]:
        columns = admin.metrics(recorded, keys, **steps).columns
        return [int(sum(value or 0 for value in columns[key])) for key in keys]

    assert shown() == expected(from_step=1)
    page.locator("#funnel-from").fill("6")
    page.locator("#funnel-to").fill("15")
    wait_until(lambda: shown() == expected(from_step=6, to_step=15), WAIT_SECONDS)
    wait_until(lambda: view_of(page).get("steps") == "6..15", WAIT_SECONDS)
    page.reload()
    _drawn(page, "reevaluation")
    assert shown() == expected(from_step=6, to_step=15)
    expect(page.locator("#funnel-from")).to_have_value("6")


def test_a_link_restores_the_exact_view(page: Page, recorded: str) -> None:
    _open(page, recorded, "?smooth=5", "entropy")
    box = box_of(page.locator("[data-chart=entropy] .nsewdrag").first)
    page.mouse.move(box["x"] + 100, box["y"] + 40)
    # Below a pointer at rest, as when more of the page arrives.
    _graph(page, "entropy", "graph => graph.parentElement.bapoShow({ data: graph.data, layout: graph.layout })")
    page.mouse.down()
    page.mouse.move(box["x"] + 250, box["y"] + 44, steps=5)
    page.mouse.up()
    wait_until(lambda: "c.entropy" in view_of(page), WAIT_SECONDS)
    _drawn(page, "rewards")
    page.locator("[data-chart=rewards] .legendtoggle").first.click()
    wait_until(
        lambda: "legendonly" in _graph(page, "rewards", "graph => graph.data.map((t) => t.visible)"), WAIT_SECONDS
    )
    wait_until(lambda: "c.rewards" in view_of(page), WAIT_SECONDS)
    _menu(page, "entropy", "Logarithmic y-axis")
    _menu(page, "lengths", "x-axis: rollouts")
    wait_until(
        lambda: _graph(page, "lengths", "graph => graph.layout.xaxis.title.text") == "rollouts so far", WAIT_SECONDS
    )
    _menu(page, "entropy", "Full screen")
    expect(page.locator("[data-chart=entropy].full")).to_be_visible()
    looked_at = "graph => [graph._fullLayout.xaxis.range, graph._fullLayout.yaxis.type]"
    before = _graph(page, "entropy", looked_at)
    assert before[1] == "log"
    address = address_of(page)

    page.goto("/runs")
    page.goto(address)
    _drawn(page, "entropy")
    expect(page.locator("[data-chart=entropy].full")).to_be_visible()
    after = _graph(page, "entropy", looked_at)
    assert after[0] == pytest.approx(before[0], rel=1e-4)
    assert after[1] == "log"
    assert _graph(page, "rewards", "graph => graph.data.map((trace) => trace.visible === 'legendonly')") == [
        True,
        False,
        True,
        False,
    ]
    assert _graph(page, "lengths", "graph => graph.layout.xaxis.title.text") == "rollouts so far"
    assert _graph(page, "entropy", "graph => graph.data[1].name").endswith("mean of 5")
    page.keyboard.press("Escape")
    expect(page.locator(".chart-card.full")).to_have_count(0)
    wait_until(lambda: "full" not in view_of(page), WAIT_SECONDS)
    # Another tab begins with a view of its own, and "back" brings the old one.
    page.get_by_role("tab", name="Batch").click()
    _drawn(page, "fill-rate")
    wait_until(lambda: set(view_of(page)) == {"tab", "smooth"}, WAIT_SECONDS)
    page.go_back()
    _drawn(page, "entropy")
    assert _graph(page, "entropy", looked_at)[0] == pytest.approx(before[0], rel=1e-4)


def test_charts_point_together_and_are_smoothed(page: Page, admin: Client, recorded: str) -> None:
    _open(page, recorded, "", "lengths")
    box = box_of(page.locator("[data-chart=rewards] .nsewdrag").first)
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    page.mouse.move(box["x"] + 150, box["y"] + 60, steps=3)
    expect(page.locator("[data-chart=rewards] .hoverlayer .legend")).to_be_attached()
    expect(page.locator("[data-chart=entropy] .hoverlayer .legend")).to_be_attached()
    page.wait_for_function(
        """() => {
            const title = (chart) => document.querySelector(`[data-chart=${chart}] .hoverlayer .legendtitletext`);
            const [pointed, other] = ["rewards", "entropy"].map((chart) => title(chart)?.textContent);
            return Boolean(pointed) && pointed === other;
        }"""
    )
    page.mouse.move(5, 5)
    expect(page.locator("[data-chart=entropy] .hoverlayer .legend")).to_have_count(0)

    # Smoothing is the server's, over all steps.
    assert _graph(page, "entropy", "graph => graph.data.length") == 1
    page.locator("#run-smooth").click()
    page.get_by_role("option", name="Exponential mean").click()
    wait_until(lambda: _graph(page, "entropy", "graph => graph.data.length") == 2, WAIT_SECONDS)
    (group,) = admin.metric_groups(recorded, [["actor/entropy"]], smooth="ema:20").groups
    shown = _graph(page, "entropy", "graph => graph.data.map((trace) => Array.from(trace.y))")
    assert shown == [group.columns["actor/entropy"], pytest.approx(group.smoothed["actor/entropy"])]
    wait_for_view(page, {"smooth": "ema"})


def test_the_menu_takes_a_chart_away_as_table_data_and_picture(page: Page, admin: Client, recorded: str) -> None:
    _open(page, recorded, "", "entropy")
    saved = {}
    for kind in ("CSV", "JSON", "SVG", "PNG"):
        with page.expect_download() as download:
            _menu(page, "entropy", f"Download as {kind}")
        saved[kind] = Path(download.value.path()).read_bytes()
        assert download.value.suggested_filename.endswith(f"-entropy.{kind.lower()}")
    values = admin.metrics(recorded, ["actor/entropy"], from_step=1).columns["actor/entropy"]
    rows = saved["CSV"].decode().splitlines()
    assert rows[0] == "step,policy entropy"
    assert [float(row.split(",")[1]) for row in rows[1:]] == values
    content = json.loads(saved["JSON"])
    assert (content["title"], content["run"]["id"]) == ("Policy entropy", recorded)
    assert content["data"][0]["y"] == values
    assert content["exported_at"].endswith("Z")
    assert b"Policy entropy" in saved["SVG"]
    assert saved["PNG"].startswith(b"\x89PNG")

    # The menu is used by keyboard.
    button = page.locator("[data-chart=entropy] .chart-menu-button")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Full screen")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitemcheckbox", name="Logarithmic y-axis")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".chart-menu")).to_have_count(0)
    expect(button).to_be_focused()


@pytest.fixture
def in_tokyo(page: Page) -> Iterator[Page]:
    """The page of somebody nine hours ahead of UTC."""
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    yield page
    session.detach()


def test_times_are_the_viewers(in_tokyo: Page, admin: Client, recorded: str) -> None:
    page = in_tokyo
    _open(page, recorded, "?x=time", "entropy")
    key = "timing_s/unix_time"
    first = admin.metrics(recorded, [key], from_step=1).columns[key][0]
    assert first is not None
    # Nine hours ahead of UTC, drawn as if it were UTC.
    assert _graph(page, "entropy", "graph => graph.data[0].x[0]") == round(1000 * first) + 9 * 3_600_000
    with page.expect_download() as download:
        _menu(page, "entropy", "Download as CSV")
    row = Path(download.value.path()).read_text().splitlines()[1]
    assert row.startswith(page.evaluate("(ms) => new Date(ms).toISOString()", round(1000 * first)))
    moment = page.locator("time.moment").first
    moment.hover()
    expect(moment).to_have_attribute("title", re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Asia/Tokyo$"))


def test_new_tabs_miss_nothing_while_the_run_goes_on(page: Page, played: PlayedRun) -> None:
    played.advance(5)
    _open(page, played.run.id, "?tab=system", "timings")
    wait_until(lambda: points_of(page, "timings") == played.simulation.last_step, WAIT_SECONDS)
    last = played.advance(3)
    wait_until(lambda: points_of(page, "timings") == last, WAIT_SECONDS)
    assert _graph(page, "timings", "graph => graph.data[0].x") == list(range(1, last + 1))


def test_a_mark_leads_to_the_request_and_back(page: Page, admin: Client, played: PlayedRun) -> None:
    played.advance(2)
    control = admin.change_parameters(played.run.id, _change())
    step = played.simulation.last_step
    played.add(
        EventRecord(
            attempt=1,
            step=step,
            event="parameter_change",
            message="changed",
            data={"id": control.id, "author": "admin", "set": {"method.m": 3}},
        )
    )
    played.advance(2)
    _open(page, played.run.id, "", "entropy")
    wait_until(lambda: bool(_graph(page, "entropy", "graph => (graph.layout.shapes || []).length")), WAIT_SECONDS)
    page.locator("[data-chart=entropy]").hover()
    page.locator("[data-chart=entropy] .annotation-text-g").first.click()
    expect(page.get_by_role("tab", name="History")).to_have_attribute("aria-selected", "true")
    marked = page.locator(".control.marked")
    expect(marked).to_contain_text("m = 3")
    marked.get_by_role("button", name="Show on charts").click()
    _drawn(page, "entropy")
    widths = "graph => graph.layout.shapes.map((shape) => shape.line.width)"
    wait_until(lambda: 4 in (_graph(page, "entropy", widths) or []), WAIT_SECONDS)


def _change() -> Any:
    return ParameterChange(set={"method.m": 3})


def test_a_log_is_followed_searched_and_read_backwards(
    page: Page, played: PlayedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, claim = played.worker, played.claim
    assert claim is not None
    # The server sends so many uploads at once: the first fifty lines remain to be asked for.
    monkeypatch.setattr(endpoints, "LOG_PIECES", 4)
    for begin in range(0, 250, 50):
        worker.upload_lines(claim, [f"line {begin + number} of the log" for number in range(50)], "log")
    page.goto(f"/runs/{played.run.id}?tab=log")
    lines = page.locator("#log-text .log-line")
    expect(lines).to_have_count(200)
    expect(lines.last).to_have_text("line 249 of the log")
    worker.upload_lines(claim, ["WARNING: memory is short"], "log")
    expect(lines.last).to_have_text("WARNING: memory is short")
    expect(page.locator(".log-warning")).to_have_count(1)
    page.get_by_role("button", name="Load earlier lines").click()
    expect(lines).to_have_count(251)
    expect(lines.first).to_have_text("line 0 of the log")
    expect(page.get_by_role("button", name="Load earlier lines")).to_be_hidden()
    page.get_by_label("Search the log").fill("line 24")
    # line 24, and 240 to 249.
    expect(page.locator("#log-matches")).to_have_text("11 of 11")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#log-matches")).to_have_text("1 of 11")
    expect(page.get_by_label("Follow")).not_to_be_checked()
    page.locator("#log-wrap").uncheck(force=True)
    expect(page.locator("#log-text.no-wrap")).to_be_visible()
    wait_for_view(page, {"tab": "log", "q": "line 24", "wrap": "off"})
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 251


def test_a_config_is_searched_and_explained(page: Page, recorded: str) -> None:
    page.goto(f"/runs/{recorded}?tab=config")
    rows = page.locator("[data-field-row]:not([hidden])")
    expect(page.locator("[data-field-row='method.c1'] .config-meaning").first).not_to_be_empty()
    page.get_by_label("Search fields").fill("training.keep_checkpoints")
    expect(rows).to_have_count(1)
    expect(page.locator("#config-count")).to_contain_text("1 of")
    page.get_by_label("Search fields").fill("")
    page.get_by_label("Only changed fields").check(force=True)
    expect(page.locator("[data-field-row].config-default:not([hidden])")).to_have_count(0)
    expect(page.locator("[data-field-row='training.steps']")).to_contain_text(str(NUM_STEPS))
    wait_for_view(page, {"tab": "config", "only": "set"})
