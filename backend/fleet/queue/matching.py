"""Matches runs with machines: pure functions of needs and free capacity.

Runs are offered machines in the order of `backend.fleet.queue.order`. The first run that a machine could take, if it
were less busy, reserves that capacity: later runs get only what leaves enough for the first when the runs that are
there now have ended. So runs that need one GPU cannot delay one that needs four for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from backend.workers.machines import Machine
from bapo.config.resources import Needs
from bapo.run.stop_time import StopTime, seconds_to_fit


class Capacity(NamedTuple):
    """The part of a machine that one run takes."""

    machine: Machine
    gpus: tuple[int, ...]


def gpus_on(needs: Needs, machine: Machine) -> int:
    """Return the number of GPUs that the run takes of this machine."""
    return 0 if needs.gpus_optional and not machine.gpus else needs.gpus


def suitable_gpus(needs: Needs, machine: Machine) -> list[int]:
    """Return the machine's GPUs with enough memory, the smallest first, held or not."""
    least = needs.gpu_memory_gib or 0.0
    fit = [gpu for gpu in machine.gpus if not least or (gpu.memory_gib or 0.0) >= least]
    # A run takes no larger GPU than it needs while a smaller one is free.
    return [gpu.index for gpu in sorted(fit, key=lambda gpu: (gpu.memory_gib or 0.0, gpu.index))]


def could_take(needs: Needs, machine: Machine) -> bool:
    """Return whether the machine is large enough, were it empty."""
    has_memory = machine.memory_gib is None or needs.memory_gib <= machine.memory_gib
    return has_memory and gpus_on(needs, machine) <= len(suitable_gpus(needs, machine))


def has_time_for(time: StopTime, machine: Machine) -> bool:
    """Return whether the run can begin, make a step and be given back before the machine ends."""
    return machine.seconds_left is None or machine.seconds_left >= seconds_to_fit(time)


def capacity_on(needs: Needs, machine: Machine) -> Capacity | None:
    """Return the capacity that the run would take of the machine now; None if it is not free."""
    wanted = gpus_on(needs, machine)
    free = [index for index in suitable_gpus(needs, machine) if index not in machine.gpus_held]
    has_memory = machine.memory_gib is None or machine.memory_held_gib + needs.memory_gib <= machine.memory_gib
    if machine.slots_held >= machine.slots or len(free) < wanted or not has_memory:
        return None
    return Capacity(machine, tuple(sorted(free[:wanted])))


def taken(capacity: Capacity, needs: Needs) -> Machine:
    """Return the machine once the run is there."""
    machine = capacity.machine
    return machine._replace(
        slots_held=machine.slots_held + 1,
        gpus_held=machine.gpus_held | frozenset(capacity.gpus),
        memory_held_gib=machine.memory_held_gib + needs.memory_gib,
    )


class Reservation(NamedTuple):
    """Capacity that the first run that waits for it keeps."""

    machine_id: str
    needs: Needs

    def admits(self, capacity: Capacity, needs: Needs) -> bool:
        """Return whether a later run may take this capacity: there must be enough of everything for both."""
        if capacity.machine.id != self.machine_id:
            return True
        after = taken(capacity, needs)
        kept_gpus = gpus_on(self.needs, after)
        free = [index for index in suitable_gpus(self.needs, after) if index not in after.gpus_held]
        return (
            after.slots_held + 1 <= after.slots
            and (not capacity.gpus or len(free) >= kept_gpus)
            and (
                not needs.memory_gib
                or after.memory_gib is None
                or after.memory_held_gib + self.needs.memory_gib <= after.memory_gib
            )
        )


def best_capacity(needs: Needs, machines: Sequence[Machine], reservation: Reservation | None = None) -> Capacity | None:
    """Return the capacity that wastes least: a machine without GPUs for a run without, else with fewest GPUs left, then
    most free slots. Runs that can use a GPU but need none prefer a machine that has one."""
    capacities = [
        capacity for capacity in (capacity_on(needs, machine) for machine in machines) if capacity is not None
    ]
    allowed = [capacity for capacity in capacities if reservation is None or reservation.admits(capacity, needs)]

    def waste(capacity: Capacity) -> tuple[int, int, int]:
        machine = capacity.machine
        left = len(machine.gpus) - len(machine.gpus_held) - len(capacity.gpus)
        misses_gpu = int(needs.gpus_optional and not capacity.gpus)
        return misses_gpu, left, machine.slots_held - machine.slots

    return min(allowed, key=waste, default=None)


