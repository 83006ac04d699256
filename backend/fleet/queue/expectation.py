"""Estimates when each waiting run will start, from the remaining time of active runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backend.fleet.queue.matching import Capacity, best_capacity
from backend.workers.machines import Gpu, Machine
from bapo.api.queue import HeldRun, WorkerSlots
from bapo.config.resources import Needs

MOST_EXPECTED = 100
"""Waiting runs from the first on that are looked at; what comes after them is far away."""


class Waiting(NamedTuple):
    """A run in line."""

    needs: Needs
    is_promised: bool = False
    """A worker has room for it already."""
    host: str | None = None
    """Only workers of this host can take it; None: any."""


class _Taken(NamedTuple):
    """Capacity that a run in line will take; how long it will keep it is not guessed."""

    seconds: float
    capacity: Capacity
    needs: Needs


class _Future(NamedTuple):
    """A worker with the runs that it has and is expected to get."""

    worker: WorkerSlots
    taken: list[_Taken]

    def moments(self) -> list[float]:
        """Return the times, in seconds from now, at which capacity becomes free; the first is 0."""
        return [0.0, *sorted({run.eta_seconds for run in self.worker.runs if run.eta_seconds})]

    def from_then_on(self, seconds: float) -> Machine:
        """Return the worker with everything held that will be held at that time or, by a run in line, later."""
        moments = [seconds, *(each.seconds for each in self.taken if each.seconds > seconds)]
        states = [self._at(moment) for moment in moments]
        worker = self.worker
        return Machine(
            id=worker.id,
            name=worker.name,
            host=worker.host,
            slots=worker.slots,
            gpus=[Gpu(gpu.index, gpu.memory_gib) for gpu in worker.gpus],
            memory_gib=worker.memory_gib,
            slots_held=max(slots for slots, _, _ in states),
            gpus_held=frozenset().union(*(gpus for _, gpus, _ in states)),
            memory_held_gib=max(memory for _, _, memory in states),
        )

    def _at(self, seconds: float) -> tuple[int, frozenset[int], float]:
        runs = [run for run in self.worker.runs if not _has_ended(run, seconds)]
        coming = [each for each in self.taken if each.seconds <= seconds]
        gpus = [*(run.gpus for run in runs), *(each.capacity.gpus for each in coming)]
        memory = sum(run.memory_gib for run in runs) + sum(each.needs.memory_gib for each in coming)
        return len(runs) + len(coming), frozenset().union(*gpus), memory


def _has_ended(run: HeldRun, seconds: float) -> bool:
    return run.eta_seconds is not None and run.eta_seconds <= seconds


def expected_seconds(waiting: Sequence[Waiting], online: Sequence[WorkerSlots]) -> list[float | None]:
    """Return the expected wait of each queued run, in order, for a slot, GPUs and memory on one worker.

    Only runs whose remaining time is known free capacity, and a run that finds it keeps it. `None` if unknown.
    """
    futures = [_Future(worker, []) for worker in online if not worker.draining]
    # Capacity only ever becomes less for those behind.
    hopeless: set[tuple[Needs, str | None]] = set()
    found: list[float | None] = []
    for run in waiting[:MOST_EXPECTED]:
        seconds = None
        if run.is_promised:
            seconds = 0.0
        elif (run.needs, run.host) not in hopeless:
            seconds = _earliest(run, futures)
            if seconds is None:
                hopeless.add((run.needs, run.host))
        found.append(seconds)
    return found + [None] * (len(waiting) - len(found))


def _earliest(run: Waiting, futures: Sequence[_Future]) -> float | None:
    allowed = {each.worker.id: each for each in futures if run.host in (None, each.worker.host)}
    for seconds in sorted({moment for each in allowed.values() for moment in each.moments()}):
        capacity = best_capacity(run.needs, [each.from_then_on(seconds) for each in allowed.values()])
        if capacity is not None:
            allowed[capacity.machine.id].taken.append(_Taken(seconds, capacity, run.needs))
            return seconds
    return None
