"""Comparing runs: groups of them, intervals over seeds, equal budgets, paired differences, the cost of an accuracy.

Intervals over runs are Student's: mean ± t(0.975, n - 1) · s / sqrt(n), with s the standard deviation over the n
replicates. Identical runs of one seed are one replicate, whose figure is their mean. There is no interval over a single
replicate, nor over several with the same value. Nothing here knows where runs are stored or how they are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.result import CostSpread, MeanEstimate
from bapo.config.method import method_key, method_name

Floats = NDArray[np.float64]

SEED_FIELD = "training.seed"
SEED_FIELDS = (SEED_FIELD, "method.config.seed", "method.config.data.seed")
"""Seed fields of our runs, and of observed ones as TRL, most loops and verl name them."""
METHOD_FIELD = "method.type"
WITHOUT_FIELD = "method.without"
_IMMATERIAL = frozenset({*SEED_FIELDS, "training.checkpoint_interval", "training.keep_checkpoints"})
_IMMATERIAL_SECTIONS = ("samples.", "engine.threads", "resources.")
"""Replicates may differ in these: they change no result."""
_MEASUREMENT = ("evaluation.", "tracking.", "task.num_test")
"""They change how a run is measured, not how it trains."""
MOST_POSITIONS = 4096
"""Positions at which runs are averaged at most; where they have more between them, evenly spaced ones are taken."""


def t_quantile(degrees_of_freedom: int | NDArray[np.int64], *, within: float = 0.95) -> Floats:
    """Return the bounds ± within which this share of Student's t distribution lies; NaN without a degree of freedom."""
    # Not SciPy's: importing it takes longer than the answers that need a quantile.
    whole = np.asarray(degrees_of_freedom)
    return np.array([_t_quantile(each, within) for each in whole.ravel().tolist()], np.float64).reshape(whole.shape)


@lru_cache(maxsize=4096)
def _t_quantile(n: int, within: float) -> float:
    """Compute √n·tan θ, within ± which that share of t lies: a finite sum (Abramowitz and Stegun, 26.7.3 and 4)."""
    if n < 1:
        return math.nan

    def share(angle: float) -> float:
        term = total = math.cos(angle) if n % 2 else 1.0
        for k in range(3 if n % 2 else 2, n, 2):
            term *= math.cos(angle) ** 2 * (k - 1) / k
            total += term
        if n % 2 == 0:
            return math.sin(angle) * total
        return (angle + (math.sin(angle) * total if n > 1 else 0.0)) * 2 / math.pi

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) < within else (low, middle)
    return math.sqrt(n) * math.tan((low + high) / 2)


def replicate_keys(configs: Sequence[Mapping[str, Any]]) -> list[Hashable]:
    """Return one key per run, given as flat configs: equal ones belong to one replicate.

    Runs of one seed are one replicate unless they train differently. A run whose seed is not known is a replicate by
    itself.
    """

    def training(config: Mapping[str, Any]) -> tuple[str, ...]:
        kept = (field for field in sorted(config) if is_material(field) and not field.startswith(_MEASUREMENT))
        return tuple(f"{field} = {config[field]!r}" for field in kept)

    seeds = [seed_in(config) for config in configs]
    return [
        index if seed is None else (seed, training(config))
        for index, (seed, config) in enumerate(zip(seeds, configs, strict=True))
    ]


def over_replicates(figures: Iterable[tuple[Hashable, float]]) -> list[float]:
    """Return the figure of each replicate, given as (key, figure of a run) pairs: the mean over its runs."""
    found: dict[Hashable, list[float]] = {}
    for key, figure in figures:
        found.setdefault(key, []).append(figure)
    return [fmean(values) for values in found.values()]


def estimate(values: Sequence[float]) -> MeanEstimate | None:
    """Return the mean of replicates with Student's 95 % interval; `None` for no value.

    One value has no bounds, and neither have several without any spread (`Bounded`).
    """
    n = len(values)
    if n == 0:
        return None
    mean = fmean(values)
    if n == 1:
        return MeanEstimate(value=mean, low=None, high=None, n=1)
    half_width = float(t_quantile(n - 1)) * stdev(values) / math.sqrt(n)
    return MeanEstimate(value=mean, low=mean - half_width, high=mean + half_width, n=n)


