"""Speed of the pages over large data, in headless Chromium.

    python -m benchmarks.dashboard [--steps 5000] [--viewers 20] [--compared 50] [--history 10000] [--live]

Starts PostgreSQL, one server process and the dashboard in a temporary folder and stores: a run of 5,000 steps with some
forty prompts a step, 50 runs of 2,000 steps, a run of 471 steps with 256 prompts a step, a run that meets 40,000
prompts, and a history of 10,000 runs. Chromium and all processes share the machine. Writes
docs/benchmarks/dashboard.json and dashboard.md.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from statistics import median, quantiles
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
from playwright.sync_api import Page

from bapo.client import SESSION_COOKIE, Client
from bapo.config import RunConfig
from bapo.records import AnyRecord, StepRecord
from benchmarks.browser import WATCH, Window, chromium, delays
from benchmarks.deployment import Deployment, deployment
from benchmarks.report import command_line, table, write_report
from benchmarks.volume import Upload, config_of, records, store

COMPARED_STEPS, COMPARED_PROMPTS, COMPARED_SEEDS = 2_000, 512, range(1, 6)
WIDE_STEPS, WIDE_BATCH = 471, 256
"""Size of the run that *What-if* replays."""
MANY_STEPS, MANY_PROMPTS = 1_000, 40_000
"""Size of the run of the migration matrix."""
TABS = (
    *("batch", "difficulty", "what-if", "prompts", "samples", "off-policy"),
    *("system", "log", "config", "history", "overview"),
)
LIVE_STEPS = 60
LIVE_SECONDS = 0.5
"""Interval between two posted steps while a browser watches."""
GLANCE_MILLISECONDS = 500
"""Pause between drawing a page and the click that leaves it; people take at least this long."""
REPETITIONS = 10
FRESH_BROWSERS = 20

DRAWN = """(root) => {
    const panel = document.querySelector(root);
    if (!panel || !panel.childElementCount || panel.querySelector(':scope > [data-before]')) return false;
    const waiting = '.loading, .mantine-Skeleton-root, .compare-skeleton';
    if ([...panel.querySelectorAll(waiting)].some((part) => part.offsetParent !== null)) return false;
    // Graphs without Plotly, which is still on its way, are not drawn either.
    const seen = [...panel.querySelectorAll('.dash-graph')].filter((graph) => {
        const box = graph.getBoundingClientRect();
        return box.width > 0 && box.top < innerHeight && !graph.closest('.empty');
    });
    return seen.every((graph) => graph.querySelector('.js-plotly-plot')?.data?.length);
}"""
"""Script that is true if everything visible below an element is drawn."""

OPEN_TAB = f"""(tab) => new Promise((resolve) => {{
    const isDrawn = {DRAWN};
    for (const part of document.querySelector('#run-panel').children) part.dataset.before = '';
    const button = document.querySelector(`#run-tabs [role=tab][id$="-tab-${{tab}}"]`);
    const began = performance.now();
    const look = () => isDrawn('#run-panel') ? resolve(performance.now() - began) : requestAnimationFrame(look);
    button.click();
    requestAnimationFrame(look);
}})"""


FOLLOW = f"""([link, sign, root]) => new Promise((resolve) => {{
    const isDrawn = {DRAWN};
    const began = performance.now();
    const isThere = () => document.querySelector(sign) && isDrawn(root);
    const look = () => isThere() ? resolve(performance.now() - began) : requestAnimationFrame(look);
    document.querySelector(`a[href="${{link}}"]`).click();
    requestAnimationFrame(look);
}})"""
"""Milliseconds from a click on a link until the page that it leads to, which has the `sign`, is drawn."""


def opened(window: Window, address: str, root: str) -> list[float]:
    """Return milliseconds from asking for a page until it is drawn, in a new window each time; the first does not
    count."""
    times = []
    for _ in range(REPETITIONS + 1):
        context = window()
        page = context.new_page()
        page.goto(address, wait_until="commit")
        page.wait_for_function(DRAWN, arg=root, polling="raf")
        times.append(float(page.evaluate("performance.now()")))
        context.close()
    return times[1:]


def followed(window: Window, url: str, run_id: str) -> dict[str, list[float]]:
    """Return milliseconds from a click until a page is drawn: from the list to the run, to the form, and back."""
    context = window()
    page = context.new_page()
    # The run is on the first of many pages.
    page.goto(f"{url}/runs?search={run_id}")
    _until_rows(page)
    ways = {
        "run page, from the list": (f"/runs/{run_id}", "#run-panel", "#run-panel"),
        "new run page, from another": ("/new", "#new-submit:not([disabled])", "#page"),
        "history page, from another": ("/runs", "#runs-grid .ag-row[row-id]", "#page"),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(REPETITIONS + 1):
        page.locator("#runs-search").fill(run_id)
        page.wait_for_selector(f"#runs-grid a[href='/runs/{run_id}']")
        for name, way in ways.items():
            page.wait_for_timeout(GLANCE_MILLISECONDS)
            times[name].append(float(page.evaluate(FOLLOW, way)))
    context.close()
    return {name: values[1:] for name, values in times.items()}


def tabs(window: Window, address: str) -> dict[str, list[float]]:
    """Return milliseconds from a click on each tab until it is drawn."""
    context = window()
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(DRAWN, arg="#run-panel", polling="raf")
    times: dict[str, list[float]] = {tab: [] for tab in TABS}
    for _ in range(REPETITIONS):
        for tab in TABS:
            times[tab].append(float(page.evaluate(OPEN_TAB, tab)))
    context.close()
    return times


# ---------------------------------------------------------------- live


async def look_on(
    server: Deployment, run_id: str, num_viewers: int, ended: threading.Event, view: Mapping[str, str]
) -> None:
    """Run viewers that listen for events and fetch news, like a page that asks for `view`."""
    headers = {"Cookie": f"{SESSION_COOKIE}={server.token}", "Authorization": f"Bearer {server.token}"}

    async def viewer() -> None:
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60) as client:
            until = (await client.get(f"/api/v1/runs/{run_id}")).json()["step"]
            heard = ""
            async with client.stream("GET", f"/api/v1/runs/{run_id}/events") as events:
                async for line in events.aiter_lines():
                    if ended.is_set():
                        return
                    if line.startswith("id: "):
                        heard = line.removeprefix("id: ")
                    if line.startswith("event: step"):
                        query = {**view, "after": str(until), "heard": heard}
                        answer = await client.get(f"/live/runs/{run_id}", params=query)
                        answer.raise_for_status()
                        until = answer.json()["until"]

    await asyncio.gather(*(viewer() for _ in range(num_viewers)))


OWN_PARAMETERS = frozenset({"after", "heard", "tiles", "rebuild", "recorded"})
"""Parameters that depend on the moment of a page's request."""


