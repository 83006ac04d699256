"""Diagnostics of the arms: unlocked prompts compared with chance, batches, cost, stability."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from bapo.analysis.accuracy_transitions import Matrix, migration_rates, seen_in_both, tracked_matrix
from bapo.analysis.comparison import Floats, first_reaching, spread
from bapo.analysis.result import MeanEstimate
from bapo.config import RunConfig
from bapo.config.method import has_trait
from bapo.methods.bapo import BapoConfig
from bapo.records import TrackingRecord
from bapo.study.accuracies import Arms, final, mean_of
from bapo.study.declaration import MEAN, Budget
from bapo.study.measured_run import (
    CLIP_FRACTION,
    GRAD_NORM,
    METHOD_SECONDS,
    RATIO_MAX,
    ROLLOUTS,
    STEP_CPU,
    STEP_SECONDS,
    TOKENS,
    TV,
    MeasuredRun,
)
from bapo.study.results import StudyComposition, StudyCost, StudyMatrix, StudyStability, StudyUnlocks
from bapo.theory import TheoryConstants, theory_constants

RateName = Literal["unlocked", "strictly_unlocked", "lost"]


# ---------------------------------------------------------------- tracked prompts


def _sampling(run: MeasuredRun, step: int, replicate: int = 0) -> TrackingRecord | None:
    return next((each for each in run.tracking if each.step == step and each.replicate == replicate), None)


def _moved(run: MeasuredRun, step: int, replicate: int = 0) -> Matrix | None:
    """Step 0 against a step; against step 0 itself, replicate 1, it is the null."""
    before, after = _sampling(run, 0), _sampling(run, step, replicate)
    return tracked_matrix(before, after) if before is not None and after is not None else None


def _common_steps(runs: Sequence[MeasuredRun]) -> list[int]:
    """Return steps after the first at which all runs sampled."""
    sampled = [{each.step for each in run.tracking if each.step > 0 and each.num_correct} for run in runs]
    return sorted(set.intersection(*sampled)) if sampled else []


def unlocks_of(arm: str, runs: Sequence[MeasuredRun]) -> StudyUnlocks | None:
    """Unlock rates at the last step that all runs sampled; None where none follows prompts."""
    runs = [run for run in runs if run.tracking]
    steps = _common_steps(runs)
    if not steps:
        return None
    after = [_moved(run, steps[-1]) for run in runs]
    chance = [_moved(run, 0, 1) for run in runs]

    def rates(matrices: Sequence[Matrix | None], name: RateName) -> list[float | None]:
        return [_rate(matrix, name) for matrix in matrices]

    def above(name: RateName) -> MeanEstimate | None:
        pairs = zip(rates(after, name), rates(chance, name), strict=True)
        return mean_of([rate - null for rate, null in pairs if rate is not None and null is not None])

    return StudyUnlocks(
        arm=arm,
        n=len(runs),
        step=steps[-1],
        unlocked=mean_of(rates(after, "unlocked")),
        unlocked_null=mean_of(rates(chance, "unlocked")),
        strictly_unlocked=mean_of(rates(after, "strictly_unlocked")),
        strictly_unlocked_null=mean_of(rates(chance, "strictly_unlocked")),
        lost=mean_of(rates(after, "lost")),
        lost_null=mean_of(rates(chance, "lost")),
        unlocked_above_null=above("unlocked"),
        strictly_unlocked_above_null=above("strictly_unlocked"),
    )


def _rate(matrix: Matrix | None, name: RateName) -> float | None:
    if matrix is None:
        return None
    rate = getattr(migration_rates(matrix), name)
    return None if rate is None else float(rate.value)


# ---------------------------------------------------------------- batches


def composition_of(arm: str, runs: Sequence[MeasuredRun]) -> StudyComposition:
    """Return the batch composition of an arm."""

    def per_step(name: str) -> MeanEstimate | None:
        return mean_of([_mean(run.groups(name)) for run in runs])

    def share(part: str, whole: str) -> MeanEstimate | None:
        return mean_of([_ratio(run.groups(part), run.groups(whole)) for run in runs])

    return StudyComposition(
        arm=arm,
        n=len(runs),
        fresh=per_step("fresh"),
        x1=per_step("x1"),
        x2=per_step("x2"),
        x3=per_step("x3"),
        fill=share("batch", "batch_size"),
        share_x1=share("x1", "batch"),
        share_x2=share("x2", "batch"),
        share_x3=share("x3", "batch"),
        hit_rate=share("improved", "reevaluated"),
        fresh_hit_rate=share("x1", "fresh") if has_trait(_method(runs[0]), "filters_fresh") else None,
    )


def _mean(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _largest(values: Floats) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else None


def _ratio(part: Floats, whole: Floats) -> float | None:
    """Sum over sum; None where the whole is nothing."""
    total = float(np.nansum(whole))
    return float(np.nansum(part)) / total if total else None


def _method(run: MeasuredRun) -> str:
    return RunConfig.model_validate(run.config).method.type_name()


# ---------------------------------------------------------------- cost


def costs_of(arms: Arms, reference: str, sets: Sequence[str]) -> list[StudyCost]:
    """Return the cost of each arm, in total and to reach the reference's mean final accuracy."""
    known = [final(run, MEAN, "avg", sets) for run in arms.get(reference, {}).values()]
    target = mean_of(known)
    return [
        _cost(arm, list(runs.values()), None if target is None else target.value, sets)
        for arm, runs in arms.items()
        if runs
    ]


