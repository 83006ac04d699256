"""Reads the queue's facts from the database and applies the rules of order and matching."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy.orm import Session

from backend.fleet.queue import repository
from backend.fleet.queue.matching import Placement, has_time_for, place_all
from backend.fleet.queue.order import WaitingPlace, in_order
from backend.fleet.queue.repository import Candidate, Holdings
from backend.kit.database import clock
from backend.settings.environment import Settings
from backend.workers.machines import Machine
from bapo.run.stop_time import seconds_to_fit


def line(session: Session, settings: Settings) -> tuple[list[Candidate], list[Candidate]]:
    """Return the waiting runs in the order in which they start, and the held ones by priority and age."""
    candidates = repository.candidates(session)
    kept = [each for each in candidates if each.held_by is not None]
    kept.sort(key=lambda each: (-each.priority, each.since, each.id))
    return ordered(session, settings, repository.holdings(session), candidates), kept


def ordered(
    session: Session, settings: Settings, holdings: Mapping[str, Holdings], waiting: Sequence[Candidate]
) -> list[Candidate]:
    """Return the waiting runs that may start, in the order in which they are offered machines."""
    candidates = {each.id: each for each in waiting if each.held_by is None}
    places = [
        WaitingPlace(each.id, each.owner_id, each.priority, each.since, each.share, each.place)
        for each in candidates.values()
    ]
    shares = {owner_id: each.share for owner_id, each in holdings.items()}
    now = clock(session).timestamp()
    return [
        candidates[place.id]
        for place in in_order(places, shares, now=now, patience_seconds=settings.queue_patience_seconds)
    ]


def placements(
    session: Session, settings: Settings, machines: Sequence[Machine], num_connected: int
) -> Iterator[tuple[Candidate, Placement]]:
    """Yield the placement of each unassigned waiting run; `machines` are the online workers that take runs."""
    holdings = repository.holdings(session)
    in_line = ordered(session, settings, holdings, repository.candidates(session))
    waiting = {run.id: run for run in in_line if not run.is_promised}
    num_held = Counter({owner_id: each.num_runs for owner_id, each in holdings.items()})
    now = clock(session)

    def sees_folder(run_id: str, machine: Machine) -> bool:
        return settings.runs_dir_shared or waiting[run_id].host in (None, machine.host)

    def may_go(run_id: str, machine: Machine) -> bool:
        return sees_folder(run_id, machine) and has_time_for(waiting[run_id].stop_time, machine)

    def refusal(run_id: str) -> str | None:
        run = waiting[run_id]
        most = settings.max_running_per_user if run.max_running is None else run.max_running
        if most is not None and num_held[run.owner_id] >= most:
            return f"waits: {run.owner} has {num_held[run.owner_id]} of {most} runs"
        if run.not_before is not None and run.not_before > now:
            return f"will be retried at {run.not_before:%H:%M:%S} UTC: {run.retry_reason}"
        if not machines:
            drained = "all online workers are draining" if num_connected else "none is connected"
            return f"waits for a worker: {drained}"
        seeing = [machine for machine in machines if sees_folder(run_id, machine)]
        if not seeing:
            return f"waits for a worker on {run.host}, which has its folder"
        if not any(has_time_for(run.stop_time, machine) for machine in seeing):
            needed = seconds_to_fit(run.stop_time)
            return f"waits for a worker that does not end soon: to start and to stop it needs {needed:.0f} s"
        return None

    def avoided(run_id: str) -> Sequence[str]:
        failed_on = waiting[run_id].failed_on
        return () if failed_on is None else (failed_on,)

    offers = [(run.id, run.needs) for run in waiting.values()]
    for run_id, placement in place_all(offers, machines, may_go, refusal, avoided):
        if placement.capacity is not None:
            num_held[waiting[run_id].owner_id] += 1
        yield waiting[run_id], placement
