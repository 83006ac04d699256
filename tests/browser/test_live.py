"""Charts that grow: quickly, without disturbing whoever looks closely, and again after the server was away."""

from __future__ import annotations

import re
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect

from bapo.client import Client
from benchmarks.simulation import EVALUATION_INTERVAL
from frontend.app import create_app
from frontend.server.settings import FrontendSettings
from tests.browser.conftest import (
    VIEWPORT,
    WAIT_MILLISECONDS,
    beginning_with,
    box_of,
    log_in,
    play,
    points_of,
    requests_of,
    view_of,
)
from tests.support.fake_worker import FakeWorker
from tests.support.services import BackendServer, wait_until
from tests.support.serving import Relay, serving

pytestmark = pytest.mark.browser

BUSY = "() => { const begun = performance.now(); while (performance.now() < begun + 500); }"
"""Nothing else runs on the page for half a second."""

EVALUATED = """(count) => document.querySelector('[data-chart="evaluations"] .js-plotly-plot')?.data
    ?.some((trace) => trace.mode?.includes('markers') && trace.x.length === count)"""


def _wait_for_points(page: Page, chart: str, count: int) -> None:
    wait_until(lambda: points_of(page, chart) == count, WAIT_MILLISECONDS / 1000)


def _axis_range(page: Page, chart: str) -> list[float]:
    script = """(name) => document.querySelector(`[data-chart="${name}"] .js-plotly-plot`).layout.xaxis.range"""
    values: list[float] = page.evaluate(script, chart)
    return values


def test_each_new_step_becomes_a_point(page: Page, admin: Client, worker: FakeWorker) -> None:
    played = play(admin, worker, "point by point")
    played.advance(20)
    page.goto(f"/runs/{played.run.id}")
    expect(page.locator("[data-chart=rewards].ready")).to_be_visible()
    _wait_for_points(page, "rewards", 20)
    for _ in range(10):
        _wait_for_points(page, "rewards", played.advance())
    # The moving mean of the last step is the mean of the last ten rewards: what was appended is what was drawn.
    script = """() => {
        const [, fresh, , mean] = document.querySelector('[data-chart="rewards"] .js-plotly-plot').data;
        return [fresh.y.slice(-10), mean.y[mean.y.length - 1]];
    }"""
    rewards, mean = page.evaluate(script)
    assert mean == pytest.approx(sum(rewards) / 10)


@pytest.mark.parametrize(("tab", "chart"), [("overview", "rewards"), ("batch", "buffer-sizes"), ("system", "timings")])
def test_charts_that_grew_look_as_if_they_were_drawn_whole(
    page: Page, admin: Client, worker: FakeWorker, tab: str, chart: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 3000})
    played = play(admin, worker, f"grows in {tab}")
    played.advance(20)
    page.goto(f"/runs/{played.run.id}?tab={tab}")
    _wait_for_points(page, chart, 20)
    page.wait_for_function("() => !document.querySelector('[data-chart] [data-waiting]')")
    page.evaluate(
        """() => {
            const whole = Plotly.extendTraces;
            window.whole = 0;
            Plotly.extendTraces = (...all) => { window.whole += 1; return whole(...all); };
        }"""
    )
    _wait_for_points(page, chart, played.advance(7))
    # Lines of a grid may stand in another order; what each is, and where, is the same.
    different = page.evaluate(
        """async () => {
            const parts = (graph) => [...graph.querySelectorAll('path, text, rect, use, clipPath')]
                .map((part) => part.outerHTML).sort();
            const different = [];
            for (const graph of document.querySelectorAll('[data-chart] .js-plotly-plot')) {
                if (!graph.data?.every((trace) => trace.type === 'scatter')) continue;
                const grown = parts(graph);
                await Plotly.redraw(graph);
                const whole = parts(graph);
                if (JSON.stringify(grown) !== JSON.stringify(whole)) {
                    const { chart } = graph.closest('[data-chart]').dataset;
                    different.push([chart, grown.filter((each) => !whole.includes(each))]);
                }
            }
            return different;
        }"""
    )
    assert different == []
    assert page.evaluate("window.whole") == 0
    # Nobody has moved an axis: the address names no range.
    assert not [key for key in view_of(page) if key.startswith("c.")]


def test_an_evaluation_is_drawn_and_the_rest_of_the_page_stays(page: Page, admin: Client, worker: FakeWorker) -> None:
    page.set_viewport_size({"width": 1280, "height": 3000})
    played = play(admin, worker, "evaluated")
    played.advance(EVALUATION_INTERVAL - 1)
    page.goto(f"/runs/{played.run.id}")
    _wait_for_points(page, "rewards", EVALUATION_INTERVAL - 1)
    page.wait_for_function(EVALUATED, arg=1)
    with requests_of(page, "/charts?") as redrawn:
        _wait_for_points(page, "rewards", played.advance(1))
        page.wait_for_function(EVALUATED, arg=2)
    assert redrawn == []


