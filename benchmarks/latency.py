"""Time from the end of a step until its point appears in the browser.

    python -m benchmarks.latency [--steps 150] [--tab overview] [--chart rewards]

Starts everything as `bapo up` does in a temporary folder, submits the demo over REST, opens its page in headless
Chromium and notes, frame by frame, when each step's point is in the chart. The time a step finished is the trainer's
own, in its record. Trainer, server, database and browser share the machine. Writes docs/benchmarks/latency.json and
latency.md.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from bapo.api.runs import TERMINAL_STATUSES, RunCreate
from bapo.client import Client
from benchmarks.browser import WATCH, chromium, delays
from benchmarks.demo import product
from benchmarks.report import command_line, table, write_report


def watch_run(url: str, token: str, steps: int, tab: str, chart: str) -> dict[int, float]:
    """Return seconds from the end of each step to its point in the chart."""
    with Client(url, token=token) as client, chromium(url, token) as window:
        run = client.create_run(RunCreate(name="latency", recipe="countdown-demo", changes={"training.steps": steps}))
        page = window().new_page()
        page.goto(f"{url}/runs/{run.id}?tab={tab}")
        page.evaluate(WATCH, chart)
        while client.run(run.id).status not in TERMINAL_STATUSES:
            time.sleep(1)
        recorded = client.metrics(run.id, ["timing_s/unix_time"])
        times = zip(recorded.steps, recorded.columns["timing_s/unix_time"], strict=True)
        return delays(page, steps, {step: end for step, end in times if end is not None})


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, steps=150, tab="overview", chart="rewards")
    with tempfile.TemporaryDirectory() as folder, product(Path(folder) / "data") as (url, token):
        latencies = watch_run(url, token, options.steps, options.tab, options.chart)
    # The first points wait for the page to load; a page that is open is what the figure is about.
    values = [1000 * latency for step, latency in latencies.items() if step > 10]
    figures = {
        "median_ms": median(values),
        "p95_ms": quantiles(values, n=20)[18],
        "maximum_ms": max(values),
        "num_points": len(values),
    }
    write_report(
        "latency",
        "Step finished → point in the browser",
        {"steps": options.steps, **figures, "latency_ms": values},
        table(["figure", "value"], [[name, f"{value:.0f}"] for name, value in figures.items()]),
        packages=("dash", "fastapi"),
        setting="; the demo trains on the same machine",
    )


if __name__ == "__main__":
    main()
