"""Held-out accuracy of runs, the tracked prompts that they unlocked or lost, and their cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from backend.prices.hours import Machine, Prices, compute_hours
from backend.readings.compare import repository
from backend.readings.compare.curves import Axes, Budget
from backend.readings.compare.repository import Answers, EvaluationRow
from backend.runs.usage import Usage
from bapo.analysis.accuracy_transitions import migration_matrix, migration_rates
from bapo.analysis.comparison import Curve, Floats, curve, value_at
from bapo.analysis.held_out_sets import HeldOutSet, NamedSets, named_sets, newest_of_run
from bapo.api.compare import CompareAxis, EvaluationResult, MeanEstimate, ReachedAccuracy, Spent, TrackedResult
from bapo.api.difficulty import MigrationSummary
from bapo.evaluation import paired_difference


class Accuracies(NamedTuple):
    """avg@k of a run on one held-out set, by step."""

    dataset: str
    """Name of the set among the runs."""
    held_out: HeldOutSet
    steps: NDArray[np.int64]
    values: Floats
    rows: Sequence[EvaluationRow]
    axes: Axes


class HeldOut(NamedTuple):
    """The held-out sets of several runs, and all evaluations on them."""

    sets: NamedSets
    accuracies: Mapping[str, Mapping[str, Accuracies]]
    """By run, and by the set's name among the runs."""


def held_out_of(session: Session, run_ids: Sequence[str], axes: Mapping[str, Axes]) -> HeldOut:
    """Return all evaluations by run and held-out set; if a run changed a set on its way, only those of the newest."""
    rows: dict[str, list[EvaluationRow]] = {run_id: [] for run_id in run_ids}
    for row in repository.evaluations(session, run_ids):
        rows[row.run_id].append(row)
    newest = {run_id: newest_of_run((row.held_out, row.step) for row in of_run) for run_id, of_run in rows.items()}
    sets = named_sets(each for of_run in newest.values() for each in of_run.values())
    accuracies: dict[str, dict[str, Accuracies]] = {}
    for run_id, of_run in newest.items():
        accuracies[run_id] = {}
        for each in of_run.values():
            found = [row for row in rows[run_id] if row.held_out.equals(each)]
            accuracies[run_id][sets.labels[each]] = Accuracies(
                sets.labels[each],
                each,
                np.array([row.step for row in found], np.int64),
                np.array([row.value for row in found]),
                found,
                axes[run_id],
            )
    return HeldOut(sets, accuracies)


def results_of(
    session: Session,
    run_ids: Sequence[str],
    accuracies: Mapping[str, Mapping[str, Accuracies]],
    x: CompareAxis | None,
    evaluated: Mapping[str, float],
) -> dict[str, list[EvaluationResult]]:
    """Return first, last and best evaluation of each run and held-out set, and accuracy at `evaluated` on an axis."""
    ends: dict[tuple[str, str], list[Answers]] = {}
    for answers in repository.first_and_last_evaluations(session, run_ids):
        ends.setdefault((answers.run_id, answers.identity), []).append(answers)
    return {
        run_id: [
            _result(
                known,
                ends.get((run_id, known.held_out.dataset), []),
                None if x is None else value_at(_curve(known, x), evaluated[dataset]),
                None if x is None else _row_at(known, x, evaluated[dataset]),
            )
            for dataset, known in of_run.items()
        ]
        for run_id, of_run in accuracies.items()
    }


def evaluated_until(accuracies: Mapping[str, Mapping[str, Accuracies]], budget: Budget) -> dict[str, float]:
    """Return by held-out set the last position up to the budget at which every run that knows the set was evaluated.

    Runs that were evaluated nowhere together but before training, as is usual on an axis of rollouts or time, are
    interpolated at the last evaluation of one of them that lies within those of all.
    """
    positions: dict[str, list[Floats]] = {}
    for of_run in accuracies.values():
        for dataset, known in of_run.items():
            positions.setdefault(dataset, []).append(_curve(known, budget.x).x)
    return {dataset: _last_common(of_runs, budget.until) for dataset, of_runs in positions.items()}


def _last_common(of_runs: Sequence[Floats], until: float) -> float:
    limit = min(until, *(float(each[-1]) for each in of_runs))
    common = reduce(np.intersect1d, of_runs)
    at_all = common[common <= limit]
    if len(at_all) and at_all[-1] > 0:
        return float(at_all[-1])
    at_one = np.concatenate([each[each <= limit] for each in of_runs])
    return float(at_one.max()) if len(at_one) else limit


def _curve(known: Accuracies, x: CompareAxis) -> Curve:
    return curve(known.axes.at(x, known.steps), known.values)


def _row_at(known: Accuracies, x: CompareAxis, position: float) -> EvaluationRow | None:
    """Return the last evaluation at exactly this position."""
    places = np.nonzero(known.axes.at(x, known.steps) == position)[0]
    return known.rows[int(places[-1])] if len(places) else None


