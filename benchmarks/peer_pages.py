"""Page times of ours and of other tools, over the same runs in the same browser.

    python -m benchmarks.peer_pages [--repetitions 10] [--runs 1000,10000] [--without aim,trackio] [--quick]

50 runs of 2,000 steps and 20 metrics are stored here and in TensorBoard, MLflow, Aim and Trackio; each is served by its
own server from its own environment (as in `benchmarks.ingest`) and opened in headless Chromium, in a new context each
time: milliseconds from navigation until ten charts show all 50 curves. Then so many runs of one point: until the first
ten rows of the run list are drawn. The meaning of "drawn" for each tool is in `benchmarks.peer_views` and the report.
All servers run at once and take turns; the first opening of each does not count. Chromium resolves no names: nothing
leaves the machine. `--data FOLDER` keeps the data of the tools. Writes docs/benchmarks/peer_pages.json and .md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx
from playwright.sync_api import Error as BrowserError

from bapo.records import StepRecord, metrics
from benchmarks.browser import Window, chromium
from benchmarks.dashboard import COMPARED_PROMPTS, COMPARED_SEEDS, compared_config, compared_runs
from benchmarks.deployment import Deployment, deployment
from benchmarks.peer_servers import (
    ENVIRONMENTS,
    PINS,
    CannotInstallError,
    PeerError,
    Shown,
    environment_of,
    fill,
    serving,
)
from benchmarks.peer_views import (
    CHARTS,
    LISTS,
    METRICS,
    MLFLOW_VIEW,
    OTHERS,
    OUR_CHARTS,
    OUR_LIST,
    View,
    expression,
    watch,
)
from benchmarks.report import table, write_report
from benchmarks.volume import records

OURS = "ours"
NAMES = {
    OURS: "BAPO Control Plane",
    "tensorboard": "TensorBoard",
    "mlflow": "MLflow",
    "aim": "Aim",
    "trackio": "Trackio",
}
SIZE = (1920, 3000)
"""Size of the window: the ten charts of every tool fit in, since most draw only visible ones."""
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
PATIENCE_SECONDS = 180.0


@dataclass
class Part:
    """The openings of one kind of page."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def curves(steps: int) -> list[dict[str, list[float]]]:
    """Return the 20 metrics of the compared runs, of one run per seed."""
    found = []
    for seed in COMPARED_SEEDS:
        journal = records(compared_config(seed, steps), num_prompts=COMPARED_PROMPTS)
        each = [metrics(record) for record in journal if isinstance(record, StepRecord)]
        found.append({name: [float(values[name]) for values in each] for name in (*METRICS, *OTHERS)})
    return found


def opened(window: Window, address: str, script: str) -> float:
    """Return milliseconds from asking for a page in a new context until it is drawn.

    Raises PeerError if it takes longer than `PATIENCE_SECONDS`.
    """
    context = window()
    try:
        context.add_init_script(script)
        page = context.new_page()
        began = time.time()
        page.goto(address, wait_until="commit")
        page.wait_for_function("() => window.drawnAt", polling=250, timeout=1000 * PATIENCE_SECONDS)
        return float(page.evaluate("() => window.drawnAt")) - 1000 * began
    except BrowserError as error:
        raise PeerError(f"not drawn within {PATIENCE_SECONDS:.0f} s") from error
    finally:
        context.close()


def measure(
    window: Window, shown: Mapping[str, Shown], views: Mapping[str, View], runs: int, repetitions: int, part: Part
) -> None:
    """Open every tool's page once, then every tool's again, and so on."""
    scripts = {tool: watch(views[tool], len(METRICS), runs) for tool in shown}
    # The first opening does not count, for anybody: caches, and TensorBoard reads its folder meanwhile.
    for repetition in range(-1, repetitions):
        for tool, where in shown.items():
            if tool in part.left_out:
                continue
            try:
                taken = opened(window, views[tool].address(where), scripts[tool])
            except PeerError as error:
                part.left_out[tool] = str(error)
                print(f"{tool} is left out: {error}", file=sys.stderr)
                continue
            print(f"{tool} {repetition + 1}: {taken:.0f} ms", file=sys.stderr)
            if repetition >= 0:
                part.milliseconds.setdefault(tool, []).append(taken)


