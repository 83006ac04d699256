"""The recorded stream of a run, ready for replay, and a model of re-evaluations that never happened."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.visits import SOURCES, Visits
from bapo.draws import seed_of
from bapo.rollout import BatchSource
from bapo.thresholds import MeanAccuracy

_FRESH, _REEVALUATED, _REUSED = (
    SOURCES.index(source) for source in (BatchSource.FRESH, BatchSource.REEVALUATED, BatchSource.REUSED)
)
Counts = NDArray[np.int64]


class RecordedCounts(NamedTuple):
    """Counts of the run's own batches by step, read off its visits."""

    fresh: Counts
    reevaluated: Counts
    x1: Counts
    x2: Counts
    x3: Counts


class Answers(NamedTuple):
    """Outcomes of re-evaluations, recorded or estimated."""

    num_correct: Counts
    is_estimated: NDArray[np.bool_]
    """No such re-evaluation was recorded: drawn."""


class RecordedStream:
    """The steps 1..n of a run. Prompts are numbered by their identifiers' order, which breaks ties as BAPO does."""

    def __init__(self, visits: Visits) -> None:
        self.group_size = visits.group_size
        self.num_steps = _steps_without_gap(visits.step)
        end = int(np.searchsorted(visits.step, self.num_steps, side="right"))
        order = sorted(range(len(visits.prompt_ids)), key=visits.prompt_ids.__getitem__)
        self.prompt_ids = [visits.prompt_ids[code] for code in order]
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        step, source = visits.step[:end].astype(np.int64), visits.source[:end]
        prompt, num_correct = rank[visits.prompt[:end]], visits.num_correct[:end].astype(np.int64)
        fresh = source == _FRESH
        self.fresh_prompt = prompt[fresh]
        self.fresh_num_correct = num_correct[fresh]
        self.fresh_step = step[fresh]
        self.first_fresh: Counts = np.searchsorted(self.fresh_step, np.arange(1, self.num_steps + 2))
        """Row of each step's first fresh group, and the end."""
        self.recorded = self._recorded_counts(step, source, visits.in_batch[:end])
        answered = source != _REUSED
        self.evaluations = Evaluations(
            step[answered], prompt[answered], num_correct[answered], source[answered] == _REEVALUATED, len(order)
        )

    @property
    def num_prompts(self) -> int:
        """Distinct prompts that were seen."""
        return len(self.prompt_ids)

    def fresh_slices(self) -> list[slice]:
        """Rows of each step's fresh groups."""
        return [slice(begin, end) for begin, end in pairwise(self.first_fresh.tolist())]

    @cached_property
    def earlier_fresh_row(self) -> Counts:
        """For each fresh row, the row of the same prompt before it, or -1."""
        pairs = _neighbours(self.fresh_prompt)
        earlier = np.full(len(self.fresh_prompt), -1, np.int64)
        earlier[pairs.later] = pairs.earlier
        return earlier

    @cached_property
    def mean_accuracy(self) -> list[Fraction]:
        """r_tot in force in each step, and after the last: a matter of the fresh groups alone."""
        window = MeanAccuracy()
        values = [window.value]
        for rows in self.fresh_slices():
            window.add_step(int(self.fresh_num_correct[rows].sum()), (rows.stop - rows.start) * self.group_size)
            values.append(window.value)
        return values

    def _recorded_counts(self, step: Counts, source: NDArray[np.int8], in_batch: NDArray[np.bool_]) -> RecordedCounts:
        def per_step(chosen: NDArray[np.bool_]) -> Counts:
            return np.bincount(step[chosen], minlength=self.num_steps + 1)[1:]

        return RecordedCounts(
            per_step(source == _FRESH),
            per_step(source == _REEVALUATED),
            per_step((source == _FRESH) & in_batch),
            per_step((source == _REEVALUATED) & in_batch),
            per_step((source == _REUSED) & in_batch),
        )

    @cached_property
    def prompt_bits(self) -> NDArray[np.uint64]:
        """64 bits of each identifier: what is drawn for a prompt does not depend on which others were seen."""
        digests = b"".join(hashlib.sha256(prompt_id.encode()).digest()[:8] for prompt_id in self.prompt_ids)
        return np.frombuffer(digests, dtype="<u8")

    @cached_property
    def cumulative_chances(self) -> NDArray[np.float64]:
        """k + P(count ≤ j | k) for k, j = 0..G, one row of G + 1 after the other: increasing, so that one search finds
        any."""
        return np.concatenate([k + beta_binomial_cumulative(k, self.group_size) for k in range(self.group_size + 1)])


