"""Rate at which metrics become durable, and the time for which logging blocks a training step.

    python -m benchmarks.ingest [--repetitions 5] [--quick] [--without trackio,aim]

471 steps of 120 metrics, as fast as the trainer can: here through journal, worker and API into a commit of PostgreSQL;
in Trackio, TensorBoard, Aim and MLflow by their own Python calls with a dictionary per step, each in a virtual
environment that this makes below .venv-ingest. Repetitions are interleaved. Writes docs/benchmarks/ingest.json and
ingest.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bapo.api.runs import RunCreate
from bapo.records import StepRecord, metrics
from bapo.run.journal import Journal
from benchmarks.deployment import ClaimingWorker, Deployment, deployment
from benchmarks.peer_servers import ENVIRONMENTS, PINS, CannotInstallError, environment_of
from benchmarks.report import table, write_report
from benchmarks.volume import config_of, records
from worker.supervision import POLL_SECONDS
from worker.upload import Uploader

STEPS, NUM_KEYS, BATCH_SIZE, NUM_PROMPTS = 471, 120, 32, 4096
OURS = "BAPO Control Plane"
PEERS: Mapping[str, Sequence[str]] = {**PINS, "mlflow-async": PINS["mlflow"]}
NAMES = {
    "trackio": "Trackio, local server",
    "tensorboard": "TensorBoard writer",
    "aim": "Aim, local repository",
    "mlflow": "MLflow, SQLite",
    "mlflow-async": "MLflow, SQLite, asynchronous",
}
PEER_SCRIPT = Path(__file__).with_name("ingest_peers.py")
PEER_SECONDS = 300.0


@dataclass(frozen=True)
class Measurement:
    """One repetition."""

    points_per_second: float
    """Rate until the last point is durable."""
    blocked_ms: Sequence[float]
    """Milliseconds for which each step was blocked."""


# ---------------------------------------------------------------- ours


def step_records(steps: int) -> list[StepRecord]:
    """Return step records with 120 metrics each; made-up timings fill up what the engine does not measure."""
    config = config_of(steps=steps, batch_size=BATCH_SIZE)
    found = []
    for record in records(config, num_prompts=NUM_PROMPTS):
        if isinstance(record, StepRecord):
            missing = NUM_KEYS - len(metrics(record))
            timing = {**record.timing, **{f"part_{number}": 0.001 * number for number in range(missing)}}
            found.append(record.model_copy(update={"timing": timing}))
    return found


def trainer(folder: Path, steps: int) -> None:
    """Wait for a line, write a journal, and print when it began and how long each step took; a separate process."""
    prepared = step_records(steps)
    journal = Journal(folder)
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    blocked = []
    for record in prepared:
        before = time.perf_counter()
        journal.write(record)
        blocked.append(1000 * (time.perf_counter() - before))
    journal.close()
    print(json.dumps({"begin": begin, "blocked_ms": blocked}))


class Worker:
    """Claims a run and uploads what its trainer writes, with the real uploader."""

    def __init__(self, server: Deployment) -> None:
        self._people = server.client()
        self._worker = ClaimingWorker(server, "bench")

    def measure(self, folder: Path, steps: int) -> Measurement:
        """Measure one run of a trainer that only logs."""
        run_id = self._people.create_run(RunCreate(name="ingest", recipe="countdown-demo")).id
        attempt = self._worker.claim(folder)
        command = [sys.executable, "-m", "benchmarks.ingest", "--trainer", str(attempt.folder), "--steps", str(steps)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write("go\n")
        process.stdin.flush()
        uploader = Uploader(self._worker.client, attempt)
        stored = 0.0
        while True:
            has_ended = process.poll() is not None
            while uploader.pump(everything=has_ended):
                stored = time.perf_counter()
            if has_ended:
                break
            time.sleep(POLL_SECONDS)
        said = json.loads(process.communicate()[0])
        self._worker.succeed(attempt, steps)
        assert self._people.run(run_id).step == steps
        return Measurement(steps * NUM_KEYS / (stored - said["begin"]), said["blocked_ms"])


# ---------------------------------------------------------------- the others


def python_of(tool: str, environments: Path) -> Path | None:
    """Return the Python of the tool's virtual environment, or `None` with a message if it cannot be installed."""
    try:
        return environment_of(tool.removesuffix("-async"), environments)
    except CannotInstallError as error:
        print(f"{tool} is left out: {error}", file=sys.stderr)
        return None