@contextmanager
def served(pythons: Mapping[str, Path], data: Path, part: Part, *what: str) -> Iterator[dict[str, Shown]]:
    """Start every tool's server over its runs, and yield them; note why a tool cannot start and is left out."""
    with ExitStack() as stack:
        found = {}
        for tool, python in pythons.items():
            folder = data / f"{tool}-{what[0]}-{what[-1]}"
            began = time.monotonic()
            try:
                fill(tool, python, folder, *what)
                print(f"{tool} filled in {time.monotonic() - began:.0f} s", file=sys.stderr)
                found[tool] = stack.enter_context(serving(tool, python, folder))
            except PeerError as error:
                part.left_out[tool] = str(error)
                print(f"{tool} is left out: {error}", file=sys.stderr)
        yield found


def share_view(mlflow: Shown) -> None:
    """Store a view of the ten metrics of all runs, as its button "Share" does; it draws ten runs otherwise."""
    view = {"runsHiddenMode": "SHOW_ALL", "chartsSearchFilter": expression()}
    tag = {"key": f"mlflow.sharedViewState.{MLFLOW_VIEW}", "value": json.dumps(view)}
    body = {"experiment_id": mlflow.filled["experiment"], **tag}
    httpx.post(f"{mlflow.url}/api/2.0/mlflow/experiments/set-experiment-tag", json=body).raise_for_status()


def measure_charts(
    server: Deployment, window: Window, pythons: Mapping[str, Path], data: Path, options: argparse.Namespace
) -> Part:
    """Measure the pages that compare runs."""
    part = Part()
    with server.client() as client:
        ours = Shown(server.url, {"runs": compared_runs(server, client, options.compared, options.steps)})
    path = data / f"curves-{options.steps}.json"
    path.write_text(json.dumps(curves(options.steps)))
    copies = options.compared // len(COMPARED_SEEDS) - 1
    with served(pythons, data, part, "charts", str(path), f"{copies}") as peers:
        if "mlflow" in peers:
            share_view(peers["mlflow"])
        shown = {OURS: ours, **peers}
        measure(window, shown, {OURS: OUR_CHARTS, **CHARTS}, options.compared, options.repetitions, part)
    return part


def measure_list(
    server: Deployment, window: Window, pythons: Mapping[str, Path], data: Path, count: int, repetitions: int
) -> Part:
    """Measure the lists of `count` runs."""
    part = Part()
    with server.client() as client:
        server.fill_history(client.runs(limit=1).items[0].id, count)
    with served(pythons, data, part, "list", str(count)) as peers:
        measure(window, {OURS: Shown(server.url, {}), **peers}, {OURS: OUR_LIST, **LISTS}, count, repetitions, part)
    return part


def measure_all(options: argparse.Namespace, data: Path) -> tuple[dict[str, Part], dict[str, str]]:
    """Measure the charts, then each length of the list; also return the tools that cannot be installed, and why."""
    pythons, missing = {}, {}
    for tool in CHARTS:
        if tool not in options.without.split(","):
            try:
                pythons[tool] = environment_of(tool, options.environments)
            except CannotInstallError as error:
                missing[tool] = f"cannot be installed: {error}"
    parts = {}
    with (
        deployment(with_dashboard=True) as server,
        chromium(server.url, server.token, size=SIZE, arguments=[OFFLINE]) as window,
    ):
        name = f"ten charts of {options.compared} runs"
        parts[name] = measure_charts(server, window, pythons, data, options)
        for count in sorted(int(text) for text in options.runs.split(",")):
            name = f"list of {count:,} runs"
            parts[name] = measure_list(server, window, pythons, data, count, options.repetitions)
    return parts, missing