def _cost(arm: str, runs: Sequence[MeasuredRun], target: float | None, sets: Sequence[str]) -> StudyCost:
    def total(key: str) -> MeanEstimate | None:
        return mean_of([_sum(run.column(key)) for run in runs])

    def reached(budget: Budget) -> list[float]:
        if target is None:
            return []
        found = [first_reaching(run.accuracy(MEAN, "avg", budget, sets), target) for run in runs]
        return [spent for spent in found if spent is not None]

    return StudyCost(
        arm=arm,
        n=len(runs),
        rollouts=mean_of([_largest(run.column(ROLLOUTS)) for run in runs]),
        tokens=mean_of([_largest(run.column(TOKENS)) for run in runs]),
        cpu_seconds=total(STEP_CPU),
        wall_seconds=total(STEP_SECONDS),
        method_share=mean_of([_ratio(run.column(METHOD_SECONDS), run.column(STEP_SECONDS)) for run in runs]),
        num_reached=len(reached("steps")),
        rollouts_to_reach=spread(reached("rollouts")),
        compute_to_reach=spread(reached("compute")),
    )


def _sum(values: Floats) -> float | None:
    return None if np.isnan(values).all() else float(np.nansum(values))


# ---------------------------------------------------------------- stability


def stability_of(arm: str, runs: Sequence[MeasuredRun]) -> StudyStability:
    """Return the migration of the tracked prompts (Fig. 15) and the quantities of Theorem 3.2."""
    tracked = [run for run in runs if run.tracking]
    constants = _constants(runs[0].config)

    def over(key: str, figure: Callable[[Floats], float | None]) -> MeanEstimate | None:
        return mean_of([figure(run.column(key)) for run in runs])

    return StudyStability(
        arm=arm,
        n=len(runs),
        null=_matrix(0, [_moved(run, 0, 1) for run in tracked]),
        matrices=[
            matrix
            for step in _common_steps(tracked)
            if (matrix := _matrix(step, [_moved(run, step) for run in tracked])) is not None
        ],
        tv=_known({source: over(key, _mean) for source, key in TV.items()}),
        tv_max=_known({source: over(key, _largest) for source, key in TV.items()}),
        clip_fraction=over(CLIP_FRACTION, _mean),
        ratio_max=over(RATIO_MAX, _largest),
        grad_norm=over(GRAD_NORM, _mean),
        grad_norm_max=over(GRAD_NORM, _largest),
        k1=None if constants is None else constants.k1,
        k2=None if constants is None else constants.k2,
        k2_exact=None if constants is None else constants.k2_exact,
        k3=None if constants is None else constants.k3,
    )


def _known(figures: Mapping[str, MeanEstimate | None]) -> dict[str, MeanEstimate]:
    return {name: figure for name, figure in figures.items() if figure is not None}


def _matrix(step: int, matrices: Sequence[Matrix | None]) -> StudyMatrix | None:
    known = [seen_in_both(matrix) for matrix in matrices if matrix is not None]
    if not known or len({matrix.shape for matrix in known}) > 1:
        return None
    total: Matrix = sum(known[1:], start=known[0])
    return StudyMatrix(
        step=step,
        counts=total.tolist(),
        improved=mean_of([_share(np.triu(matrix, 1), matrix) for matrix in known]),
        worse=mean_of([_share(np.tril(matrix, -1), matrix) for matrix in known]),
        solved_kept=mean_of([_share(matrix[-1, -2:], matrix[-1]) for matrix in known]),
    )


def _share(part: Matrix, whole: Matrix) -> float | None:
    total = int(whole.sum())
    return int(part.sum()) / total if total else None


def _constants(config: Mapping[str, object]) -> TheoryConstants | None:
    complete = RunConfig.model_validate(config)
    method = complete.method
    if not isinstance(method, BapoConfig) or not (method.c1 and method.c2[0]):
        # With a threshold of 0 its constant has no bound to speak of.
        return None
    return theory_constants(
        group_size=complete.rollout.group_size,
        c1=method.c1,
        c2=method.c2[0],
        c3=method.c3[0],
        filter_keeps_mixed_only=method.filter.type != "uniform",
    )
