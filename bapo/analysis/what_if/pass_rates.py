"""Distribution of the pass rates p of a run's prompts, and draws from it: the prior of every estimate.

A prompt's p is the chance of one response of the policy to be right. The distribution over prompts is fitted to the
counts k of G of the run's fresh groups, separately for stretches of steps, since the policy changes. After k of G, p is
drawn from

    P(p | k) ∝ P(p) · p^k · (1 - p)^(G - k)

and for a prompt that the run did not visit from P(p) itself. Each replicate has its own fit: to prompts drawn again
(Bayesian bootstrap: each prompt weighs Exp(1)), begun in turns at equal weights and at the beta-binomial fit, between
which the counts do not decide. So an interval over replicates covers what is not known of the distribution too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.success_rates import GRID, fit_beta, likelihood_of, maximised, pairs_of
from bapo.draws import seed_of

Bits = NDArray[np.uint64]


def bits_of(prompt_ids: Sequence[str]) -> Bits:
    """Return 64 bits of each identifier: what is drawn for a prompt does not depend on which others were seen."""
    digests = b"".join(hashlib.sha256(prompt_id.encode()).digest()[:8] for prompt_id in prompt_ids)
    return np.frombuffer(digests, dtype="<u8")


def bits_of_places(num: int) -> Bits:
    """Return 64 bits for each of the places 0..num - 1 of prompts that have no name."""
    return _mixed(_apart(np.arange(1, num + 1)))


def uniforms(
    seed: int, step: int, purpose: str, bits: Bits, replicates: NDArray[np.int64] | int
) -> NDArray[np.float64]:
    """Return one number in [0, 1) for each pair of bits and replicate; it depends on these and the key alone."""
    salts = _mixed(np.uint64(seed_of(seed, step, purpose)) + _apart(np.atleast_1d(replicates)))
    return np.asarray((_mixed(bits ^ salts) >> np.uint64(11)) * 2.0**-53)


def _apart(numbers: NDArray[np.int64]) -> Bits:
    """Shift the numbers far apart, for `_mixed`."""
    return np.asarray(numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def _mixed(bits: Bits) -> Bits:
    """Return the finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input moves half of the
    output's."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

LEAST_GROUPS = 500
"""Fewest groups of a stretch, unless the run has fewer."""
MOST_STRETCHES = 24
JEFFREYS_GROUPS = 2.0
"""Groups of prompts with p ~ Beta(½, ½) that join those of every stretch, so that no count is impossible."""
_EM_ROUNDS = 60
_CELLS = 128
"""Equal parts of [0, 1), a power of 2, so that the part of a number is exact."""


class Quantiles:
    """Inverts cumulative chances: finds outcomes by uniform numbers."""

    def __init__(self, cumulative: Floats) -> None:
        """Take one distribution per row: [rows, outcomes]."""
        num_rows, self._num_outcomes = cumulative.shape
        rows = np.arange(num_rows)[:, None]
        # Row + cumulative chance increases from row to row, so that one search finds any.
        self._ends = (cumulative + rows).ravel()
        edges = self._search(np.repeat(rows, _CELLS + 1, axis=1), np.arange(_CELLS + 1) / _CELLS)
        # A uniform number between edges of one outcome needs no search, which takes ten times as long.
        self._known = np.where(edges[:, :-1] == edges[:, 1:], edges[:, :-1], -1).ravel()

    def at(self, rows: Counts, uniform: Floats) -> Counts:
        """Return an outcome of each of these rows."""
        found = self._known[rows * _CELLS + (uniform * _CELLS).astype(np.int64)]
        unknown = np.flatnonzero(found < 0)
        found[unknown] = self._search(rows[unknown], uniform[unknown])
        return found

    def _search(self, rows: Counts, uniform: Floats) -> Counts:
        found = np.searchsorted(self._ends, rows + uniform, side="right") - rows * self._num_outcomes
        # Row + uniform may round up to the next row.
        return np.asarray(np.minimum(found, self._num_outcomes - 1))


class Posterior:
    """Draws pass rates after k right responses of G, under several priors."""

    def __init__(self, priors: Floats, likelihood: Floats) -> None:
        """Take `priors` [priors, rates] and `likelihood` [G + 1, rates]."""
        joint = np.cumsum(priors[:, None, :] * likelihood, axis=2)
        cumulative = joint / joint[:, :, -1:]
        self._num_outcomes = len(likelihood)
        self._quantiles = Quantiles(cumulative.reshape(-1, len(GRID)))

    def rates(self, prior: Counts, num_correct: Counts, uniform: Floats) -> Counts:
        """Return a place in `GRID` for each."""
        return self._quantiles.at(prior * self._num_outcomes + num_correct, uniform)


