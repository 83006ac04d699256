"""Results of the arms on the test sets: Table 1's figures, paired differences at equal budgets, curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

from bapo.analysis.comparison import Curve, Floats, common_positions, estimate, mean_curve, spread, value_at
from bapo.analysis.result import MeanEstimate
from bapo.study.declaration import MEAN, Budget, Metric
from bapo.study.measured_run import MeasuredRun
from bapo.study.results import StudyCurve, StudyDifference, StudyScore

MOST_POINTS = 60
"""Most points of a curve."""

Arms = Mapping[str, Mapping[int, MeasuredRun]]
"""Arm → seed → run; ended ones only."""


def mean_of(values: Sequence[float | None]) -> MeanEstimate | None:
    """Return mean with Student's 95 % interval over the values that there are."""
    return estimate([value for value in values if value is not None])


def final(run: MeasuredRun, test_set: str, metric: Metric, sets: Sequence[str]) -> float | None:
    """Return the last evaluation after the first step."""
    found = run.accuracy(test_set, metric, "steps", sets)
    return float(found.y[-1]) if len(found.x) and found.x[-1] > 0 else None


def base(run: MeasuredRun, test_set: str, metric: Metric, sets: Sequence[str]) -> float | None:
    """Return the evaluation of the model before training."""
    found = run.accuracy(test_set, metric, "steps", sets)
    return float(found.y[0]) if len(found.x) and found.x[0] == 0 else None


# ---------------------------------------------------------------- the table


def scores_of(arms: Arms, sets: Sequence[str]) -> dict[str, list[StudyScore]]:
    """Return each arm's row of Table 1: the test sets, then their mean where there are several."""
    columns = [*sets, MEAN] if len(sets) > 1 else list(sets)
    best = {column: best_arm(arms, column, sets) for column in columns}
    return {
        arm: [
            _score(list(runs.values()), column, sets, is_best=best[column] == arm, of_base=False) for column in columns
        ]
        for arm, runs in arms.items()
    }


def base_scores(arms: Arms, sets: Sequence[str]) -> list[StudyScore]:
    """Return the base model: of all seeds once, for all arms begin with the same model and draws."""
    by_seed: dict[int, MeasuredRun] = {}
    for runs in arms.values():
        for seed, run in runs.items():
            by_seed.setdefault(seed, run)
    columns = [*sets, MEAN] if len(sets) > 1 else list(sets)
    return [_score(list(by_seed.values()), column, sets, is_best=False, of_base=True) for column in columns]


def _score(
    runs: Sequence[MeasuredRun], column: str, sets: Sequence[str], *, is_best: bool, of_base: bool
) -> StudyScore:
    value = base if of_base else final
    ks = {record.num_samples for run in runs for record in run.evaluations if record.dataset in (column, *sets)}
    return StudyScore(
        test_set=column,
        num_samples=ks.pop() if len(ks) == 1 else None,
        avg=mean_of([value(run, column, "avg", sets) for run in runs]),
        pass_at=mean_of([value(run, column, "pass", sets) for run in runs]),
        greedy=mean_of([value(run, column, "greedy", sets) for run in runs]),
        is_best=is_best,
    )


def best_arm(arms: Arms, column: str, sets: Sequence[str]) -> str | None:
    """Return the arm with the highest mean avg@k, where the paired difference to every other arm excludes 0."""
    means = {arm: mean_of([final(run, column, "avg", sets) for run in runs.values()]) for arm, runs in arms.items()}
    known = {arm: mean.value for arm, mean in means.items() if mean is not None}
    if len(known) < 2:
        return None
    best = max(known, key=lambda arm: known[arm])
    others = [arm for arm in known if arm != best]
    differences = [
        estimate(_differences(arms[best], arms[other], column, "avg", "steps", sets).values) for other in others
    ]
    return best if all(each is not None and each.low is not None and each.low > 0 for each in differences) else None


# ---------------------------------------------------------------- differences


class _Pairs(NamedTuple):
    seeds: list[int]
    values: list[float]
    budgets: list[float]


def _differences(
    first: Mapping[int, MeasuredRun],
    second: Mapping[int, MeasuredRun],
    test_set: str,
    metric: Metric,
    at: Budget,
    sets: Sequence[str],
) -> _Pairs:
    """Subtract `second` from `first`, seed by seed, each pair at the largest budget that both have spent."""
    pairs = _Pairs([], [], [])
    for seed in sorted(first.keys() & second.keys()):
        curves = [run.accuracy(test_set, metric, at, sets) for run in (first[seed], second[seed])]
        if not all(_is_trained(each) for each in curves):
            continue
        budget = min(float(each.x[-1]) for each in curves)
        ours, theirs = (value_at(each, budget) for each in curves)
        if ours is not None and theirs is not None:
            pairs.seeds.append(seed)
            pairs.values.append(ours - theirs)
            pairs.budgets.append(budget)
    return pairs


def _is_trained(whole: Curve) -> bool:
    return len(whole.x) > 0 and whole.x[-1] > 0


def difference(
    arms: Arms,
    arm: str,
    against: str,
    *,
    test_set: str,
    metric: Metric,
    at: Budget,
    sets: Sequence[str],
    seeds: Sequence[int],
) -> StudyDifference:
    """Return an arm against another over the seeds that both have."""
    pairs = _differences(arms.get(arm, {}), arms.get(against, {}), test_set, metric, at, sets)
    found = estimate(pairs.values)
    deviation = stdev(pairs.values) if len(pairs.values) > 1 else 0.0
    verdict = "unknown"
    if found is not None and found.low is not None and found.high is not None:
        verdict = "higher" if found.low > 0 else "lower" if found.high < 0 else "open"
    return StudyDifference.model_validate(
        {
            "arm": arm,
            "against": against,
            "metric": metric,
            "test_set": test_set,
            "at": at,
            "budget": None if at == "steps" else spread(pairs.budgets),
            "difference": found,
            "effect_size": fmean(pairs.values) / deviation if deviation else None,
            "seeds": pairs.seeds,
            "missing_seeds": [seed for seed in seeds if seed not in pairs.seeds],
            "verdict": verdict,
        }
    )


# ---------------------------------------------------------------- curves


def curves_of(arms: Arms, budget: Budget, sets: Sequence[str]) -> list[StudyCurve]:
    """Return mean avg@k over the test sets, of each arm over what it has spent; arms without an evaluation are left
    out."""
    found = []
    for arm, runs in arms.items():
        curves = [each for run in runs.values() if len((each := run.accuracy(MEAN, "avg", budget, sets)).x)]
        if not curves:
            continue
        # Where runs spend differently, positions are spread evenly: none of them was measured at another's.
        positions = common_positions(curves, MOST_POINTS) if budget == "steps" else _even(curves)
        mean = mean_curve(curves, positions)
        found.append(
            StudyCurve(
                arm=arm,
                n=len(curves),
                x=mean.x.tolist(),
                mean=_numbers(mean.mean),
                low=_numbers(mean.low),
                high=_numbers(mean.high),
            )
        )
    return found


def _even(curves: Sequence[Curve]) -> Floats:
    """Return as many positions as the longest curve has, up to the end of the shortest: n does not fall on the way."""
    end = min(float(each.x[-1]) for each in curves)
    return np.linspace(0.0, end, max(2, min(MOST_POINTS, max(len(each.x) for each in curves))))


def _numbers(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