def measure_peer(tool: str, python: Path, steps: int) -> Measurement | None:
    """Measure one repetition in the tool's environment; return `None` with a message if it fails."""
    with tempfile.TemporaryDirectory(prefix="bapo-ingest-") as folder:
        command = [str(python), "-I", str(PEER_SCRIPT), tool, folder, str(steps), str(NUM_KEYS)]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=PEER_SECONDS)
    if result.returncode != 0:
        print(f"{tool} failed: {(result.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    said = json.loads(result.stdout.strip().splitlines()[-1])
    return Measurement(steps * NUM_KEYS / said["seconds"], said["blocked_ms"])


# ---------------------------------------------------------------- all of them


def measure_all(
    repetitions: int, steps: int, without: Sequence[str], environments: Path
) -> dict[str, list[Measurement]]:
    """Measure every tool once, then every tool again, and so on."""
    pythons = {tool: python_of(tool, environments) for tool in PEERS if tool not in without}
    found: dict[str, list[Measurement]] = {OURS: [], **{tool: [] for tool, python in pythons.items() if python}}
    with deployment() as server, tempfile.TemporaryDirectory(prefix="bapo-ingest-") as folder:
        worker = Worker(server)
        # No tool's first run counts: connections, caches, prepared statements.
        worker.measure(Path(folder) / "warm", steps)
        for repetition in range(repetitions):
            found[OURS].append(worker.measure(Path(folder) / str(repetition), steps))
            for tool, python in pythons.items():
                measurement = measure_peer(tool, python, steps) if python else None
                if measurement is not None:
                    found[tool].append(measurement)
    return found


def summary(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Return medians over the repetitions, with the smallest and the largest value."""
    speeds = [each.points_per_second for each in measurements]
    half = [median(each.blocked_ms) for each in measurements]
    worst = [quantiles(each.blocked_ms, n=100)[98] for each in measurements]
    return {
        "points_per_second": {"median": median(speeds), "lowest": min(speeds), "highest": max(speeds)},
        "blocked_ms_p50": {"median": median(half), "lowest": min(half), "highest": max(half)},
        "blocked_ms_p99": {"median": median(worst), "lowest": min(worst), "highest": max(worst)},
    }


def markdown(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return one line per tool."""
    heads = ["", "1,000 points/s until durable", "blocked per step p50, ms", "p99, ms"]
    rows = [
        [
            NAMES.get(tool, tool),
            _spread(figures["points_per_second"], ",.1f", 1000),
            _spread(figures["blocked_ms_p50"], ".2f"),
            _spread(figures["blocked_ms_p99"], ".2f"),
        ]
        for tool, figures in results.items()
    ]
    return table(heads, rows)


def _spread(figure: Mapping[str, float], form: str, unit: int = 1) -> str:
    middle, low, high = (f"{figure[name] / unit:{form}}" for name in ("median", "lowest", "highest"))
    return f"{middle} ({low}–{high})"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--without", default="", help="tools to leave out, separated by commas")
    parser.add_argument("--quick", action="store_true", help="one repetition of ours alone, printed and not written")
    parser.add_argument("--environments", type=Path, default=ENVIRONMENTS, help="folder of the virtual environments")
    parser.add_argument("--trainer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trainer is not None:
        trainer(options.trainer, options.steps)
        return
    without = list(PEERS) if options.quick else options.without.split(",")
    found = measure_all(1 if options.quick else options.repetitions, options.steps, without, options.environments)
    results = {tool: summary(measurements) for tool, measurements in found.items() if measurements}
    if options.quick:
        print(markdown(results))
        return
    pins = ", ".join(sorted({pin for tool in results for pin in PEERS.get(tool, ())}))
    write_report(
        "ingest",
        "How fast metrics become durable",
        {"steps": options.steps, "keys": NUM_KEYS, "peers": pins, "results": results},
        f"{options.steps} steps of {NUM_KEYS} metrics, logged "
        f"as fast as possible; median of {options.repetitions} interleaved repetitions, lowest and highest in "
        "brackets. Durable: committed by PostgreSQL (ours, whose records also hold 42 prompt visits a step), or all "
        "that the tool's own closing call waits for.",
        markdown(results),
        packages=("fastapi", "sqlalchemy", "psycopg"),
        setting=f"; {pins}",
    )


if __name__ == "__main__":
    main()