class PassRates:
    """The distribution of pass rates in each stretch of steps, once for each replicate."""

    def __init__(self, group_size: int, num_correct: Counts, step: Counts, prompt: Counts, ids: Sequence[str]) -> None:
        """Take the fresh groups of a run in the order of their steps; `prompt` holds indices into `ids`."""
        self._group_size = group_size
        self._num_correct = num_correct
        self._prompt = prompt
        self._ids = ids
        num = min(max(1, len(step) // LEAST_GROUPS), MOST_STRETCHES)
        ends = [int(step[len(step) * place // num]) for place in range(1, num)]
        self._first_steps = np.unique(np.array([1, *ends], np.int64))
        """First step of each stretch."""
        self._stretch = self.stretches(step)
        self._fitted: dict[int, Floats] = {}

    @cached_property
    def prompt_bits(self) -> Bits:
        """64 bits of each prompt."""
        return bits_of(self._ids)

    @cached_property
    def likelihood(self) -> Floats:
        """p^k · (1 - p)^(G - k) for k = 0..G, up to a factor of each k: [G + 1, rates]."""
        right = np.arange(self._group_size + 1)
        return likelihood_of(right, self._group_size - right)

    def stretches(self, steps: Counts | int) -> Counts:
        """Return the stretch of each step."""
        return np.asarray(np.searchsorted(self._first_steps, steps, side="right") - 1)

    def priors(self, seed: int, num_replicates: int) -> Floats:
        """Return the distribution of p over prompts: [stretches, replicates, rates].

        The first replicates do not depend on how many follow.
        """
        known = self._fitted.get(seed, np.empty((len(self._first_steps), 0, len(GRID))))
        if known.shape[1] < num_replicates:
            more = self._fit(seed, range(known.shape[1], num_replicates))
            known = self._fitted[seed] = np.concatenate([known, more], axis=1)
        return known[:, :num_replicates]

    def _fit(self, seed: int, replicates: range) -> Floats:
        outcomes, num_stretches = self._group_size + 1, len(self._first_steps)
        jeffreys = JEFFREYS_GROUPS * _jeffreys_counts(self._group_size)
        begins = self._begins
        counts = np.empty((num_stretches, len(replicates), outcomes))
        start = np.empty((num_stretches, len(replicates), len(GRID)))
        cells = self._stretch * outcomes + self._num_correct
        for place, replicate in enumerate(replicates):
            weight = -np.log1p(-uniforms(seed, 0, "what-if prompts drawn again", self.prompt_bits, replicate))
            found = np.bincount(cells, weights=weight[self._prompt], minlength=num_stretches * outcomes)
            counts[:, place] = found.reshape(num_stretches, outcomes) + jeffreys
            start[:, place] = begins[replicate % len(begins)]
        seen = np.flatnonzero(counts.any(axis=(0, 1)))
        shares = counts[:, :, seen] / counts.sum(axis=2, keepdims=True)
        return maximised(self.likelihood[seen], shares, start, rounds=_EM_ROUNDS)

    @cached_property
    def _begins(self) -> Sequence[Floats]:
        """Weights to begin fits at: equal ones, smooth ones, and with half of the prompts never or always right."""
        equal = np.full(len(GRID), 1 / len(GRID))
        ends = np.zeros(len(GRID))
        ends[[0, -1]] = 0.25
        return equal, self._smooth_weights(), ends + equal / 2

    def _smooth_weights(self) -> Floats:
        counts = np.bincount(self._num_correct, minlength=self._group_size + 1) + JEFFREYS_GROUPS * _jeffreys_counts(
            self._group_size
        )
        right = np.arange(self._group_size + 1)
        pairs = pairs_of(right, np.full_like(right, self._group_size))
        return fit_beta(pairs._replace(weight=counts)).on_grid()


def group_counts(rates: Counts, group_size: int, uniform: Floats) -> Counts:
    """Return the right responses of groups: k' ~ Binomial(G', p), p at these places of `GRID`."""
    return _binomial_quantiles(group_size).at(rates, uniform)


def mixed_chances(group_size: int) -> Floats:
    """Return the chance 1 - p^G - (1 - p)^G of a group to have a gradient, for each p of `GRID`."""
    return np.asarray(1 - GRID**group_size - (1 - GRID) ** group_size)


@lru_cache(maxsize=4)
def _binomial_quantiles(group_size: int) -> Quantiles:
    right = np.arange(group_size + 1)
    # Up to a factor that the division below takes out.
    log_ways = -np.array([math.lgamma(k + 1) + math.lgamma(group_size - k + 1) for k in right.tolist()])
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p, log_q = np.log(GRID), np.log1p(-GRID)
        log_chances = np.where(right == 0, 0.0, right * log_p[:, None]) + np.where(
            right == group_size, 0.0, (group_size - right) * log_q[:, None]
        )
    chances = np.exp(log_chances + log_ways - log_ways.max())
    cumulative = np.cumsum(chances, axis=1)
    return Quantiles(cumulative / cumulative[:, -1:])


def _jeffreys_counts(group_size: int) -> Floats:
    """Return P(k of G) with p ~ Beta(½, ½): Γ(k + ½)·Γ(G - k + ½) / (π · k! · (G - k)!)."""
    return np.array(
        [
            math.exp(
                math.lgamma(k + 0.5)
                + math.lgamma(group_size - k + 0.5)
                - math.lgamma(k + 1)
                - math.lgamma(group_size - k + 1)
            )
            / math.pi
            for k in range(group_size + 1)
        ]
    )
