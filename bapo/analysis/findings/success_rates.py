"""The distribution of prompts' success rates p behind their counts: what other group sizes would bring.

Two fits to pairs (k right of n): the beta-binomial, smooth and with two parameters, and a mixture on a grid, which
takes any shape. Where they disagree about groups larger than those recorded, the counts do not decide it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.estimates import Estimate, Floats

GRID = np.unique(np.concatenate([[0.0, 1.0], 1 / (1 + np.exp(-np.linspace(-7, 7, 57)))]))
"""Success rates of the mixture: 0, 1 and 57 between them at equal distances of logit p."""
_LOG_P = np.log(np.maximum(GRID, 1e-12))
_LOG_Q = np.log(np.maximum(1 - GRID, 1e-12))
_EM_ROUNDS = 200
_BOOTSTRAPS = 30
# In t = logit p, Beta(a, b) has the density p^a (1 - p)^b, which is smooth also where a or b is far below 1.
_LOGIT = np.linspace(-120.0, 120.0, 4_801)
_LOGIT_LOG_P = -np.logaddexp(0, -_LOGIT)
_LOGIT_LOG_Q = -np.logaddexp(0, _LOGIT)


class Pairs(NamedTuple):
    """Distinct pairs of right responses and responses, with the number of prompts that have them."""

    num_correct: NDArray[np.int64]
    num_responses: NDArray[np.int64]
    weight: Floats


def pairs_of(num_correct: NDArray[np.int64], num_responses: NDArray[np.int64]) -> Pairs:
    """Return one pair per prompt → distinct pairs."""
    found, counts = np.unique(np.column_stack([num_responses, num_correct]), axis=0, return_counts=True)
    return Pairs(found[:, 1], found[:, 0], counts.astype(np.float64))


class GroupShares(NamedTuple):
    """Expected shares of groups of one size."""

    all_wrong: float
    mixed: float
    all_right: float


class Mixture(NamedTuple):
    """p is `rates[i]` for a share `weights[i]` of prompts."""

    rates: Floats
    weights: Floats

    def groups_of(self, group_size: int) -> GroupShares:
        """Return the expected shares of groups: E[(1-p)^G], the rest, and E[p^G]."""
        wrong = float(self.weights @ (1 - self.rates) ** group_size)
        right = float(self.weights @ self.rates**group_size)
        return GroupShares(wrong, max(0.0, 1 - wrong - right), right)

    def share_within(self, lowest: int, highest: int, group_size: int) -> float:
        """Return the expected share of groups with `lowest` to `highest` right responses."""
        return float(
            sum(
                math.comb(group_size, k) * (self.weights @ (self.rates**k * (1 - self.rates) ** (group_size - k)))
                for k in range(lowest, highest + 1)
            )
        )

    def hopeless_share(self, group_size: int) -> float:
        """Return the share of all-wrong groups whose prompt has p < 1/(4G): a second group is wrong again in 4 of 5
        cases.
        """
        wrong = self.weights * (1 - self.rates) ** group_size
        return float(wrong[self.rates < 1 / (4 * group_size)].sum() / max(wrong.sum(), 1e-300))

    def below_without_hit(self, rate: float, num_responses: float) -> float:
        """Return P(p < rate | no hit in n responses), with this as the prior; n may be discounted, so it need not be
        whole.
        """
        posterior = self.weights * (1 - self.rates) ** num_responses
        return float(posterior[self.rates < rate].sum() / posterior.sum())


class Beta(NamedTuple):
    """p ~ Beta(a, b)."""

    a: float
    b: float

    def mixture(self) -> Mixture:
        """Return the same distribution as points."""
        log_density = self.a * _LOGIT_LOG_P + self.b * _LOGIT_LOG_Q
        density = np.exp(log_density - log_density.max())
        return Mixture(np.exp(_LOGIT_LOG_P), density / density.sum())

    def on_grid(self) -> Floats:
        """Return the weights of the grid's rates, each with all that is nearest to it by logit p."""
        inner = np.log(GRID[1:-1] / (1 - GRID[1:-1]))
        half = (inner[1] - inner[0]) / 2
        edges = np.concatenate([inner - half, inner[-1:] + half])
        weights: Floats = np.zeros(len(GRID))
        np.add.at(weights, np.searchsorted(edges, _LOGIT), self.mixture().weights)
        return weights


