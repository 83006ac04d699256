"""Real runs through the real product while parts of it are killed, hang, are cut off or full, by a seeded schedule.

    python -m tests.chaos.harness --seed 1 --faults 100 [--minutes 30] [--wall-clock]
    python -m tests.chaos.harness --day 2026-11-24

The clock that jumps is the database's, by which leases, retries and retention are decided; `--wall-clock` lets
that of every process jump instead, and needs a C compiler.
`--minutes` goes on with schedules of further seeds until the time is over; `--day` is what ./test did that day (UTC).
The faults and their order follow from the seed; when they happen, and to which step, is up to the machine.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

from tests.chaos.clock import Clock, WallClock
from tests.chaos.faults import LASTING, Faults, NotNowError, Undo
from tests.chaos.invariants import check_all
from tests.chaos.people import People
from tests.chaos.schedule import Fault, Schedule, draw, draw_for
from tests.chaos.world import World
from tests.support.stack import Stack

TICK_SECONDS = 0.1
GIVE_UP_SECONDS = 300.0
"""For a fault whose victim does not show up."""
STUCK_SECONDS = 600.0
"""After the last fault, without any run getting on: longer than leases, retries and time limits together, on a busy
machine."""


class Chaos:
    """One schedule on one world."""

    def __init__(self, world: World, schedule: Schedule) -> None:
        self._world = world
        self._schedule = schedule
        self._people = People(world, schedule)
        self._faults = Faults(world, self._people.submit_one_more)
        self._undos: list[tuple[float, str, Undo]] = []
        self.done: Counter[str] = Counter()

    def run(self, folder: Path) -> None:
        """All faults, the end of all runs, and what must hold then. Raises AssertionError where it does not."""
        say = self._world.say
        say(f"seed {self._schedule.seed}: {len(self._schedule.faults)} faults")
        self._people.start()
        for fault in self._schedule.faults:
            self._wait(fault.pause)
            self._do(fault)
        self._people.finish()
        began = time.monotonic()
        while self._people.is_alive():
            assert time.monotonic() < max(began, self._people.moved) + STUCK_SECONDS, "runs are stuck: " + "; ".join(
                run.state for run in self._people.runs if run.ended is None
            )
            self._wait(TICK_SECONDS)
        self._wait(max((when for when, _, _ in self._undos), default=0.0) - time.monotonic())
        self._ask_after_people()
        say(f"{len(self._people.runs)} runs have ended after {self.done.total()} faults")
        check_all(self._world, self._people.runs, folder)
        counts = ", ".join(f"{kind} {count}×" for kind, count in sorted(self.done.items()))
        say(f"every record is there once; faults: {counts}")

    def _do(self, fault: Fault) -> None:
        deadline = time.monotonic() + GIVE_UP_SECONDS
        while True:
            try:
                undo = self._faults.do(fault)
                break
            except NotNowError:
                assert time.monotonic() < deadline, f"no chance to: {fault.kind}"
                self._wait(TICK_SECONDS)
        self.done[fault.kind] += 1
        seconds = fault.seconds + LASTING.get(fault.kind, 0.0)
        self._world.say(f"fault {self.done.total()}: {fault.kind}" + (f" for {seconds:.1f} s" if undo else ""))
        if undo is not None:
            self._undos.append((time.monotonic() + seconds, fault.kind, undo))

    def _wait(self, seconds: float) -> None:
        """Let time pass: faults end, and the remote worker is kept up."""
        end = time.monotonic() + seconds
        while True:
            for entry in [entry for entry in self._undos if entry[0] <= time.monotonic()]:
                self._undos.remove(entry)
                entry[2]()
                self._world.say(f"over: {entry[1]}")
            self._world.supervise()
            self._ask_after_people()
            if time.monotonic() >= end:
                return
            time.sleep(min(TICK_SECONDS, max(0.0, end - time.monotonic())))

    def _ask_after_people(self) -> None:
        if self._people.failure is not None:
            raise AssertionError("what people did failed") from self._people.failure


def run_schedule(stack: Stack, schedule: Schedule, folder: Path, clock: Clock | None = None) -> Chaos:
    """Start everything, break it, check, and end it; what is left then is a failure too."""
    world = World(stack, clock)
    world.start()
    chaos = Chaos(world, schedule)
    chaos.run(folder)
    assert world.stop_remote() == 0
    assert stack.stop() == 0
    world.proxy.close()
    assert stack.processes() == [], "processes are left"
    return chaos


def main() -> None:
    """Schedules by hand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=50, help="per schedule")
    parser.add_argument("--day", type=date.fromisoformat, help="the schedule of ./test on this day, once")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--wall-clock", action="store_true", help="let the clock of every process jump")
    parser.add_argument("--keep", action="store_true", help="keep the folder of a schedule that failed")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    seed = options.seed
    while True:
        place = Path(tempfile.mkdtemp(prefix="bapo-chaos-"))
        stack = Stack(place / "data")
        is_kept = options.keep
        try:
            schedule = draw_for(options.day) if options.day else draw(seed, options.faults)
            clock = WallClock(place) if options.wall_clock else None
            run_schedule(stack, schedule, place, clock)
            is_kept = False
        finally:
            stack.close()
            if not is_kept:
                shutil.rmtree(place, ignore_errors=True)
        seed += 1
        if options.day or time.monotonic() >= end:
            return


if __name__ == "__main__":
    main()