def view_of(address: str) -> dict[str, str]:
    """Return the parameters of a page's request that describe its view of the run."""
    return {name: value for name, value in parse_qsl(urlsplit(address).query) if name not in OWN_PARAMETERS}


def live(
    server: Deployment, window: Window, upload: Upload, journal: Iterator[AnyRecord], num_viewers: int
) -> dict[str, list[float]]:
    """Post one step after another; return when each appears in the browser, and what it costs the page."""
    ended = threading.Event()
    context = window()
    page = context.new_page()
    page.goto(f"{server.url}/runs/{upload.run_id}?tab=overview")
    page.wait_for_function(DRAWN, arg="#run-panel", polling="raf")
    # The first step that arrives says what the page asks for.
    first, *steps = islice((record for record in journal if isinstance(record, StepRecord)), LIVE_STEPS)
    with page.expect_request(lambda request: "/live/runs/" in request.url and "after=" in request.url) as asked:
        upload.send([first])
    view = view_of(asked.value.url)
    crowd = threading.Thread(
        target=lambda: asyncio.run(look_on(server, upload.run_id, num_viewers - 1, ended, view)), daemon=True
    )
    crowd.start()
    page.evaluate(WATCH, "rewards")
    protocol = context.new_cdp_session(page)
    protocol.send("Performance.enable")
    before, began = _busy_seconds(protocol), time.time()
    posted: dict[int, float] = {}
    for record in steps:
        posted[record.step] = time.time()
        upload.send([record])
        page.wait_for_timeout(max(0.0, 1000 * (began + len(posted) * LIVE_SECONDS - time.time())))
    shown_after = delays(page, max(posted), posted)
    tasks, cpu = (1000 * (now - then) / len(steps) for now, then in zip(_busy_seconds(protocol), before, strict=True))
    ended.set()
    upload.send(steps[-1:])
    context.close()
    return {
        f"step visible, {num_viewers} viewers": [1000 * seconds for seconds in shown_after.values()],
        "main thread per step, tasks": [tasks],
        "main thread per step, CPU": [cpu],
    }