class Evaluations:
    """Every answer of a policy to a prompt, by step."""

    def __init__(
        self, step: Counts, prompt: Counts, num_correct: Counts, is_repeated: NDArray[np.bool_], num_prompts: int
    ) -> None:
        self.step = step
        self.prompt = prompt
        self.num_correct = num_correct
        self.is_repeated = is_repeated
        """Re-evaluations, not fresh groups."""
        later = _neighbours(prompt)
        self.has_later = np.zeros(len(step), np.bool_)
        self.later_row = np.zeros(len(step), np.int64)
        self.has_later[later.earlier] = True
        self.later_row[later.earlier] = later.later
        self.first_row = np.zeros(num_prompts, np.int64)
        """Each prompt's first answer."""
        self.first_row[prompt[::-1]] = np.arange(len(step))[::-1]


class ReevaluationModel:
    """Looks up or estimates the outcome of a re-evaluation, for steps in rising order."""

    def __init__(self, stream: RecordedStream, seed: int) -> None:
        self._stream = stream
        self._seed = seed
        self._nearest_row = stream.evaluations.first_row.copy()
        """Each prompt's first answer at or after the step, or its last one before where there is none."""
        self._num_passed = 0

    def answers(self, prompts: Counts, step: int, replicates: Counts) -> Answers:
        """Returns the outcomes of re-evaluating these prompts, each for one of the replicates.

        Exactly what was recorded where the run re-evaluated the prompt in this very step. Else the accuracy p is drawn
        from Beta(k + ½, G - k + ½), Jeffreys' posterior after the prompt's nearest answer with k right responses (the
        next one, or the last one before where there is none), and the count from Binomial(G, p). A draw depends on
        (seed, step, prompt, replicate) alone.
        """
        self._move_to(step)
        stream, known = self._stream, self._stream.evaluations
        rows = self._nearest_row[prompts]
        nearest = known.num_correct[rows]
        is_estimated = (known.step[rows] != step) | ~known.is_repeated[rows]
        if not is_estimated.any():
            return Answers(nearest, is_estimated)
        salts = _mixed(np.uint64(seed_of(self._seed, step, "what-if")) + _apart(np.arange(replicates.max() + 1)))
        uniform = (_mixed(stream.prompt_bits[prompts] ^ salts[replicates]) >> np.uint64(11)) * 2.0**-53
        places = np.searchsorted(stream.cumulative_chances, nearest + uniform, side="right")
        # k + uniform may round up to k + 1.
        drawn = np.minimum(places - nearest * (stream.group_size + 1), stream.group_size)
        return Answers(np.where(is_estimated, drawn, nearest), is_estimated)

    def _move_to(self, step: int) -> None:
        known = self._stream.evaluations
        end = int(np.searchsorted(known.step, step))
        passed = np.flatnonzero(known.has_later[self._num_passed : end]) + self._num_passed
        # Of a prompt's several rows the last one counts.
        self._nearest_row[known.prompt[passed]] = known.later_row[passed]
        self._num_passed = end


def beta_binomial_cumulative(num_correct: int, group_size: int) -> NDArray[np.float64]:
    """P(count ≤ j), j = 0..G, with p ~ Beta(k + ½, G - k + ½) and count ~ Binomial(G, p)."""
    a, b = num_correct + 0.5, group_size - num_correct + 0.5

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    # C(G, j) = 1 / ((G + 1)·B(j + 1, G - j + 1)), up to a factor that the division below takes out.
    logarithms = [
        log_beta(j + a, group_size - j + b) - log_beta(j + 1, group_size - j + 1) - log_beta(a, b)
        for j in range(group_size + 1)
    ]
    cumulative = np.cumsum(np.exp(logarithms))
    return np.asarray(cumulative / cumulative[-1])


def _steps_without_gap(steps: NDArray[np.int32]) -> int:
    """The last of the steps 1, 2, … that are all there."""
    present: Sequence[int] = np.unique(steps).tolist()
    return next((index for index, step in enumerate(present) if step != index + 1), len(present))


class _Neighbours(NamedTuple):
    """Rows of one prompt that follow one another."""

    earlier: Counts
    later: Counts


def _neighbours(prompts: Counts) -> _Neighbours:
    order = np.argsort(prompts, kind="stable")
    same = prompts[order[1:]] == prompts[order[:-1]]
    return _Neighbours(order[:-1][same], order[1:][same])


def _apart(numbers: Counts) -> NDArray[np.uint64]:
    """Numbers far apart, for `_mixed`."""
    return numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input moves half of the output's."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