def reserve(needs: Needs, machines: Sequence[Machine]) -> Reservation | None:
    """Keep the machine that lacks least; None where none is large enough."""
    large = [machine for machine in machines if could_take(needs, machine)]
    if not large:
        return None

    def lacking(machine: Machine) -> tuple[int, float, int]:
        free = [index for index in suitable_gpus(needs, machine) if index not in machine.gpus_held]
        memory = 0.0
        if machine.memory_gib is not None:
            memory = max(0.0, machine.memory_held_gib + needs.memory_gib - machine.memory_gib)
        return (
            max(0, gpus_on(needs, machine) - len(free)),
            memory,
            max(0, machine.slots_held + 1 - machine.slots),
        )

    return Reservation(min(large, key=lacking).id, needs)


def why_never(needs: Needs, machines: Sequence[Machine], known: str = "connected") -> tuple[str, str] | None:
    """Return the config field that no machine can satisfy, and why; None where one could take the run.

    `known` says which machines these are: connected, or known.
    """
    if any(could_take(needs, machine) for machine in machines):
        return None
    most = max((len(machine.gpus) for machine in machines), default=0)
    wanted = 0 if needs.gpus_optional and any(not machine.gpus for machine in machines) else needs.gpus
    if wanted > most:
        has = f"the largest has {most}" if most else "none has any"
        return "resources.gpus", f"needs {_gpus(wanted)}, and no {known} worker has that many: {has}"
    if needs.gpu_memory_gib and not any(wanted <= len(suitable_gpus(needs, machine)) for machine in machines):
        has = _largest_gpu(machines, known)
        return "resources.gpu_memory_gib", (
            f"needs {_gpus(wanted)} with {needs.gpu_memory_gib:g} GiB of GPU memory, and {has}"
        )
    largest = max((machine.memory_gib or 0.0 for machine in machines), default=0.0)
    if needs.memory_gib > largest:
        return "resources.memory_gib", (
            f"needs {needs.memory_gib:g} GiB of memory, and the largest {known} worker has {largest:.4g} GiB"
        )
    return "resources.gpus", f"no {known} worker has {_gpus(wanted)} together with the memory that it needs"


def _gpus(number: int) -> str:
    return "1 GPU" if number == 1 else f"{number} GPUs"


def _largest_gpu(machines: Sequence[Machine], known: str) -> str:
    sizes = [gpu.memory_gib for machine in machines for gpu in machine.gpus if gpu.memory_gib is not None]
    if not sizes:
        return f"no {known} worker reports the memory of its GPUs"
    return f"no {known} worker has that much: the largest GPU has {max(sizes):.4g} GiB"


def why_not_now(needs: Needs, machines: Sequence[Machine]) -> str:
    """Return why a run waits that one of these machines could take."""
    large = [machine for machine in machines if could_take(needs, machine)]
    with_slot = [machine for machine in large if machine.slots_held < machine.slots]
    if not with_slot:
        return "waits for a free slot"
    wanted = max(gpus_on(needs, machine) for machine in with_slot)
    free = max(
        len([index for index in suitable_gpus(needs, machine) if index not in machine.gpus_held])
        for machine in with_slot
    )
    if free < wanted:
        return f"waits for {_gpus(wanted)} on one worker to be free"
    if all(capacity_on(needs, machine) is None for machine in with_slot):
        return f"waits for {needs.memory_gib:g} GiB of free memory"
    return "waits because capacity is reserved for a larger run that has waited longer"


class Placement(NamedTuple):
    """Capacity for a run, or the reason why it waits."""

    capacity: Capacity | None
    reason: str | None


def place_all(
    runs: Iterable[tuple[str, Needs]],
    machines: Sequence[Machine],
    may_go: Callable[[str, Machine], bool],
    refusal: Callable[[str], str | None],
    avoided: Callable[[str], Collection[str]],
) -> Iterator[tuple[str, Placement]]:
    """Offer each run, in order, what is free.

    `may_go` says whether a machine sees a run's folder, and `avoided` names machines that a run gets only where no
    other has capacity. `refusal` says why a run may not start whatever is free, such as that its owner has enough runs;
    it is asked when the run's turn comes, after the caller has seen what the runs before it got.
    """
    now = {machine.id: machine for machine in machines}
    reservation: Reservation | None = None
    for run_id, needs in runs:
        reason = refusal(run_id)
        if reason is not None:
            yield run_id, Placement(None, reason)
            continue
        open_to = [machine for machine in now.values() if may_go(run_id, machine)]
        shunned = avoided(run_id)
        preferred = [machine for machine in open_to if machine.id not in shunned]
        capacity = best_capacity(needs, preferred, reservation) or best_capacity(needs, open_to, reservation)
        if capacity is not None:
            now[capacity.machine.id] = taken(capacity, needs)
            yield run_id, Placement(capacity, None)
            continue
        never = why_never(needs, open_to)
        if never is None and reservation is None:
            reservation = reserve(needs, open_to)
        yield run_id, Placement(None, never[1] if never else why_not_now(needs, open_to))