def summary(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th percentile and the fastest."""
    high = quantiles(values, n=20, method="inclusive")[18] if len(values) > 1 else values[0]
    return {"median": median(values), "p95": high, "lowest": min(values), "count": len(values)}


def markdown(parts: Mapping[str, Part]) -> str:
    """Return a table with one line per page and tool."""
    rows = []
    for name, part in parts.items():
        for tool, label in NAMES.items():
            if tool in part.milliseconds and tool not in part.left_out:
                figures = summary(part.milliseconds[tool])
                row = [f"{figures[key]:,.0f}" for key in ("median", "p95", "lowest", "count")]
                rows.append([name, label, *row])
            elif tool in part.left_out:
                rows.append([name, label, part.left_out[tool], "-", "-", "-"])
    return table(["page", "tool", "median, ms", "p95", "fastest", "n"], rows)


def paragraphs(options: argparse.Namespace, missing: Mapping[str, str], load: float) -> list[str]:
    """Return what was measured, the signs that a page is drawn, and the biases for or against each tool."""
    charts = {OURS: OUR_CHARTS, **CHARTS}
    lists = {OURS: OUR_LIST, **LISTS}
    summaries = [f"- {NAMES[tool]}: {charts[tool].summary}. List: {lists[tool].summary}." for tool in NAMES]
    without = [f"{NAMES[tool]} {reason}." for tool, reason in missing.items()]
    return [
        f"{options.compared} runs of {options.steps:,} steps and {len(METRICS) + len(OTHERS)} metrics: five seeds of "
        f"simulated runs, and {options.compared // len(COMPARED_SEEDS) - 1} copies of each, the same in every tool "
        "(ours hold all else that a run records, too). Milliseconds from navigation, in a new browser context of "
        f"{SIZE[0]} × {SIZE[1]} pixels, until the ten charts show every curve, or the first ten rows of the list are "
        f"there. {options.repetitions} interleaved repetitions after one that does not count; load average at the end "
        f"{load:.1f} on {os.cpu_count()} cores. Chromium resolves no names, so that no page waits for the network.",
        "All tools draw fewer points than there are, as each does by default: TensorBoard 1,000 a curve and a smoothed "
        "copy, MLflow 320, Aim 500, ours extremes of as many as 50 curves leave room for; Trackio thins them out in "
        "the browser and draws smoothed copies. TensorBoard draws with WebGL, which Chromium computes here on the "
        "CPU: a machine with a GPU draws it sooner. It reads its folder once and not every five seconds, for it would "
        "hold up the others. MLflow's panel of its assistant is open, as on every first visit. Lists: runs of one "
        "point of two metrics (ours: copies of a row of the history).",
        "What is waited for:",
        "\n".join(summaries),
        *without,
    ]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--compared", type=int, default=50, help="runs to compare, a multiple of five")
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--runs", default="1000,10000", help="lengths of the list, separated by commas")
    parser.add_argument("--without", default="", help="tools to leave out, separated by commas")
    parser.add_argument("--quick", action="store_true", help="two repetitions over fewer data, printed and not written")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="folder of the virtual environments")
    parser.add_argument("--data", type=Path, help="folder that keeps what the tools were filled with")
    options = parser.parse_args()
    if options.quick:
        options.repetitions, options.compared, options.steps, options.runs = 2, 10, 200, "100"
    with tempfile.TemporaryDirectory(prefix="bapo-pages-") as folder:
        data = options.data or Path(folder)
        data.mkdir(parents=True, exist_ok=True)
        parts, missing = measure_all(options, data)
    load = os.getloadavg()[0]
    if options.quick:
        print(markdown(parts))
        return
    found: dict[str, Any] = {
        name: {
            "milliseconds": {tool: summary(values) for tool, values in part.milliseconds.items()},
            "left_out": part.left_out,
        }
        for name, part in parts.items()
    }
    tools = [tool for tool in PINS if any(tool in part.milliseconds for part in parts.values())]
    pins = ", ".join(sorted(pin for tool in tools for pin in PINS[tool]))
    write_report(
        "peer_pages",
        "Our pages compared with those of other tools",
        {"runs": options.compared, "steps": options.steps, "peers": pins, "load": load, "pages": found},
        markdown(parts),
        *paragraphs(options, missing, load),
        packages=("dash", "fastapi"),
        setting=f"; {pins}; headless Chromium, all processes on this machine",
    )


if __name__ == "__main__":
    main()
