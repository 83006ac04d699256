"""Short versions of the server's benchmarks, compared with the stored results: is anything slower than before?

    python -m benchmarks.all --quick [--only ingest,what_if]

Prints one line per figure: what docs/benchmarks/*.json keeps, what is measured now, and the ratio, above 1 where it
got worse. Kept figures come from a quiet machine: where all ratios are high, the machine is busy. Writes nothing; the
figures themselves are renewed by each benchmark's own command.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, NamedTuple

from bapo.config import resolve
from benchmarks import api_reads, ingest, many_runs, what_if
from benchmarks.deployment import deployment
from benchmarks.growth import measure as measure_growth
from benchmarks.peer_servers import ENVIRONMENTS
from benchmarks.report import FOLDER, table

HISTORY, RUNS, REPETITIONS = 10_000, 50, 20
"""Sizes of the stored measurements, with fewer repetitions."""


class Figure(NamedTuple):
    """A quantity as stored and as measured now."""

    name: str
    kept: float | None
    """Stored value; `None` if there is none."""
    now: float
    more_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """Slowdown relative to the stored figure; `None` if there is none."""
        if self.kept is None:
            return None
        return self.kept / self.now if self.more_is_better else self.now / self.kept


def kept(name: str) -> dict[str, Any]:
    """Return the results that a full run of the benchmark has stored, or nothing if there are none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _api_reads() -> Iterator[Figure]:
    before = kept("api_reads")
    with deployment() as server:
        now = api_reads.measure(server, num_runs=RUNS, history=HISTORY, seconds=3, repetitions=REPETITIONS)
    for name, times in now["milliseconds"].items():
        yield Figure(f"{name}, ms", before.get("milliseconds", {}).get(name, {}).get("median"), times["median"])
    rate = "requests_per_second_ten_keys"
    yield Figure("ten keys, requests/s", before.get(rate), now[rate], more_is_better=True)


def _ingest() -> Iterator[Figure]:
    before = kept("ingest").get("results", {}).get(ingest.OURS, {})
    found = ingest.measure_all(3, ingest.STEPS, list(ingest.PEERS), ENVIRONMENTS)
    now = ingest.summary(found[ingest.OURS])
    for name, unit, is_rate in (("points_per_second", "points/s", True), ("blocked_ms_p99", "blocked p99, ms", False)):
        yield Figure(f"ingest, {unit}", before.get(name, {}).get("median"), now[name]["median"], is_rate)


def _what_if() -> Iterator[Figure]:
    before = kept("what_if")
    moves = {move["move"]: move for move in before.get("moves", ())}
    sizes = {"batch_size": before.get("prompts", 256)}
    steps = before.get("steps", 471)
    config = resolve({"rollout": sizes, "training": sizes | {"steps": steps}}).config
    recording = what_if.make_recording(config, steps, before.get("pool", 40_192))
    for move in ("nothing", "c1 = 1/4", "m = 1"):
        now = what_if.measure(recording, move, repetitions=2)
        name = "first_cpu_milliseconds"
        yield Figure(f"what-if, {move}, ms of CPU", moves.get(move, {}).get(name), now.first_cpu_milliseconds)


def _many_runs() -> Iterator[Figure]:
    before = kept("many_runs")
    now = many_runs.measure(before.get("runs", 100), 8.0)
    for name, times in now["busy"].items():
        yield Figure(f"{name}, 100 runs report, p50, ms", before.get("busy", {}).get(name, {}).get("p50"), times["p50"])


def _growth() -> Iterator[Figure]:
    before = kept("growth").get("curves", {})
    for part, curves in measure_growth(("history", "steps", "workers"), quick=True).items():
        for name, curve in curves.items():
            for size, now in curve.items():
                known = before.get(part, {}).get(name, {}).get(str(size))
                yield Figure(f"{name}, {part} {size:,}, ms", known, now)


PARTS: Mapping[str, Callable[[], Iterator[Figure]]] = {
    "what_if": _what_if,
    "ingest": _ingest,
    "api_reads": _api_reads,
    "many_runs": _many_runs,
    "growth": _growth,
}


def main() -> None:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", required=True, help="the only way there is")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    options = parser.parse_args()
    ratios: list[float] = []
    begin = time.monotonic()
    for part in options.only.split(","):
        figures = list(PARTS[part]())
        ratios += [each.ratio for each in figures if each.ratio is not None]
        rows = [[each.name, *(_said(value) for value in (each.kept, each.now, each.ratio))] for each in figures]
        print(table([part, "kept", "now", "ratio"], rows), end="\n\n", flush=True)
    print(
        f"{(time.monotonic() - begin) / 60:.1f} minutes; median ratio {_said(median(ratios) if ratios else None)}, "
        f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


def _said(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    main()