@pytest.mark.parametrize("rests", [True, False])
def test_charts_out_of_sight_catch_up_when_they_are_scrolled_to(
    page: Page, admin: Client, worker: FakeWorker, rests: bool
) -> None:
    played = play(admin, worker, f"below a page that {'rests' if rests else 'never rests'}")
    played.advance(5)
    page.set_viewport_size({"width": 1280, "height": 500})
    with ExitStack() as everything:
        if not rests:
            everything.enter_context(beginning_with(page, "window.requestIdleCallback = () => 0"))
        page.goto(f"/runs/{played.run.id}?tab=batch")
    expect(page.locator("[data-chart=rollouts].ready")).to_be_attached()
    page.locator("[data-chart=batch-composition]").scroll_into_view_if_needed()
    _wait_for_points(page, "batch-composition", 5)
    # Drawn while the page rests, else not before somebody looks.
    drawn = 5 if rests else 0
    _wait_for_points(page, "rollouts", drawn)
    last = played.advance(2)
    _wait_for_points(page, "batch-composition", last)
    assert points_of(page, "rollouts") == drawn
    page.locator("[data-chart=rollouts]").scroll_into_view_if_needed()
    _wait_for_points(page, "rollouts", last)


def test_nothing_moves_while_somebody_zooms_and_the_zoom_stays(page: Page, admin: Client, worker: FakeWorker) -> None:
    played = play(admin, worker, "zoomed")
    # The 25th step brings a tracking, which draws all charts anew.
    played.advance(22)
    page.goto(f"/runs/{played.run.id}?tab=batch")
    expect(page.locator("[data-chart=batch-composition].ready")).to_be_visible()
    _wait_for_points(page, "batch-composition", 22)
    box = box_of(page.locator("[data-chart=batch-composition] .nsewdrag"))
    page.mouse.move(box["x"] + 200, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 60, steps=5)
    wait_until(lambda: bool(page.evaluate("document.querySelector('.js-plotly-plot')._dragging")))
    page.evaluate("""() => {
        const whole = bapoLive.dragging;
        window.looks = 0;
        bapoLive.dragging = () => { window.looks += 1; return whole(); };
    }""")
    last = played.advance()
    # The page hears of the step, and looks again and again whether somebody still drags; the chart holds still.
    page.wait_for_function("() => bapoLive.state.news && window.looks > 2")
    assert points_of(page, "batch-composition") == 22
    page.mouse.up()
    _wait_for_points(page, "batch-composition", last)
    zoomed = _axis_range(page, "batch-composition")
    assert zoomed[0] > 1
    played.advance(2)
    _wait_for_points(page, "batch-composition", 25)
    # The address holds the zoom with six digits.
    assert _axis_range(page, "batch-composition") == pytest.approx(zoomed, rel=1e-5)
    # A page that is busy between the clicks, and between press and release, takes them for a double-click all the same.
    page.mouse.move(box["x"] + 200, box["y"] + 50)
    page.mouse.down()
    page.mouse.up()
    page.evaluate(BUSY)
    page.mouse.down(click_count=2)
    page.evaluate(BUSY)
    page.mouse.up(click_count=2)
    wait_until(lambda: _axis_range(page, "batch-composition") != pytest.approx(zoomed, rel=1e-5))


def test_the_page_goes_on_by_itself_after_the_server_was_away(
    chromium: Browser, backend_server: BackendServer, admin: Client, worker: FakeWorker
) -> None:
    played = play(admin, worker, "interrupted")
    played.advance(4)
    with ExitStack() as everything:
        # What goes away is a relay in front of the server, at a fixed address.
        relay = everything.enter_context(ExitStack())
        address = relay.enter_context(serving(Relay(backend_server.url)))
        url = everything.enter_context(serving(create_app(FrontendSettings(backend_url=address))))
        context = chromium.new_context(base_url=url, viewport=VIEWPORT)
        everything.callback(context.close)
        context.set_default_timeout(WAIT_MILLISECONDS)
        log_in(context, url, backend_server)
        page = context.new_page()
        page.goto(f"/runs/{played.run.id}")
        _wait_for_points(page, "rewards", 4)
        expect(page.locator("#connection")).to_have_text("Live")
        tile = page.locator("[data-tile=reward] .tile-value")
        expect(tile).to_contain_text("%")
        page.evaluate("window.loadedOnce = true")

        relay.close()
        banner = page.locator("#connection-banner")
        expect(banner).to_be_visible()
        expect(banner).to_contain_text(re.compile("Connection lost .* ago"))
        expect(page.locator("#connection")).to_have_text("Offline")
        assert points_of(page, "rewards") == 4
        expect(tile).to_contain_text("%")
        played.advance(3)

        relay.enter_context(serving(Relay(backend_server.url), port=int(address.rsplit(":", 1)[1])))
        expect(page.locator("#connection")).to_have_text("Live")
        expect(banner).to_be_hidden()
        _wait_for_points(page, "rewards", 7)
        last = played.advance()
        _wait_for_points(page, "rewards", last)
        assert page.evaluate("window.loadedOnce")