def spread(values: Sequence[float]) -> CostSpread | None:
    """Return the median, smallest and largest value; None without values."""
    return CostSpread(median=median(values), low=min(values), high=max(values)) if values else None


SeedFigures = Sequence[tuple[int | None, float]]
"""(seed, figure of a run) pairs; a run without a known seed is paired with none."""


def paired_difference(first: SeedFigures, second: SeedFigures) -> MeanEstimate | None:
    """Return mean of `second` - `first` over the seeds that both have, with Student's interval; None where they share
    none."""
    return estimate(seed_differences(first, second))


def seed_differences(first: SeedFigures, second: SeedFigures) -> list[float]:
    """Return `second` - `first` for each shared seed; runs of one seed count as their mean, so n is the number of
    seeds.
    """
    ours, theirs = _by_seed(first), _by_seed(second)
    return [theirs[seed] - ours[seed] for seed in ours if seed in theirs]


def _by_seed(figures: SeedFigures) -> dict[int, float]:
    known = [(seed, figure) for seed, figure in figures if seed is not None]
    return dict(zip(dict.fromkeys(seed for seed, _ in known), over_replicates(known), strict=True))


# ---------------------------------------------------------------- configs and groups


class ComparedRun(NamedTuple):
    """The name, config and marks of a run, by which it is grouped."""

    name: str
    config: Mapping[str, Any]
    """Flat: `flattened`."""
    tags: Sequence[str] = ()
    group: str | None = None


class RunGroup(NamedTuple):
    """Runs that are one thing to compare."""

    label: str
    members: tuple[int, ...]
    """Indices into the runs."""


class FieldDifference(NamedTuple):
    """A config field on which runs differ."""

    field: str
    values: tuple[Any, ...]
    """One per run; None also where the run's method does not know the field."""
    known: tuple[bool, ...]
    """True if the run has the field at all."""


