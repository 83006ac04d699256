"""Adaptive thresholds c2, c3 and what they admit (arXiv:2602.20722, Eq. 8). Exact arithmetic throughout."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

ThresholdRange = tuple[Fraction, Fraction]
"""A threshold at r_tot = 0 and at r_tot = 1."""

MEAN_ACCURACY_WINDOW_STEPS = 10
"""Steps over which r_tot averages the fresh rewards; the paper does not define its "global average"."""


def threshold_at(r_tot: Fraction, bounds: ThresholdRange) -> Fraction:
    """Return c_i = r_tot·(c_i_high - c_i_low) + c_i_low (arXiv:2602.20722, Eq. 8)."""
    low, high = bounds
    return r_tot * (high - low) + low


def difficult_max_count(c1: Fraction, group_size: int) -> int:
    """Return the largest k with k/G ≤ c1."""
    return math.floor(c1 * group_size)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """c1, c2 and c3 of one step, as values and as counts of correct responses; groups are compared by the counts."""

    c1: Fraction
    c2: Fraction
    c3: Fraction
    r_tot: Fraction
    difficult_max: int
    reusable_min: int
    reusable_max: int
    """Counts as in `CountLimits`."""

    @classmethod
    def at(
        cls, r_tot: Fraction, *, c1: Fraction, c2: ThresholdRange, c3: ThresholdRange, group_size: int
    ) -> Thresholds:
        """Return the thresholds in force at mean accuracy r_tot."""
        (limits,) = count_limits([r_tot], c1=c1, c2=c2, c3=c3, group_size=group_size)
        return cls(c1, threshold_at(r_tot, c2), threshold_at(r_tot, c3), r_tot, **limits._asdict())

    def is_difficult(self, num_correct: int) -> bool:
        """Return whether k/G ≤ c1."""
        return num_correct <= self.difficult_max

    def is_reusable(self, num_correct: int) -> bool:
        """Return whether c2 ≤ k/G ≤ c3."""
        return self.reusable_min <= num_correct <= self.reusable_max


class CountLimits(NamedTuple):
    """Limits by which the thresholds of one step admit groups, in correct responses."""

    difficult_max: int
    """Largest k with k/G ≤ c1."""
    reusable_min: int
    """Smallest k with c2 ≤ k/G."""
    reusable_max: int
    """Largest k with k/G ≤ c3; below `reusable_min` where [c2, c3] admits no k/G."""


def count_limits(
    r_tots: Iterable[Fraction], *, c1: Fraction, c2: ThresholdRange, c3: ThresholdRange, group_size: int
) -> list[CountLimits]:
    """Return what the thresholds at each mean accuracy let in. In whole numbers: a twentieth of what fractions take."""
    difficult_max = difficult_max_count(c1, group_size)
    (slope_2, start_2, unit_2), (slope_3, start_3, unit_3) = (_whole_line(each, group_size) for each in (c2, c3))
    found = []
    for r_tot in r_tots:
        over, under = r_tot.numerator, r_tot.denominator
        reusable_min = -(-(slope_2 * over + start_2 * under) // (unit_2 * under))
        reusable_max = (slope_3 * over + start_3 * under) // (unit_3 * under)
        found.append(CountLimits(difficult_max, reusable_min, reusable_max))
    return found


def _whole_line(bounds: ThresholdRange, group_size: int) -> tuple[int, int, int]:
    """Return whole numbers with which c_i·G at r_tot = p/q is (slope·p + start·q) / (unit·q)."""
    low, high = bounds
    unit = math.lcm(low.denominator, high.denominator)
    start, end = int(low * unit), int(high * unit)
    return (end - start) * group_size, start * group_size, unit


def empty_r_tot_intervals(c2: ThresholdRange, c3: ThresholdRange, group_size: int) -> list[tuple[Fraction, Fraction]]:
    """Return the open intervals of r_tot in [0, 1] in which [c2, c3] contains no k/G, so that X3 starves.

    What `admitting_r_tot_intervals` leaves over; 0 and 1 themselves belong to a gap unless they are admitted.
    """
    gaps: list[tuple[Fraction, Fraction]] = []
    reached = Fraction(0)
    for start, end in admitting_r_tot_intervals(c2, c3, group_size):
        if start > reached:
            gaps.append((reached, start))
        reached = max(reached, end)
    if reached < 1:
        gaps.append((reached, Fraction(1)))
    return gaps


def admitting_r_tot_intervals(
    c2: ThresholdRange, c3: ThresholdRange, group_size: int
) -> list[tuple[Fraction, Fraction]]:
    """Return the closed intervals of r_tot in [0, 1] in which [c2, c3] contains some k/G, one per such k, by their
    start."""
    intervals = (_r_tot_admitting(Fraction(k, group_size), c2, c3) for k in range(group_size + 1))
    return sorted(interval for interval in intervals if interval is not None)


def _r_tot_admitting(accuracy: Fraction, c2: ThresholdRange, c3: ThresholdRange) -> tuple[Fraction, Fraction] | None:
    """Return the closed interval of r_tot in [0, 1] with c2(r_tot) ≤ accuracy ≤ c3(r_tot), or None."""
    start, end = Fraction(0), Fraction(1)
    # Both conditions as slope·r_tot ≤ room.
    for slope, room in ((c2[1] - c2[0], accuracy - c2[0]), (c3[0] - c3[1], c3[0] - accuracy)):
        if slope > 0:
            end = min(end, room / slope)
        elif slope < 0:
            start = max(start, room / slope)
        elif room < 0:
            return None
    return (start, end) if start <= end else None


class MeanAccuracy:
    """r_tot: mean reward of the fresh rollouts of the last ten steps; 0 before the first."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, int]] = deque(maxlen=MEAN_ACCURACY_WINDOW_STEPS)

    @property
    def value(self) -> Fraction:
        """Correct over generated responses, exact."""
        num_responses = sum(generated for _, generated in self._steps)
        return Fraction(sum(correct for correct, _ in self._steps), num_responses) if num_responses else Fraction(0)

    def add_step(self, num_correct: int, num_responses: int) -> None:
        """Count one step's fresh rollouts."""
        self._steps.append((num_correct, num_responses))

    def state_dict(self) -> dict[str, Any]:
        """Return the state, JSON-ready."""
        return {"steps": [list(step) for step in self._steps]}

    def load_state_dict(self, state: Mapping[str, Sequence[Sequence[int]]]) -> None:
        """Restore what `state_dict` gave."""
        self._steps = deque(
            ((correct, generated) for correct, generated in state["steps"]), maxlen=MEAN_ACCURACY_WINDOW_STEPS
        )
