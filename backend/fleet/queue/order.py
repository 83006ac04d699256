"""Orders waiting runs: pure functions of what waits and what each owner's runs hold."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple


class WaitingPlace(NamedTuple):
    """Facts that decide the place of a waiting run."""

    id: str
    owner_id: str
    priority: int
    since: float
    """When it was queued, Unix seconds; runs that their owner rearranges exchange theirs."""
    share: int
    """Share that it will hold: its GPUs, or one slot."""
    place: int | None = None
    """Given by an administrator."""


def in_order(
    waiting: Sequence[WaitingPlace], held: Mapping[str, int], *, now: float, patience_seconds: float
) -> list[WaitingPlace]:
    """Return the runs in the order in which they are offered machines.

    A higher priority comes first. Within a priority come first the runs that an administrator gave a place; then those
    that have waited for `patience_seconds` or longer, by age; then the others, fairly: each next run is the oldest one
    of the owner who has least, counting what the owner's runs hold now (`held`: GPUs, or one slot each) and what runs
    of the owner come earlier in this order. The oldest decides between owners who have the same.

    The second rule is what makes the order free of starvation: only runs older than it, which are finitely many, can
    come before a run of the same priority that has waited that long.
    """
    shares = defaultdict(int, held)
    ordered: list[WaitingPlace] = []
    by_priority = sorted(waiting, key=lambda run: -run.priority)
    for _, members in groupby(by_priority, key=lambda run: run.priority):
        runs = sorted(members, key=_age)
        placed = sorted((run for run in runs if run.place is not None), key=lambda run: (run.place, *_age(run)))
        others = [run for run in runs if run.place is None]
        overdue = [run for run in others if now - run.since >= patience_seconds]
        for run in (*placed, *overdue):
            shares[run.owner_id] += run.share
            ordered.append(run)
        ordered += _fairly([run for run in others if now - run.since < patience_seconds], shares)
    return ordered


def _age(run: WaitingPlace) -> tuple[float, str]:
    return run.since, run.id


def _fairly(runs: Sequence[WaitingPlace], shares: defaultdict[str, int]) -> Iterator[WaitingPlace]:
    """Yield runs that are given by age, so that the owner with least comes next; `shares` grows with them."""
    queues: dict[str, list[WaitingPlace]] = defaultdict(list)
    for run in reversed(runs):
        queues[run.owner_id].append(run)
    heads = [(shares[owner], *_age(queue[-1]), owner) for owner, queue in queues.items()]
    heapq.heapify(heads)
    while heads:
        *_, owner = heapq.heappop(heads)
        run = queues[owner].pop()
        shares[owner] += run.share
        yield run
        if queues[owner]:
            heapq.heappush(heads, (shares[owner], *_age(queues[owner][-1]), owner))
