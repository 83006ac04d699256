"""Effect of a server outage on a run that trains, and the time until all its records are stored afterwards.

    python -m benchmarks.outage [--minutes 10] [--quick]

Starts `bapo up` with two slots and submits two equal runs. One trains through a server that is up; then the backend is
held still for ten minutes and comes back. The other run is looked after by a worker of a second product that is never
disturbed, at the same time on the same machine. Compared: CPU seconds per step of the two trainers in that time, and
seconds from the server's return until all records written meanwhile can be read. Writes docs/benchmarks/outage.json
and outage.md.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import psutil

from bapo.api.runs import RunCreate
from bapo.client import Client
from benchmarks.demo import product
from benchmarks.report import command_line, table, write_report

RUN = {
    "task.num_train": 512,
    "task.num_test": 8,
    "rollout.batch_size": 12,
    "rollout.group_size": 4,
    "training.batch_size": 12,
    "training.steps": 20_000,
    "training.checkpoint_interval": 50,
    "tracking.interval": 1_000,
    "tracking.num_prompts": 8,
    "evaluation.interval": 1_000,
    "evaluation.num_samples": 1,
}
"""Short steps, so that an outage has many."""
WARM_STEPS = 10
PAUSE_SECONDS = 0.2
QUICK_MINUTES = 0.25


@dataclass(frozen=True)
class Watched:
    """One `bapo up` with one run."""

    folder: Path
    client: Client
    run_id: str

    def steps(self) -> list[dict[str, Any]]:
        """Return the steps that the trainer has recorded."""
        path = self.folder / "runs" / self.run_id / "attempt-1" / "records.jsonl"
        if not path.exists():
            return []
        whole = path.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in whole.split(b"\n") if b'"type":"step"' in line[:40]]

    def backend(self) -> psutil.Process:
        """Return the server's process."""
        entries = json.loads((self.folder / "processes.json").read_bytes())
        return psutil.Process(next(entry["pid"] for entry in entries if entry["name"] == "backend"))


@contextmanager
def training(folder: Path) -> Iterator[Watched]:
    """Run `bapo up` with a run that trains, and yield both."""
    with product(folder) as (url, token), Client(url, token=token) as client:
        run = client.create_run(RunCreate(name="outage", recipe="countdown-demo", changes=RUN))
        yield Watched(folder, client, run.id)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition is true."""
    while not condition():
        time.sleep(PAUSE_SECONDS)


def numbers_between(steps: Sequence[dict[str, Any]], begin: float, end: float) -> set[int]:
    """Return the numbers of the steps that ended between two moments."""
    return {step["step"] for step in steps if begin <= step["timing"]["unix_time"] <= end}


def cpu_per_step(steps: Sequence[dict[str, Any]], numbers: set[int]) -> float:
    """Return the mean CPU seconds per step that a trainer spent on these steps."""
    return mean(float(step["timing"]["step_cpu"]) for step in steps if step["step"] in numbers)


def measure(folder: Path, minutes: float) -> dict[str, Any]:
    """Measure one outage."""
    with training(folder / "disturbed") as disturbed, training(folder / "undisturbed") as other:
        wait_until(lambda: len(disturbed.steps()) >= WARM_STEPS and len(other.steps()) >= WARM_STEPS)
        backend = disturbed.backend()
        before = time.time()
        # Both up for a while: what differs between the two trainers by itself.
        time.sleep(60 * minutes / 4)
        begin = time.time()
        backend.suspend()
        time.sleep(60 * minutes)
        end = time.time()
        written = len(disturbed.steps())
        backend.resume()
        returned = time.monotonic()
        wait_until(lambda: disturbed.client.run(disturbed.run_id).step >= written)
        seconds = time.monotonic() - returned
        stored = disturbed.client.metrics(disturbed.run_id, keys=["training/global_step"])
        numbers = [value for value in stored.columns["training/global_step"] if value is not None]
        assert numbers[:written] == list(range(1, written + 1)), "a step is missing or doubled"
        run = disturbed.client.run(disturbed.run_id)
        steps = {name: each.steps() for name, each in (("disturbed", disturbed), ("undisturbed", other))}
    # The runs are equal, so the same steps are the same work, whenever each of the two came to them.
    reached = {step["step"] for step in steps["undisturbed"]}
    up = numbers_between(steps["disturbed"], before, begin) & reached
    down = numbers_between(steps["disturbed"], begin, end) & reached
    figures = {
        name: {"before": cpu_per_step(found, up), "during": cpu_per_step(found, down), "num_steps": len(down)}
        for name, found in steps.items()
    }
    ratio = figures["disturbed"]["during"] / figures["undisturbed"]["during"]
    return {
        "minutes": minutes,
        "cpu_seconds_per_step": figures,
        "ratio": ratio,
        "ratio_while_both_were_up": figures["disturbed"]["before"] / figures["undisturbed"]["before"],
        "seconds_until_all_is_there": seconds,
        "attempts": run.attempt,
    }


def main() -> None:
    """Run the benchmark."""
    options = command_line(__doc__, minutes=10.0, quick=(False, "a quarter of a minute, printed and not written"))
    with tempfile.TemporaryDirectory(prefix="bapo-outage-") as folder:
        results = measure(Path(folder), QUICK_MINUTES if options.quick else options.minutes)
    if options.quick:
        print(json.dumps(results, indent=2))
        return
    figures = results["cpu_seconds_per_step"]
    rows = [
        [name, f"{each['before']:.4f}", f"{each['during']:.4f}", str(each["num_steps"])]
        for name, each in figures.items()
    ]
    write_report(
        "outage",
        f"A server that is down for {results['minutes']:g} minutes while a run trains",
        results,
        table(["run", "CPU s per step while both were up", "during the outage", "steps"], rows),
        f"During the outage a step of the disturbed run took {results['ratio']:.3f} times the CPU seconds of "
        f"the undisturbed one ({results['ratio_while_both_were_up']:.3f} times while both were up). All records were "
        f"there {results['seconds_until_all_is_there']:.1f} s after the server's return, each once, in attempt "
        f"{results['attempts']}.",
        setting="; two products side by side, each with one run of the same config; the backend of one is held still",
    )


if __name__ == "__main__":
    main()
