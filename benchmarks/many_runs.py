"""Does a page answer as fast while a hundred runs report as when nothing happens?

    python -m benchmarks.many_runs [--runs 100] [--seconds 60] [--quick]

Starts PostgreSQL, one server process and the dashboard, stores a history, and asks for what the pages show, over HTTP
and one after the other: first with nothing going on, then while a hundred runs each report a step every so often, from
another process, as workers do. Writes docs/benchmarks/many_runs.json and many_runs.md.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import Any

import httpx

from bapo.api.accounts import Login
from bapo.client import SESSION_COOKIE, Client
from bapo.records import StepRecord
from benchmarks.deployment import Deployment, deployment
from benchmarks.report import table, write_report
from benchmarks.volume import Upload, config_of, records, store

STEP_SECONDS = 5.0
"""Between two steps of a run; training runs take longer."""
STEPS, BATCH_SIZE, NUM_PROMPTS = 471, 32, 4096
HISTORY = 2_000
KEYS = "critic/rewards/mean,actor/entropy,bapo/batch/x1,bapo/batch/x2,bapo/batch/x3"


def report(url: str, token: str, num_runs: int) -> None:
    """Report a step of every run each few seconds, spread evenly, until the process is killed."""
    config = config_of(steps=STEPS, batch_size=BATCH_SIZE)
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    with Client(url, token=token) as client:
        uploads = [Upload(client, config, f"reporting {number}") for number in range(1, num_runs + 1)]
        print("ready", flush=True)
        begin, sent, late = time.monotonic(), 0, 0.0
        for step in steps:
            for upload in uploads:
                due = begin + sent * STEP_SECONDS / num_runs
                late = max(late, time.monotonic() - due)
                time.sleep(max(0.0, due - time.monotonic()))
                upload.send([step])
                sent += 1
                print(f"{sent} {late:.3f}", flush=True)


def ask(server: Deployment, questions: Mapping[str, str], seconds: float) -> dict[str, list[float]]:
    """Ask the questions in random order for some seconds; return the milliseconds of each."""
    dice = random.Random(1)
    names = list(questions)
    taken: dict[str, list[float]] = {name: [] for name in names}
    end = time.monotonic() + seconds
    with server.client() as client:
        _, session = client.login(Login(token=server.token))
    with httpx.Client(base_url=server.url, cookies={SESSION_COOKIE: session}, timeout=60) as http:
        while time.monotonic() < end or min(map(len, taken.values())) < 20:
            for name in dice.sample(names, len(names)):
                begin = time.perf_counter()
                http.get(questions[name]).raise_for_status()
                taken[name].append(1000 * (time.perf_counter() - begin))
                time.sleep(0.01)
    return taken


def figures(taken: Mapping[str, Sequence[float]]) -> dict[str, dict[str, float]]:
    """Return the median and the 95th percentile for each question."""
    return {name: {"p50": median(times), "p95": quantiles(times, n=20)[18]} for name, times in taken.items()}


def measure(num_runs: int, seconds: float) -> dict[str, Any]:
    """Measure the server while it is quiet, then while it is busy."""
    with deployment(with_dashboard=True) as server:
        config = config_of(steps=STEPS, batch_size=BATCH_SIZE)
        with server.client() as client:
            run_id = store(client, config, "stored", records(config, num_prompts=NUM_PROMPTS))
        server.fill_history(run_id, HISTORY)
        questions = {
            "page: list of runs": "/runs",
            "page: a run": f"/runs/{run_id}",
            "API: list of runs": "/api/v1/runs?limit=50",
            "API: a run": f"/api/v1/runs/{run_id}",
            "API: five metrics of a run": f"/api/v1/runs/{run_id}/metrics?keys={KEYS}&max_points=1000",
            "API: histograms of a run": f"/api/v1/runs/{run_id}/histograms",
        }
        ask(server, questions, 2.0)
        quiet = figures(ask(server, questions, seconds))
        command = [sys.executable, "-m", "benchmarks.many_runs", "--report", server.url, "--runs", str(num_runs)]
        reporting = subprocess.Popen([*command, "--token", server.token], stdout=subprocess.PIPE, text=True)
        try:
            assert reporting.stdout is not None
            reporting.stdout.readline()
            said: list[str] = []
            threading.Thread(target=said.extend, args=(reporting.stdout,), daemon=True).start()
            time.sleep(STEP_SECONDS)
            sent_before = len(said)
            begin = time.monotonic()
            busy = figures(ask(server, questions, seconds))
            rate = (len(said) - sent_before) / (time.monotonic() - begin)
            assert reporting.poll() is None, "the reporting process has ended"
        finally:
            reporting.kill()
            reporting.wait()
    return {"quiet": quiet, "busy": busy, "steps_per_second": rate, "latest_seconds": float(said[-1].split()[1])}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each of the two parts")
    parser.add_argument("--quick", action="store_true", help="ten seconds each, printed and not written")
    parser.add_argument("--report", help=argparse.SUPPRESS)
    parser.add_argument("--token", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.report is not None:
        report(options.report, options.token, options.runs)
        return
    results = measure(options.runs, 10.0 if options.quick else options.seconds)
    rows = []
    for name, quiet in results["quiet"].items():
        busy = results["busy"][name]
        times = (quiet["p50"], quiet["p95"], busy["p50"], busy["p95"])
        rows.append([name, *(f"{each:.1f}" for each in times), f"{busy['p95'] / quiet['p95']:.2f}"])
    paragraphs = (
        table(["", "quiet p50, ms", "p95", "busy p50", "p95", "p95 busy / quiet"], rows),
        f"{results['steps_per_second']:.1f} steps stored per second; the latest of them was sent "
        f"{results['latest_seconds']:.2f} s after it was due.",
    )
    if options.quick:
        print(*paragraphs, sep="\n\n")
        return
    write_report(
        "many_runs",
        f"{options.runs} runs that report at once",
        {"runs": options.runs, "step_seconds": STEP_SECONDS, **results},
        *paragraphs,
        packages=("fastapi", "sqlalchemy", "dash"),
        setting=f"; one server process, a history of {HISTORY:,} runs; each run reports a step every "
        f"{STEP_SECONDS:g} s, with all that the step recorded",
    )


if __name__ == "__main__":
    main()