def _busy_seconds(protocol: Any) -> tuple[float, float]:
    """Return the seconds for which the page's main thread had a task, waits for the CPU included, and computed."""
    metrics = {each["name"]: each["value"] for each in protocol.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"], metrics["ThreadTime"]


# ---------------------------------------------------------------- history


def history(window: Window, address: str) -> dict[str, list[float]]:
    """Return milliseconds until the list shows another page, another order, a filter and a search."""
    context = window()
    page = context.new_page()
    page.goto(address)
    _until_rows(page)
    search = page.locator("#runs-search")
    timed = partial(_timed, page, sign=CHANGED)
    times: dict[str, list[float]] = {"filter": [], "search": [], "sort": []}
    for number in range(REPETITIONS):
        times["filter"].append(timed(page.get_by_text("Failed", exact=True).first.click))
        times["filter"].append(timed(page.get_by_text("All", exact=True).first.click))
        times["search"].append(timed(partial(search.fill, f"copy 7{number}")))
        times["search"].append(timed(partial(search.fill, "")))
        times["sort"].append(timed(page.locator(".ag-header-cell[col-id=name]").click))
    context.close()
    return times


ROWS = """() => {
    const grid = document.querySelector('#runs-grid');
    return grid ? [...grid.querySelectorAll('[row-id]')].map((row) => row.getAttribute('row-id')).sort().join() : '';
}"""


def _until_rows(page: Page) -> None:
    page.wait_for_function(f"() => ({ROWS})().length > 0", polling="raf")


FIRST_ROW = """(address) => {
    if (location.pathname !== address) return;
    const look = () => {
        if (!document.querySelector('#runs-grid .ag-row[row-id]')) return requestAnimationFrame(look);
        // The message comes after the frame with the row is painted.
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            const scripts = performance.getEntriesByType('resource').filter((each) => each.initiatorType === 'script');
            const began = Math.min(...scripts.map((each) => each.responseStart));
            window.firstRow = performance.now() - began;
        };
        requestAnimationFrame(() => port2.postMessage(null));
    };
    look();
}"""
"""Notes the time from the first byte of the first script until a row of the run list is painted."""


def first_rows(server: Deployment) -> list[float]:
    """Return milliseconds from the first byte of JavaScript to the first row of the run list, in a new browser each
    time."""
    times = []
    for _ in range(FRESH_BROWSERS + 1):
        # Its profile is new: no file, no compiled script and no connection is left of another.
        with chromium(server.url, server.token) as window:
            page = window().new_page()
            page.add_init_script(f"({FIRST_ROW})('/runs')")
            page.goto(f"{server.url}/runs", wait_until="commit")
            page.wait_for_function("() => window.firstRow > 0")
            times.append(float(page.evaluate("window.firstRow")))
    return times[1:]


CHANGED = f"""() => {{
    const rows = {ROWS};
    const before = rows();
    return () => {{ const now = rows(); return now && now !== before; }};
}}"""
"""Script that is true if the list shows other rows than at its first call."""


def _timed(page: Page, act: Callable[[], None], sign: str, argument: str | None = None) -> float:
    """Return milliseconds from the click or the input that `act` makes until the sign appears.

    By the page's own clock: what moves the mouse for us takes longer than some of what it asks for.
    """
    page.evaluate(
        f"""(argument) => {{
            const isThere = ({sign})(argument);
            window.waited = null;
            let began = null;
            const note = (event) => {{ began ??= event.timeStamp; }};
            for (const kind of ['click', 'input']) addEventListener(kind, note, {{ capture: true, once: true }});
            const look = () => {{
                if (began !== null && isThere()) window.waited = performance.now() - began;
                else requestAnimationFrame(look);
            }};
            look();
        }}""",
        argument,
    )
    act()
    page.wait_for_function("() => window.waited !== null")
    return float(page.evaluate("window.waited"))


# ---------------------------------------------------------------- new run

FREEZES = """() => {
    window.freezes = [];
    new PerformanceObserver((list) => window.freezes.push(...list.getEntries().map((each) => each.duration)))
        .observe({ type: 'longtask' });
}"""
CHECKED = "(text) => () => document.querySelector('#new-diff').textContent.includes(text)"
"""Script that is true if the form lists the typed value among its differences."""


def form(window: Window, address: str) -> dict[str, list[float]]:
    """Return milliseconds from a typed value until it is checked, a pause of 200 ms among them, and the freezes
    meanwhile."""
    context = window()
    page = context.new_page()
    page.goto(address)
    page.wait_for_function("() => document.querySelector('#new-submit')?.disabled === false")
    page.wait_for_function(DRAWN, arg="#page", polling="raf")
    box = page.locator("[data-field='training.batch_size'] input")
    page.evaluate(FREEZES)
    times = []
    for value in range(50, 50 + REPETITIONS):
        times.append(_timed(page, partial(box.fill, str(value)), CHECKED, str(value)))
    freezes: list[float] = page.evaluate("window.freezes")
    context.close()
    return {"new run, typed until checked": times, "new run, freezes meanwhile": freezes or [0.0]}


# ---------------------------------------------------------------- answers of the server


def answers(server: Deployment, wide: str, many: str) -> dict[str, list[float]]:
    """Return milliseconds of what-if and migration over HTTP; requests differ, so that no answer is cached."""
    times: dict[str, list[float]] = {"what_if": [], "migration": []}
    with httpx.Client(**server.http_options()) as client:

        def ask(name: str, method: str, path: str, **options: Any) -> None:
            began = time.perf_counter()
            client.request(method, path, **options).raise_for_status()
            times[name].append(1000 * (time.perf_counter() - began))

        for number in range(2 * REPETITIONS + 1):
            changes = {"method.c1": (number % 4) / 8, "method.m": 2 + number}
            ask("what_if", "POST", f"/runs/{wide}/what-if", json={"set": changes})
            query = {"kind": "last_seen", "from_step": 100 + number, "to_step": 900 + number}
            ask("migration", "GET", f"/runs/{many}/migration", params=query)
    # The first reads the run; after it, the server has it.
    return {name: values[1:] for name, values in times.items()} | {
        f"{name}_first": values[:1] for name, values in times.items()
    }


def compared_config(seed: int, steps: int) -> RunConfig:
    """Return the config of a compared run, by its seed."""
    return config_of(steps=steps, batch_size=8, seed=seed)


def compared_runs(server: Deployment, client: Client, count: int, steps: int) -> list[str]:
    """Store runs to compare, five seeds with equally many copies each; return their identifiers."""
    found: list[str] = []
    for seed in COMPARED_SEEDS:
        config = compared_config(seed, steps)
        journal = records(config, num_prompts=COMPARED_PROMPTS)
        first = store(client, config, f"compared {seed}", journal, group="compared")
        found += [first, *server.copy_run(first, count // len(COMPARED_SEEDS) - 1)]
    return found


def summary(values: list[float]) -> dict[str, float]:
    """Return the median, and the 95th percentile, or the largest of fewer than 20 values."""
    most = quantiles(values, n=20)[18] if len(values) >= 20 else max(values)
    return {"median": median(values), "p95": most, "count": len(values)}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Fill a server, look at it, ask it."""
    results: dict[str, Any] = {}
    with deployment(with_dashboard=True) as server, server.client() as client:
        upload, journal = _long_run(client, options.steps)
        wide_config = config_of(steps=WIDE_STEPS, batch_size=WIDE_BATCH)
        wide = store(client, wide_config, "wide", records(wide_config, num_prompts=16_384))
        many_config = config_of(steps=MANY_STEPS, batch_size=64)
        many = store(client, many_config, "many prompts", records(many_config, num_prompts=MANY_PROMPTS))
        compared = compared_runs(server, client, options.compared, COMPARED_STEPS)
        server.fill_history(many, options.history)
        with chromium(server.url, server.token) as window:
            long_address = f"{server.url}/runs/{upload.run_id}"
            results["run page"] = opened(window, long_address, "#run-panel")
            results |= followed(window, server.url, upload.run_id)
            results |= {f"tab {tab}": times for tab, times in tabs(window, long_address).items()}
            page = f"{server.url}/compare?runs={','.join(compared)}"
            results[f"compare {len(compared)} runs"] = opened(window, page, "#page")
            results["history page"] = opened(window, f"{server.url}/runs", "#page")
            results |= {f"history {name}": times for name, times in history(window, f"{server.url}/runs").items()}
            results["new run page"] = opened(window, f"{server.url}/new", "#page")
            results |= form(window, f"{server.url}/new")
            results |= live(server, window, upload, journal, options.viewers)
        results["first byte of JavaScript to first row, a fresh browser"] = first_rows(server)
        results |= answers(server, wide, many)
    return {name: summary(values) for name, values in results.items()}


def measure_live(options: argparse.Namespace) -> dict[str, Any]:
    """Return the measurements of the live run alone."""
    with deployment(with_dashboard=True) as server, server.client() as client:
        upload, journal = _long_run(client, options.steps)
        with chromium(server.url, server.token) as window:
            results = live(server, window, upload, journal, options.viewers)
    return {name: summary(values) for name, values in results.items()}


def _long_run(client: Client, num_steps: int) -> tuple[Upload, Iterator[AnyRecord]]:
    """Store a run up to a step; return it with the remaining records."""
    config = config_of(steps=num_steps + LIVE_STEPS, batch_size=32)
    journal = records(config, num_prompts=4096)
    upload = Upload(client, config, "long")
    upload.send_all(_until(journal, num_steps))
    return upload, journal


def _until(journal: Iterator[AnyRecord], step: int) -> Iterator[AnyRecord]:
    """Yield the records up to and including this step."""
    for record in journal:
        yield record
        if isinstance(record, StepRecord) and record.step == step:
            return


def main() -> None:
    """Run the benchmark."""
    options = command_line(
        __doc__,
        steps=5_000,
        viewers=20,
        compared=50,
        history=10_000,
        live=(False, "the live run alone, printed and not written"),
    )
    results = measure_live(options) if options.live else measure(options)
    rows = [
        [name, f"{figures['median']:.0f}", f"{figures['p95']:.0f}", f"{figures['count']}"]
        for name, figures in results.items()
    ]
    heads = ["milliseconds", "median", "p95 or largest", "n"]
    if options.live:
        print(table(heads, rows))
        return
    write_report(
        "dashboard",
        "The pages over much data",
        {"options": vars(options), "milliseconds": results},
        table(heads, rows),
        packages=("dash", "fastapi"),
        setting="; headless Chromium, all processes on this machine. "
        f"A run of {options.steps:,} steps with some 40 prompts a step; {options.compared} runs of {COMPARED_STEPS:,} "
        f"steps; a history of {options.history:,} runs; what-if over 471 steps of 256 prompts; migration of 40,000 "
        "prompts. The first opening of each page, for which the server puts its files together, is left out. The last "
        "column counts repetitions; with fewer than 20 the third is the largest.",
    )


if __name__ == "__main__":
    main()