def likelihood_of(num_correct: NDArray[np.int64], num_wrong: NDArray[np.int64]) -> Floats:
    """Return p^k · (1 - p)^(n - k) over the grid for each pair, scaled to a peak of 1: [pairs, rates]."""
    log_likelihood = num_correct[:, None] * _LOG_P + num_wrong[:, None] * _LOG_Q
    # Of a pair, only proportions over the grid count; of thousands of responses, no likelihood itself is above 0.
    return np.asarray(np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True)))


def maximised(likelihood: Floats, shares: Floats, weights: Floats, *, rounds: int) -> Floats:
    """Return weights of the grid after some rounds of expectation maximisation from these.

    `shares`: of each pair, [..., pairs]; `weights`: [..., rates], each row a separate fit.
    """
    for _ in range(rounds):
        # Not `@`: the threads of BLAS cost more than such small products, and more yet where cores are busy.
        explained = np.einsum("ij,...j->...i", likelihood, weights)
        weights = weights * np.einsum("...i,ij->...j", shares / explained, likelihood)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def fit_mixture(pairs: Pairs, rounds: int = _EM_ROUNDS) -> Mixture:
    """Fit the maximum likelihood on the grid by expectation maximisation, from equal weights."""
    likelihood = likelihood_of(pairs.num_correct, pairs.num_responses - pairs.num_correct)
    share = pairs.weight / pairs.weight.sum()
    return Mixture(GRID, maximised(likelihood, share, np.full(len(GRID), 1 / len(GRID)), rounds=rounds))


def fit_beta(pairs: Pairs) -> Beta:
    """Fit the beta-binomial by maximum likelihood over mean and concentration, with a search that narrows five times.

    log P(k, n) = Σ_{j<k} log(a+j) + Σ_{j<n-k} log(b+j) - Σ_{j<n} log(a+b+j), without the binomial coefficient.
    """
    longest = np.arange(int(pairs.num_responses.max()))

    def rising(start: float, lengths: NDArray[np.int64]) -> Floats:
        sums: Floats = np.concatenate([[0.0], np.cumsum(np.log(start + longest))])[lengths]
        return sums

    def log_likelihood(logit_mean: float, log_strength: float) -> float:
        a, b = _ab(logit_mean, log_strength)
        return float(
            pairs.weight
            @ (
                rising(a, pairs.num_correct)
                + rising(b, pairs.num_responses - pairs.num_correct)
                - rising(a + b, pairs.num_responses)
            )
        )

    centre, width = (0.0, 1.0), (6.0, 5.0)
    for _ in range(6):
        points = [
            (centre[0] + x * width[0], centre[1] + y * width[1])
            for x in np.linspace(-1, 1, 7)
            for y in np.linspace(-1, 1, 7)
        ]
        centre = max(points, key=lambda point: log_likelihood(*point))
        width = (width[0] / 2.5, width[1] / 2.5)
    return Beta(*_ab(*centre))


def _ab(logit_mean: float, log_strength: float) -> tuple[float, float]:
    mean = 1 / (1 + np.exp(-logit_mean))
    strength = float(np.exp(log_strength))
    return max(float(mean) * strength, 1e-3), max(float(1 - mean) * strength, 1e-3)


class Forecast:
    """Shares of groups of any size, from both fits to the counts and from fits to counts of prompts drawn again.

    An interval covers the disagreement of the two fits too.
    """

    def __init__(self, num_correct: NDArray[np.int64], num_responses: NDArray[np.int64]) -> None:
        """Take one pair of counts per prompt."""
        pairs = pairs_of(num_correct, num_responses)
        self._fits = [fit_mixture(pairs), fit_beta(pairs).mixture()]
        draws = np.random.default_rng(0)
        total = int(pairs.weight.sum())
        for _ in range(_BOOTSTRAPS):
            again = draws.multinomial(total, pairs.weight / total).astype(np.float64)
            self._fits.append(fit_mixture(pairs._replace(weight=again), rounds=60))

    def mixed(self, group_size: int) -> Estimate:
        """Return share of groups of this size with a gradient."""
        return self._range([fit.groups_of(group_size).mixed for fit in self._fits])

    def within(self, lowest: int, highest: int, group_size: int) -> Estimate:
        """Return share of groups of this size with `lowest` to `highest` right responses."""
        return self._range([fit.share_within(lowest, highest, group_size) for fit in self._fits])

    def hopeless(self, group_size: int) -> Estimate:
        """Return share of all-wrong groups whose prompt is as good as never solved."""
        return self._range([fit.hopeless_share(group_size) for fit in self._fits])

    def _range(self, values: list[float]) -> Estimate:
        low, high = np.quantile(values[2:], [0.025, 0.975])
        return Estimate(values[0], float(min(low, *values[:2])), float(max(high, *values[:2])))
