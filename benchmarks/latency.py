"""How long after a step is finished does its point stand in the browser?

    python -m benchmarks.latency [--steps 150] [--tab overview] [--chart rewards]

Starts everything as `bapo up` does in a temporary folder, submits the demo over REST, opens its page in headless
Chromium and notes, frame by frame, when each step's point is in the chart. The time a step finished is the trainer's
own, in its record. Trainer, server, database and browser share the machine. Writes docs/benchmarks/latency.json and
latency.md.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import sync_playwright

from bapo.api.accounts import Login
from bapo.api.runs import TERMINAL_STATUSES, RunCreate
from bapo.client import SESSION_COOKIE, Client
from benchmarks.report import machine, write_report

WATCH = """(chart) => {
    window.seen = {};
    const look = () => {
        const graph = document.querySelector(`[data-chart="${chart}"] .js-plotly-plot`);
        const last = graph && graph.data && graph.data.length ? Math.max(0, ...graph.data[0].x.slice(-1)) : 0;
        if (last && !(last in window.seen)) window.seen[last] = Date.now() / 1000;
        requestAnimationFrame(look);
    };
    look();
}"""
"""Notes when the newest point of the chart's first trace changes."""


@contextmanager
def everything(folder: Path) -> Iterator[tuple[str, str]]:
    """`bapo up` in a folder: its address and the admin's token."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "bapo", "up", "--port", str(port), "--data", str(folder), "--no-demo"]
    process = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "/login?code=" in line:
                break
        yield f"http://127.0.0.1:{port}", (folder / "admin-token").read_text().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def watch_run(url: str, token: str, steps: int, tab: str, chart: str) -> dict[int, float]:
    """Seconds from the end of each step to its point in the chart; points drawn together appear together."""
    client = Client(url, token=token)
    run = client.create_run(RunCreate(name="latency", recipe="countdown-demo", changes={"training.steps": steps}))
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": SESSION_COOKIE, "value": client.login(Login(token=token))[1], "url": url}])
        page = context.new_page()
        page.goto(f"{url}/runs/{run.id}?tab={tab}")
        page.evaluate(WATCH, chart)
        while client.run(run.id).status not in TERMINAL_STATUSES:
            time.sleep(1)
        page.wait_for_function("(steps) => steps in window.seen", arg=steps, timeout=30_000)
        seen = {int(step): at for step, at in page.evaluate("window.seen").items()}
        browser.close()
    finished = client.metrics(run.id, ["timing_s/unix_time"])
    times = zip(finished.steps, finished.columns["timing_s/unix_time"], strict=True)
    return {
        step: min(at for newest, at in seen.items() if newest >= step) - finish
        for step, finish in times
        if finish is not None
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--tab", default="overview")
    parser.add_argument("--chart", default="rewards")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, everything(Path(folder) / "data") as (url, token):
        latencies = watch_run(url, token, options.steps, options.tab, options.chart)
    # The first points wait for the page to load; a page that is open is what the figure is about.
    values = [1000 * latency for step, latency in latencies.items() if step > 10]
    figures = {
        "median_ms": median(values),
        "p95_ms": quantiles(values, n=20)[18],
        "maximum_ms": max(values),
        "num_points": len(values),
    }
    lines = "\n".join(f"| {name} | {value:.0f} |" for name, value in figures.items())
    write_report(
        "latency",
        {"machine": machine("dash", "fastapi"), "steps": options.steps, **figures, "latency_ms": values},
        f"# Step finished → point in the browser\n\n{machine('dash', 'fastapi')}; the demo trains on the same "
        f"machine\n\n| figure | value |\n|---|---|\n{lines}\n",
    )


if __name__ == "__main__":
    main()
