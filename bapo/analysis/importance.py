"""Share of a result's variance that each varied field explains, and the share that chance alone would explain.

A whole grid is decomposed exactly, as in functional ANOVA (Hutter et al. 2014): into main effects, interactions of two
fields, and noise, which is measured by the seeds that repeat each combination. Of other runs each field is looked at
alone, on the ranks of the result (Kruskal and Wallis 1952).

A share is ε² (Kelley 1935): the sum of squares of an effect, less what noise contributes to it, over the total,

    ε² = (SS − df · MS_noise) / SS_total,

so that it is 0 on average where a field does nothing. Its interval inverts the noncentral F distribution (Steiger 2004,
10.1037/1082-989X.9.2.164) with the other effects at their estimates. The level of chance is that of the F test, or of
5,000 permutations of the results over the runs, at 5 % for all shares together (Bonferroni).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.importance_results import FieldShare, Importance

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

MIN_RUNS_OF_GRID = 8
MIN_RUNS = 12
"""Fewest runs that are no whole grid."""
MIN_NOISE_FREEDOM = 3
"""Degrees of freedom below which the noise is not known."""
MOST_CLASSES = 4
"""Into which numbers that hardly repeat are divided, with equally many runs in each."""
MOST_FIELDS = 20
LEVEL = 0.05
NUM_PERMUTATIONS = 5_000
ENTANGLED = 0.7
"""Cramér's V from which two fields cannot be distinguished."""
_TOO_SMALL = 1e-12
"""Sums of squares relative to the total that are rounding errors."""


class Factor(NamedTuple):
    """A field, and all that change with it."""

    fields: tuple[str, ...]
    codes: Codes
    """Index of each run's value."""
    values: Sequence[Any]
    """By code; numbers ascend."""


class _Effect(NamedTuple):
    factors: tuple[Factor, ...]
    num_values: int
    freedom: int
    squares: float


def importance(
    points: Sequence[Mapping[str, Any]], results: Sequence[float], seeds: Sequence[int | None]
) -> Importance:
    """Return the shares of the variance of the results by field, or the reason why there are none.

    `points`: the varied fields of each run, without its seed; `seeds`: None where a run has none.
    """
    y = np.asarray(results, np.float64)
    factors = factors_of(points)
    refusal = _refusal(y, factors)
    if refusal:
        return Importance(decomposition=None, reason=refusal, num_runs=len(y))
    broken = _why_no_grid(factors, len(y))
    if broken is None:
        found = _of_grid(factors, y, seeds)
        if found is not None:
            return found
        broken = "the grid has too few repetitions to measure its noise: add seeds"
    if len(y) < MIN_RUNS:
        reason = f"{broken}; other runs need at least {MIN_RUNS} results, and there are {len(y)}"
        return Importance(decomposition=None, reason=reason, num_runs=len(y))
    return _of_ranks(factors, y, broken)


def factors_of(points: Sequence[Mapping[str, Any]]) -> list[Factor]:
    """Return the fields that vary; those that change in step are one."""
    found: dict[tuple[int, ...], Factor] = {}
    for field in dict.fromkeys(field for point in points for field in point):
        codes, values = _coded([point.get(field) for point in points])
        if len(values) < 2:
            continue
        order = {code: place for place, code in enumerate(dict.fromkeys(codes.tolist()))}
        pattern = tuple(order[code] for code in codes.tolist())
        known = found.get(pattern)
        found[pattern] = (
            Factor((field,), codes, values) if known is None else known._replace(fields=(*known.fields, field))
        )
    return list(found.values())


def _coded(values: Sequence[Any]) -> tuple[Codes, list[Any]]:
    by_key = {json.dumps(value, sort_keys=True, default=str): value for value in values}
    keys = sorted(by_key, key=lambda key: _order(by_key[key], key))
    places = {key: place for place, key in enumerate(keys)}
    codes = [places[json.dumps(value, sort_keys=True, default=str)] for value in values]
    return np.array(codes, np.intp), [by_key[key] for key in keys]


