"""What is broken when: drawn from a seed, so that it can be drawn again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

FAULTS = (
    "kill a trainer",
    "kill the worker",
    "kill the remote worker",
    "kill the backend",
    "kill the frontend",
    "kill Redis",
    "kill PostgreSQL",
    "kill everything but the trainers",
    "Redis hangs while a run is submitted",
    "Redis' folder is deleted",
    "the backend hangs",
    "the remote worker hangs for longer than its lease",
    "the network refuses",
    "the network is silent",
    "an upload is cut off",
    "an answer is lost and the backend killed after its commit",
    "a trainer's disk is full",
    "a worker's disk is full",
    "PostgreSQL's disk is full",
    "the disk is full for bapo up while Redis is killed",
    "the clock jumps ahead",
    "the clock jumps back",
    "the clock jumps three days ahead",
    "the clock jumps three days back",
    "deliveries are doubled and reordered",
    "another worker claims",
    "a trainer is killed and its newest checkpoint damaged",
    "the folder of a run is deleted",
    "the folder of a run is read-only",
)
WEIGHTS = {"kill a trainer": 3, "kill everything but the trainers": 0}
"""How often a fault is drawn beyond its first time, where not once; the heaviest comes once."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.3, 2.0


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong."""

    kind: str
    pause: float
    """Seconds since the fault before."""
    seconds: float
    """How long it lasts, where it lasts; at least a lease where that matters."""
    pick: float
    """In [0, 1): which of several it hits, and how much."""


@dataclass(frozen=True)
class Plan:
    """What somebody does with a run."""

    training_seed: int
    change: dict[str, Any] | None = None
    """Parameters asked for at `at_step`."""
    pause: bool = False
    """Pause at `at_step`, and resume."""
    stop: bool = False
    """Stop at `at_step`."""
    at_step: int = 0


@dataclass(frozen=True)
class Schedule:
    """All of it."""

    seed: int
    faults: Sequence[Fault]
    plans: Sequence[Plan]


def draw(seed: int, num_faults: int, num_plans: int = 1_000, among: Sequence[str] = FAULTS) -> Schedule:
    """Every fault once, as far as there is room, then more of all at random; in random order."""
    dice = random.Random(seed)
    kinds = dice.sample(among, min(num_faults, len(among)))
    weights = [WEIGHTS.get(kind, 1) for kind in FAULTS]
    kinds += dice.choices(FAULTS, weights, k=num_faults - len(kinds))
    dice.shuffle(kinds)
    faults = [
        Fault(kind, dice.uniform(SHORTEST_PAUSE, LONGEST_PAUSE), dice.uniform(1.0, 4.0), dice.random())
        for kind in kinds
    ]
    return Schedule(seed, faults, [_plan(dice, number) for number in range(num_plans)])


def draw_for(day: date) -> Schedule:
    """Half of the faults, once each; the next day or the day before has the other half."""
    number = day.toordinal()
    shuffled = random.Random(number // 2).sample(FAULTS, len(FAULTS))
    half = shuffled[number % 2 :: 2]
    return draw(number, len(half), among=half)


def _plan(dice: random.Random, number: int) -> Plan:
    training_seed = 1 + number % 2
    at_step = dice.randint(4, 34)
    match number % 6:
        case 1:
            return Plan(training_seed, change={"method.v": 5, "method.m": 3}, at_step=20)
        case 3:
            return Plan(training_seed, pause=True, at_step=at_step)
        case 5:
            return Plan(training_seed, stop=True, at_step=at_step)
    return Plan(training_seed)
