"""Does what a server does grow with its work, or faster?

    python -m benchmarks.growth [--quick] [--only history,steps,writers]

Each curve is one quantity at several sizes, on one server with a database of its own: questions about runs over the
length of the history, series and further steps over the length of a run, steps of many runs over the number that
report at once. The exponent is the slope of the logarithms: 0 stays the same, 1 grows with the size. Kept answers are
never asked for twice. Writes docs/benchmarks/growth.json and growth.md; `--quick` takes smaller sizes and only prints.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from statistics import median
from typing import Any

import httpx
import numpy as np

from bapo.client import Client
from bapo.records import StepRecord
from benchmarks.api_reads import TEN_KEYS
from benchmarks.deployment import Deployment, deployment
from benchmarks.report import table, write_report
from benchmarks.volume import Upload, config_of, records, store

Curves = dict[str, dict[int, float]]
"""Milliseconds by size, of each quantity."""

HISTORY, QUICK_HISTORY = (1_000, 10_000, 100_000), (1_000, 10_000)
STEPS, QUICK_STEPS = (500, 5_000, 50_000), (500, 5_000)
WRITERS, QUICK_WRITERS = (1, 10, 100), (1, 10, 30)
BATCH_SIZE, NUM_PROMPTS = 32, 4096
CONNECTIONS = 8
"""Over which the writers report."""
STEPS_EACH = 6
"""Steps that each of many writers reports, one at a time."""
FURTHER_STEPS = 20
"""Single steps that a run of some length reports."""


def milliseconds(ask: Callable[[], object], repetitions: int) -> float:
    """Median time of a call, after one that does not count."""
    ask()
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        ask()
        times.append(1000 * (time.perf_counter() - begin))
    return median(times)


def history(server: Deployment, sizes: Sequence[int], repetitions: int) -> Curves:
    """Pages of the list over the number of runs."""
    with server.client() as client:
        config = config_of(steps=2, batch_size=BATCH_SIZE)
        run_id = store(client, config, "of the history", records(config, num_prompts=NUM_PROMPTS))
    questions: Mapping[str, dict[str, Any]] = {
        "a page of runs": {},
        "a search": {"search": "copy 77"},
        "a filter, sorted": {"method": "bapo", "sort": "-eval_latest"},
        "a state, sorted": {"status": "failed", "sort": "-reward_mean"},
    }
    curves: Curves = {name: {} for name in questions}
    with httpx.Client(**server.http_options()) as http:

        def ask(params: dict[str, Any]) -> object:
            return http.get("/runs", params={"limit": 50, **params}).raise_for_status()

        for size in sizes:
            server.fill_history(run_id, size)
            for name, params in questions.items():
                curves[name][size] = milliseconds(partial(ask, params), repetitions)
    return curves


def run_length(server: Deployment, sizes: Sequence[int], repetitions: int) -> Curves:
    """Reading and storing over the length of a run."""
    names = ("ten columns, 1,000 points", "histograms, 1,000 points", "ratios, 1,000 points", "a further step")
    curves: Curves = {name: {} for name in names}
    config = config_of(steps=sizes[0], batch_size=BATCH_SIZE)
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    asked = count(2**30)
    with server.client() as client, httpx.Client(**server.http_options()) as http:
        for size in sizes:
            upload = Upload(client, config, f"of {size} steps")
            upload.send_all(iter(steps))
            server.lengthen_run(upload.run_id, sizes[0], size // sizes[0])

            def get(path: str, run_id: str = upload.run_id, **params: str | int) -> None:
                # Another end each time, beyond the run's own: what is kept is not what is measured.
                params |= {"to_step": next(asked), "max_points": 1_000}
                http.get(f"/runs/{run_id}/{path}", params=params).raise_for_status()

            further = _further(steps, size)

            def send(upload: Upload = upload, further: Iterator[StepRecord] = further) -> None:
                upload.send([next(further)])

            asks: Sequence[Callable[[], object]] = (
                partial(get, "metrics", keys=",".join(TEN_KEYS)),
                partial(get, "histograms"),
                partial(get, "ratios"),
                send,
            )
            for name, ask in zip(names, asks, strict=True):
                times = FURTHER_STEPS if name == "a further step" else repetitions
                curves[name][size] = milliseconds(ask, times)
    return curves


def _further(steps: Sequence[StepRecord], after: int) -> Iterator[StepRecord]:
    """Steps that follow a run's last one."""
    for number, step in enumerate(steps, start=after + 1):
        yield step.model_copy(update={"step": number})


def writers(server: Deployment, sizes: Sequence[int]) -> Curves:
    """The time that a step takes, over the number of runs that report at once."""
    config = config_of(steps=STEPS_EACH + 1, batch_size=BATCH_SIZE)
    steps = [each for each in records(config, num_prompts=NUM_PROMPTS) if isinstance(each, StepRecord)]
    name = f"a step stored, {CONNECTIONS} connections"
    curves: Curves = {name: {}}
    for size in sizes:
        clients = [server.client() for _ in range(min(CONNECTIONS, size))]
        uploads = [Upload(clients[number % len(clients)], config, f"one of {size}: {number}") for number in range(size)]
        for upload in uploads:
            upload.send(steps[:1])

        def report(first: int, uploads: Sequence[Upload] = uploads, clients: Sequence[Client] = clients) -> None:
            for step in steps[1:]:
                for upload in uploads[first :: len(clients)]:
                    upload.send([step])

        begin = time.perf_counter()
        with ThreadPoolExecutor(len(clients)) as pool:
            list(pool.map(report, range(len(clients))))
        curves[name][size] = 1000 * (time.perf_counter() - begin) / (size * STEPS_EACH)
        for client in clients:
            client.close()
    return curves


def exponent(curve: Mapping[int, float]) -> float:
    """Slope of the logarithms of times over those of sizes."""
    slope, _ = np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)
    return float(slope)


def measure(parts: Sequence[str], *, quick: bool) -> dict[str, Curves]:
    """The curves of each part."""
    repetitions = 7 if quick else 20
    ways: Mapping[str, Callable[[Deployment], Curves]] = {
        "history": lambda server: history(server, QUICK_HISTORY if quick else HISTORY, repetitions),
        "steps": lambda server: run_length(server, QUICK_STEPS if quick else STEPS, repetitions),
        "writers": lambda server: writers(server, QUICK_WRITERS if quick else WRITERS),
    }
    found = {}
    for part in parts:
        with deployment() as server:
            found[part] = ways[part](server)
    return found


def markdown(found: Mapping[str, Curves]) -> str:
    """A table for each part."""
    tables = []
    for part, curves in found.items():
        sizes = list(next(iter(curves.values())))
        rows = [
            [name, *(f"{curve[size]:,.1f}" for size in sizes), f"{exponent(curve):.2f}"]
            for name, curve in curves.items()
        ]
        tables.append(table([f"{part}, ms", *(f"{size:,}" for size in sizes), "exponent"], rows))
    return "\n\n".join(tables)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes, printed and not written")
    parser.add_argument("--only", default="history,steps,writers", help="parts, separated by commas")
    options = parser.parse_args()
    found = measure(options.only.split(","), quick=options.quick)
    if options.quick:
        print(markdown(found))
        return
    write_report(
        "growth",
        "How costs grow",
        {
            "milliseconds": found,
            "exponents": {name: exponent(curve) for curves in found.values() for name, curve in curves.items()},
        },
        markdown(found),
        packages=("fastapi", "sqlalchemy"),
        setting="; one server process",
    )


if __name__ == "__main__":
    main()