def is_number(value: Any) -> bool:
    """Return whether values of a field have an order and distances."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(value: Any, key: str) -> tuple[int, float, str]:
    return (0, float(value), "") if is_number(value) else (1, 0.0, key)


def _refusal(y: Floats, factors: Sequence[Factor]) -> str:
    if len(y) < MIN_RUNS_OF_GRID:
        return f"it takes at least {MIN_RUNS_OF_GRID} runs with a result, and there are {len(y)}"
    if not factors:
        return "the runs with a result differ in no field but the seed"
    if len(factors) > MOST_FIELDS:
        return f"{len(factors)} fields vary: at most {MOST_FIELDS} can be separated"
    if _squares(y) <= _TOO_SMALL * max(1.0, float(np.max(y**2))):
        return "all runs have the same result"
    return ""


def _squares(y: Floats) -> float:
    return float(np.sum((y - y.mean()) ** 2))


# ---------------------------------------------------------------- a whole grid


def _why_no_grid(factors: Sequence[Factor], n: int) -> str | None:
    """Return why the runs are no grid; None if each combination of the values has equally many runs."""
    num_cells = int(np.prod([float(len(factor.values)) for factor in factors]))
    if num_cells > n:
        return "not every combination of the values has a run with a result"
    counts = np.bincount(_cells(factors), minlength=num_cells)
    if counts.min() == 0:
        return "not every combination of the values has a run with a result"
    return None if counts.min() == counts.max() else "the combinations of the values do not have equally many results"


def _cells(factors: Sequence[Factor]) -> Codes:
    cells = np.zeros(len(factors[0].codes), np.intp)
    for factor in factors:
        cells = cells * len(factor.values) + factor.codes
    return cells


def _of_grid(factors: Sequence[Factor], y: Floats, seeds: Sequence[int | None]) -> Importance | None:
    n, total = len(y), _squares(y)
    main = [_Effect((each,), len(each.values), len(each.values) - 1, _between(each.codes, y)) for each in factors]
    squares = {each.factors[0].fields: each.squares for each in main}
    pairs = []
    for first, second in combinations(factors, 2):
        joint = _between(first.codes * len(second.values) + second.codes, y)
        freedom = (len(first.values) - 1) * (len(second.values) - 1)
        own = joint - squares[first.fields] - squares[second.fields]
        pairs.append(_Effect((first, second), len(first.values) * len(second.values), freedom, max(own, 0.0)))
    cells = _cells(factors)
    num_cells = int(cells.max()) + 1
    of_cells = _between(cells, y)
    repeats = n // num_cells
    higher_freedom = num_cells - 1 - sum(each.freedom for each in (*main, *pairs))
    higher_squares = max(of_cells - sum(each.squares for each in (*main, *pairs)), 0.0)
    higher = None
    if repeats > 1:
        # All combinations meet the same draws under one seed: what it shifts in all of them is no noise of theirs.
        blocks = _crossed(cells, seeds, num_cells, repeats)
        of_seeds = 0.0 if blocks is None else _between(blocks, y)
        freedom = n - num_cells - (0 if blocks is None else repeats - 1)
        noise = max(total - of_cells - of_seeds, 0.0)
        effects, total = [*main, *pairs], total - of_seeds
        num_free = n - 1 - (0 if blocks is None else repeats - 1)
        higher = higher_squares if higher_freedom else None
    elif higher_freedom >= MIN_NOISE_FREEDOM:
        effects, freedom, noise, num_free = [*main, *pairs], higher_freedom, higher_squares, n - 1
    else:
        effects, num_free = main, n - 1
        freedom, noise = num_cells - 1 - sum(each.freedom for each in main), total - sum(each.squares for each in main)
    if freedom < MIN_NOISE_FREEDOM or total <= 0.0:
        return None
    mean_noise = max(noise, 0.0) / freedom
    shares = _shares(effects, mean_noise, freedom, total, num_free)
    return Importance(
        decomposition="grid",
        num_runs=n,
        num_seeds=repeats,
        shares=shares,
        noise=min(1.0, num_free * mean_noise / total),
        noise_source="seeds" if repeats > 1 else "interactions",
        higher=None if higher is None else max(0.0, (higher - higher_freedom * mean_noise) / total),
    )


def _between(codes: Codes, y: Floats) -> float:
    """Return the sum of squares between the classes."""
    counts = np.bincount(codes)
    sums = np.bincount(codes, y - y.mean())
    known = counts > 0
    return float(np.sum(sums[known] ** 2 / counts[known]))


def _crossed(cells: Codes, seeds: Sequence[int | None], num_cells: int, repeats: int) -> Codes | None:
    """Return which seed each run has, where each combination has each seed once."""
    if any(seed is None for seed in seeds):
        return None
    codes, values = _coded(list(seeds))
    if len(values) != repeats or len(set(zip(cells.tolist(), codes.tolist(), strict=True))) != num_cells * repeats:
        return None
    return codes


def _shares(
    effects: Sequence[_Effect], mean_noise: float, freedom: int, total: float, num_free: int
) -> list[FieldShare]:
    from scipy.special import fdtri  # noqa: PLC0415, import takes longer than most answers

    if mean_noise <= _TOO_SMALL * total:
        # Repetitions agree in every digit: what is left is exact.
        found = [
            _share(each, each.squares / total, (each.squares / total, each.squares / total), 0.0) for each in effects
        ]
        return sorted(found, key=lambda share: -share.value)
    strengths = [max(0.0, each.squares / mean_noise - each.freedom) for each in effects]
    found = []
    for effect, strength in zip(effects, strengths, strict=True):
        ratio = effect.squares / effect.freedom / mean_noise
        critical = float(fdtri(effect.freedom, freedom, 1 - LEVEL / len(effects)))
        low, high = strength_interval(effect.freedom, freedom, ratio)
        rest = sum(strengths) - strength + num_free
        found.append(
            _share(
                effect,
                effect.freedom * (ratio - 1) * mean_noise / total,
                (low / (low + rest), high / (high + rest)),
                effect.freedom * (critical - 1) * mean_noise / total,
            )
        )
    return sorted(found, key=lambda share: -share.value)


def _share(effect: _Effect, value: float, bounds: tuple[float, float], null: float) -> FieldShare:
    value = max(0.0, value)
    return FieldShare(
        fields=[factor.fields[0] for factor in effect.factors],
        together_with=[field for factor in effect.factors for field in factor.fields[1:]],
        num_values=effect.num_values,
        value=value,
        low=min(bounds[0], value),
        high=max(bounds[1], value),
        null=max(0.0, null),
        is_shown=value > max(0.0, null),
    )


def strength_interval(freedom: int, noise_freedom: int, ratio: float) -> tuple[float, float]:
    """Return the 95 % interval of the noncentrality λ of an F distribution, given an observed `ratio`."""
    from scipy.special import ncfdtr  # noqa: PLC0415, see above

    def bound(share: float) -> float:
        if ratio <= 0 or float(ncfdtr(freedom, noise_freedom, 0.0, ratio)) <= share:
            return 0.0
        low, high = 0.0, max(1.0, 2 * freedom * ratio)
        while float(ncfdtr(freedom, noise_freedom, high, ratio)) > share and high < 1e9:
            high *= 2
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (
                (middle, high) if float(ncfdtr(freedom, noise_freedom, middle, ratio)) > share else (low, middle)
            )
        return (low + high) / 2

    return bound(0.975), bound(0.025)


# ---------------------------------------------------------------- any other runs


def _of_ranks(factors: Sequence[Factor], y: Floats, reason: str) -> Importance:
    ranks = _ranks(y)
    n, total = len(ranks), _squares(ranks)
    classes = {factor.fields: _classes(factor) for factor in factors}
    readable = [factor for factor in factors if 1 < classes[factor.fields].max() + 1 <= n // 2]
    if not readable:
        reason = f"{reason}; and every field has another value in almost every run, so that none can be read alone"
        return Importance(decomposition=None, reason=reason, num_runs=n)
    shuffled = _shuffled(ranks)
    shares = []
    for factor in readable:
        codes = classes[factor.fields]
        num_classes = int(codes.max()) + 1
        freedom, noise_freedom = num_classes - 1, n - num_classes
        squares = _between(codes, ranks)
        mean_noise = max(total - squares, 0.0) / noise_freedom
        ratio = squares / freedom / mean_noise if mean_noise > _TOO_SMALL * total else 1e9
        by_chance = _chance(codes, shuffled, total)
        low, high = strength_interval(freedom, noise_freedom, ratio)
        effect = _Effect((factor,), num_classes, freedom, squares)
        null = float(np.quantile(by_chance, 1 - LEVEL / len(readable), method="higher"))
        share = _share(
            effect,
            (squares - freedom * mean_noise) / total,
            (low / (low + n - 1), high / (high + n - 1)),
            null,
        )
        mates = [
            other.fields[0]
            for other in readable
            if other is not factor and _association(codes, classes[other.fields]) >= ENTANGLED
        ]
        shares.append(share.model_copy(update={"entangled_with": mates}))
    shares.sort(key=lambda share: -share.value)
    return Importance(decomposition="ranks", reason=reason, num_runs=n, shares=shares)


def _ranks(y: Floats) -> Floats:
    """Rank the results, from 1 for the smallest; equal results share the mean of their ranks."""
    _, places, counts = np.unique(y, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[places], np.float64)


def _classes(factor: Factor) -> Codes:
    """Return the values themselves, or classes of equally many runs of numbers that hardly repeat."""
    if len(factor.values) <= MOST_CLASSES or not all(is_number(value) for value in factor.values):
        return factor.codes
    # Runs of one value stay together.
    below = np.cumsum(np.bincount(factor.codes)) - np.bincount(factor.codes) / 2
    classes = np.minimum((below / len(factor.codes) * MOST_CLASSES).astype(np.intp), MOST_CLASSES - 1)
    return np.unique(classes[factor.codes], return_inverse=True)[1].astype(np.intp)


def _shuffled(ranks: Floats) -> Floats:
    """Return permutations of the ranks, [permutations, runs]: the same ones every time."""
    random = np.random.default_rng(0)
    return random.permuted(np.tile(ranks, (NUM_PERMUTATIONS, 1)), axis=1)


def _chance(codes: Codes, shuffled: Floats, total: float) -> Floats:
    """Return the shares of the permuted results."""
    n = len(codes)
    member = np.zeros((n, int(codes.max()) + 1))
    member[np.arange(n), codes] = 1.0
    counts = member.sum(axis=0)
    sums = (shuffled - shuffled[0].mean()) @ member
    squares = np.sum(sums**2 / counts, axis=1)
    freedom = len(counts) - 1
    return np.asarray((squares - freedom * (total - squares) / (n - len(counts))) / total)


def _association(first: Codes, second: Codes) -> float:
    """Return Cramér's V: 0 for fields that vary independently, 1 for fields that vary in step."""
    num_first, num_second = int(first.max()) + 1, int(second.max()) + 1
    table = np.bincount(first * num_second + second, minlength=num_first * num_second).reshape(num_first, num_second)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(first)
    chi_squared = float(np.sum((table - expected) ** 2 / expected))
    return float(np.sqrt(chi_squared / len(first) / (min(num_first, num_second) - 1)))