def _result(
    known: Accuracies, ends: Sequence[Answers], at_budget: float | None, evaluated_there: EvaluationRow | None
) -> EvaluationResult:
    best = known.rows[int(known.values.argmax())]
    num_problems = known.held_out.num_problems
    return EvaluationResult(
        dataset=known.dataset,
        recorded_as=known.held_out.dataset,
        num_samples=known.held_out.num_samples,
        num_problems=num_problems,
        problems=known.held_out.problems,
        base=_over_problems(known.rows[0], num_problems) if known.rows[0].step == 0 else None,
        final=_over_problems(known.rows[-1], num_problems),
        final_step=known.rows[-1].step,
        best=_over_problems(best, num_problems),
        best_step=best.step,
        change=_change(ends),
        at_budget=at_budget,
        evaluated_at_budget=None if evaluated_there is None else _over_problems(evaluated_there, num_problems),
    )


def _over_problems(row: EvaluationRow, num_problems: int) -> MeanEstimate:
    return MeanEstimate(value=row.value, low=row.low, high=row.high, n=num_problems)


def _change(ends: Sequence[Answers]) -> MeanEstimate | None:
    if len(ends) != 2 or ends[0].step != 0 or len(ends[0].num_correct) < 2:
        return None
    if ends[0].problems != ends[1].problems or ends[0].num_samples != ends[1].num_samples:
        return None
    first, last = ([count / each.num_samples for count in each.num_correct] for each in ends)
    found = paired_difference(first, last)
    return MeanEstimate(value=found.value, low=found.low, high=found.high, n=len(first))


def tracked_of(session: Session, run_ids: Sequence[str]) -> dict[str, TrackedResult]:
    """Return the moves of the tracked prompts from the base model to the last sampling; omits runs that track none."""
    by_run: dict[str, list[Answers]] = {}
    for answers in repository.first_and_last_trackings(session, run_ids):
        by_run.setdefault(answers.run_id, []).append(answers)
    found = {}
    for run_id, samplings in by_run.items():
        base = next((each for each in samplings if each.step == 0 and each.identity == "0"), None)
        again = next((each for each in samplings if each.step == 0 and each.identity == "1"), None)
        last = max((each for each in samplings if each.identity == "0"), key=lambda each: each.step, default=None)
        rates = None if base is None or last is None or last.step == 0 else _rates(base, last)
        if base is not None and last is not None and rates is not None:
            null = None if again is None else _rates(base, again)
            found[run_id] = TrackedResult(step=last.step, rates=rates, null=null)
    return found


def _rates(before: Answers, after: Answers) -> MigrationSummary | None:
    # The tracked prompts stay the same through a run.
    if before.problems != after.problems or not before.num_correct:
        return None
    first, second = (np.array(each.num_correct, np.int16) for each in (before, after))
    return migration_rates(migration_matrix(first, second, before.num_samples))


class Meter(NamedTuple):
    """Rates by which a run's compute is counted."""

    num_gpus: int | None
    """GPUs of its newest attempt; 0 on the CPU, `None` if another trainer's machines are unknown."""
    compute_hours: float | None
    """Compute hours of all its attempts; `None` if no worker took it (imported)."""
    cost: float | None
    hour_price: float | None
    """Average price of a compute hour over its attempts; `None` if unknown."""


def meter_of(usage: Usage | None, prices: Prices, now: datetime, *, is_ours: bool) -> Meter:
    """Return the rates of a run; `usage` is `None` if no worker took it, `is_ours` False for another trainer's run."""
    if usage is None:
        return Meter(0, None, None, prices.at(now, Machine())) if is_ours else Meter(None, None, None, None)
    hours, cost = usage.compute_hours, usage.cost(prices)
    return Meter(usage.num_gpus, hours, cost, None if cost is None or not hours else cost / hours)


def total(axes: Axes, meter: Meter) -> Spent:
    """Return all that a run used; the hours of an imported run are those of its training steps, on one slot."""
    spent = _spent(axes, len(axes.steps), meter)
    if meter.compute_hours is None:
        return spent
    return spent.model_copy(update={"compute_hours": meter.compute_hours, "cost": meter.cost})


def reached(accuracies: Accuracies | None, axes: Axes, meter: Meter, target: float) -> ReachedAccuracy:
    """Return the resources that the run used until its first evaluation with at least this accuracy.

    Hours are those of its training steps: evaluations cost as much as one wants to know.
    """
    if accuracies is None:
        return ReachedAccuracy(reached=False, accuracy=None, spent=None)
    places = np.nonzero(accuracies.values >= target)[0]
    if not len(places):
        tried = _spent(axes, len(axes.steps), meter)
        return ReachedAccuracy(reached=False, accuracy=float(accuracies.values.max()), spent=None, tried=tried)
    step = int(accuracies.steps[places[0]])
    num_steps = int(np.searchsorted(axes.steps, step, side="right"))
    spent = _spent(axes, num_steps, meter).model_copy(update={"step": step})
    return ReachedAccuracy(reached=True, accuracy=float(accuracies.values[places[0]]), spent=spent)


def _spent(axes: Axes, num_steps: int, meter: Meter) -> Spent:
    last = num_steps - 1
    seconds = float(axes.seconds[last]) if num_steps else 0.0
    hours = None if meter.num_gpus is None else compute_hours(seconds, meter.num_gpus)
    return Spent(
        step=int(axes.steps[last]) if num_steps else 0,
        rollouts=float(axes.rollouts[last]) if num_steps else 0,
        seconds=seconds,
        compute_hours=hours,
        cost=None if hours is None or meter.hour_price is None else hours * meter.hour_price,
    )