def flattened(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten sections to dotted fields: {"method": {"c1": 0.125}} → {"method.c1": 0.125}; lists stay whole."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= flattened(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def differences(configs: Sequence[Mapping[str, Any]]) -> list[FieldDifference]:
    """Return fields of flat configs that are not the same in all of them, in the order of the configs."""
    fields = dict.fromkeys(field for config in configs for field in config)
    found = []
    for field in fields:
        values = tuple(config.get(field) for config in configs)
        known = tuple(field in config for config in configs)
        if any((value, is_known) != (values[0], known[0]) for value, is_known in zip(values, known, strict=True)):
            found.append(FieldDifference(field, values, known))
    return found


def groups_of(runs: Sequence[ComparedRun], by: str) -> list[RunGroup]:
    """Group runs, in the order in which their groups first appear.

    `by` is `run` (each alone), `config` (everything but the seed), `method`, `tags`, `group`, or a config field such
    as `method.c1`.

    Raises:
        ValueError: none of the runs has the field.
    """
    labels = _labels(runs, by)
    members: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        # Runs of one name are still several runs.
        members.setdefault(f"{index} {label}" if by == "run" else label, []).append(index)
    return [RunGroup(labels[indices[0]], tuple(indices)) for indices in members.values()]


def _labels(runs: Sequence[ComparedRun], by: str) -> list[str]:
    match by:
        case "run":
            return [run.name for run in runs]
        case "group":
            return [run.group or "no group" for run in runs]
        case "tags":
            return [", ".join(sorted(run.tags)) or "no tags" for run in runs]
        case "config":
            return _config_labels([run.config for run in runs])
        case "method":
            by = METHOD_FIELD
    if not any(by in run.config for run in runs):
        remedy = "give run, config, method, tags, group, or a field they have"
        raise ValueError(f"no run has the config field {by!r}: {remedy}")
    return [_setting(by, run.config) for run in runs]


def seed_in(config: Mapping[str, Any]) -> int | None:
    """Return the seed that a flat config names; None if an observed run recorded none."""
    return next((seed for field in SEED_FIELDS if isinstance(seed := config.get(field), int)), None)


def is_material(field: str) -> bool:
    """Return whether runs that differ in this field are no replicates of one another."""
    return field not in _IMMATERIAL and not field.startswith(_IMMATERIAL_SECTIONS)


def _config_labels(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the method, and the fields on which runs of one method differ: what follows from the method need not be
    said.

    How a run was measured is named only where nothing else sets two runs apart.
    """
    telling: dict[str, None] = {}
    for method in dict.fromkeys(config.get(METHOD_FIELD) for config in configs):
        same = [config for config in configs if config.get(METHOD_FIELD) == method]
        telling |= dict.fromkeys(
            # The parts that an ablation leaves out are listed with its method.
            each.field
            for each in differences(same)
            if is_material(each.field) and each.field != WITHOUT_FIELD
        )
    whole = _labels_of(configs, list(telling))
    short = _labels_of(configs, [field for field in telling if not field.startswith(_MEASUREMENT)])
    return short if len(set(short)) == len(set(whole)) else whole


def _labels_of(configs: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[str]:
    return [
        " · ".join([_method(config), *(_setting(field, config) for field in fields if field in config)])
        for config in configs
    ]


def _method(config: Mapping[str, Any]) -> str:
    return method_key({"type": config.get(METHOD_FIELD), "without": config.get(WITHOUT_FIELD)})


def _setting(field: str, config: Mapping[str, Any]) -> str:
    if field == METHOD_FIELD:
        return _method(config)
    name = setting_name(field, config)
    return f"{name} {value_text(config[field])}" if field in config else f"no {name}"


def shown_name(label: str) -> str:
    """Return a group's label with the method's name: `bapo w/o X2 · c1 0.25` → "BAPO w/o X2 · c1 0.25"."""
    head, separator, rest = label.partition(" · ")
    return method_name(head) + separator + rest


def setting_name(field: str, fields: Iterable[str]) -> str:
    """Return a field's last part, with its section if other fields end in the same part: `method.c1` → "c1",
    `evaluation.interval` → "evaluation interval".
    """
    *sections, last = field.split(".")
    is_shared = any(other != field and other.rsplit(".", 1)[-1] == last for other in fields)
    return " ".join([*sections[-1:], last]) if is_shared else last


def value_text(value: Any) -> str:
    """Return a config value on one line."""
    if isinstance(value, list | tuple):
        if not value:
            return "none"
        return "[" + ", ".join(value_text(part) for part in value) + "]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    return f"{value:.12g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- curves


class Curve(NamedTuple):
    """A figure of one run where it was measured: x rising, no gaps."""

    x: Floats
    y: Floats


class MeanCurve(NamedTuple):
    """A figure of several runs at common positions; NaN where no run had it, as a bound where it has no interval."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    n: NDArray[np.int64]


MOST_STRETCHES = 20
"""Largest number of stretches of another metric over which a mean is drawn."""


def curve(x: Floats, y: Floats) -> Curve:
    """Drop what was not measured, and of several values at one position all but the last."""
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    is_last = np.append(x[1:] != x[:-1], True)[: len(x)]
    return Curve(x[is_last], y[is_last])


def cut(whole: Curve, until: float) -> Curve:
    """Return the part up to a position, which ends there exactly, by linear interpolation."""
    if not len(whole.x) or whole.x[-1] <= until:
        return whole
    inside = whole.x < until
    if not inside.any() and whole.x[0] > until:
        return Curve(whole.x[:0], whole.y[:0])
    end = np.interp(until, whole.x, whole.y)
    return Curve(np.append(whole.x[inside], until), np.append(whole.y[inside], end))


def value_at(whole: Curve, position: float) -> float | None:
    """Interpolate linearly between two measurements; None outside the measured range."""
    if not len(whole.x) or not whole.x[0] <= position <= whole.x[-1]:
        return None
    return float(np.interp(position, whole.x, whole.y))


def common_positions(curves: Sequence[Curve], most: int = MOST_POSITIONS) -> Floats:
    """Return every position at which one of the curves was measured; beyond `most`, evenly spaced ones over their
    range."""
    positions = np.unique(np.concatenate([each.x for each in curves])) if curves else np.empty(0)
    if len(positions) <= most:
        return positions
    return np.linspace(positions[0], positions[-1], most)


def mean_curve(curves: Sequence[Curve], positions: Floats, replicates: Sequence[Hashable] | None = None) -> MeanCurve:
    """Return mean and Student's 95 % interval over the curves at each position, each interpolated linearly in its
    range.

    A curve counts only between its own first and last measurement, so that n may fall along the way. `replicates`: the
    key of each curve's replicate (`replicate_keys`); without, each curve is one.
    """
    values = np.full((len(curves), len(positions)), np.nan)
    for row, each in enumerate(curves):
        if len(each.x):
            values[row] = np.interp(positions, each.x, each.y, left=np.nan, right=np.nan)
    return _mean_of(values, positions, replicates)


def mean_by_stretches(
    ways: Sequence[tuple[Floats, Floats]],
    most_stretches: int = MOST_STRETCHES,
    replicates: Sequence[Hashable] | None = None,
) -> MeanCurve:
    """Return mean and Student's 95 % interval of y over runs, by stretches of x in which lie equally many of all their
    values.

    For an x that need not rise, such as another metric: each run counts once in a stretch, with the mean of its values
    there, and a stretch is placed at the mean of its x. There are half as many stretches as values in the run with the
    fewest, so that most stretches have a value of every run. `replicates`: as of `mean_curve`.
    """
    measured = [~(np.isnan(x) | np.isnan(y)) for x, y in ways]
    known = [(x[at], y[at]) for (x, y), at in zip(ways, measured, strict=True) if at.any()]
    keys = None if replicates is None else [key for key, at in zip(replicates, measured, strict=True) if at.any()]
    if not known:
        nothing = np.empty(0)
        return MeanCurve(nothing, nothing, nothing, nothing, np.empty(0, np.int64))
    num_stretches = min(most_stretches, max(1, min(len(x) for x, _ in known) // 2))
    shares = np.arange(1, num_stretches) / num_stretches
    inner = np.unique(np.quantile(np.concatenate([x for x, _ in known]), shares))
    means = np.full((2, len(known), len(inner) + 1), np.nan)
    for row, way in enumerate(known):
        place = np.searchsorted(inner, way[0], side="right")
        counts = np.bincount(place, minlength=len(inner) + 1)
        for index, values in enumerate(way):
            sums = np.bincount(place, weights=values, minlength=len(inner) + 1)
            means[index, row] = np.divide(sums, counts, out=means[index, row], where=counts > 0)
    used = ~np.isnan(means[0]).all(axis=0)
    return _mean_of(means[1][:, used], np.nanmean(means[0][:, used], axis=0), keys)


def _mean_of(values: Floats, positions: Floats, replicates: Sequence[Hashable] | None) -> MeanCurve:
    """Return mean and interval over the rows of `values` [runs, positions]; NaN where a run has none."""
    values = _rows_of_replicates(values, replicates)
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=0) / n
        squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
        deviation = np.sqrt(squares / (n - 1))
        half_width = t_quantile(n - 1) * deviation / np.sqrt(n)
    # Without any spread there is no interval; what rounding leaves of equal values is none.
    half_width[half_width <= 1e-9 * np.abs(mean)] = np.nan
    return MeanCurve(positions, mean, mean - half_width, mean + half_width, n)


def _rows_of_replicates(values: Floats, replicates: Sequence[Hashable] | None) -> Floats:
    """Return rows of runs [runs, positions] → of replicates: the mean over those runs of each that have a value."""
    places: dict[Hashable, list[int]] = {}
    for row, key in enumerate(range(len(values)) if replicates is None else replicates):
        places.setdefault(key, []).append(row)
    if len(places) == len(values):
        return values
    found = np.full((len(places), values.shape[1]), np.nan)
    for number, rows in enumerate(places.values()):
        known = ~np.isnan(values[rows])
        sums, counts = np.where(known, values[rows], 0.0).sum(axis=0), known.sum(axis=0)
        np.divide(sums, counts, out=found[number], where=counts > 0)
    return found


def first_reaching(accuracies: Curve, target: float) -> float | None:
    """Return the position of the first evaluation with at least this accuracy; None if there is none."""
    reached = np.nonzero(accuracies.y >= target)[0]
    return float(accuracies.x[reached[0]]) if len(reached) else None


def cumulative_at(steps: NDArray[np.int64], totals: Floats, at: NDArray[np.int64]) -> Floats:
    """Return what a run had spent after each of some steps: the total of the latest recorded step up to it, 0 before
    any."""
    places = np.searchsorted(steps, at, side="right")
    return np.concatenate(([0.0], totals))[places]
