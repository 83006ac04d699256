"""Averages the runs of a group, with intervals, and compares it with the reference group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from bapo.analysis.comparison import estimate, seed_differences, spread
from bapo.analysis.savings import Expense, savings
from bapo.analysis.seed_disagreement import seed_disagreement
from bapo.api.compare import (
    ComparedGroup,
    ComparedRunInfo,
    CostSpread,
    EvaluationResult,
    GroupEvaluation,
    GroupReached,
    MeanEstimate,
    Savings,
    Spent,
)

RateName = Literal["unlocked", "strictly_unlocked", "lost"]


def compared_group(
    label: str, runs: Sequence[ComparedRunInfo], reference: Sequence[ComparedRunInfo] | None, *, is_equal: bool
) -> ComparedGroup:
    """Means over the runs; `reference` are the runs to be compared with, None for the reference group itself."""
    return ComparedGroup(
        label=label,
        run_ids=[run.id for run in runs],
        results=_evaluations(runs, reference, is_equal=is_equal),
        unlocked=_rates(runs, "unlocked", of_null=False),
        unlocked_null=_rates(runs, "unlocked", of_null=True),
        strictly_unlocked=_rates(runs, "strictly_unlocked", of_null=False),
        strictly_unlocked_null=_rates(runs, "strictly_unlocked", of_null=True),
        lost=_rates(runs, "lost", of_null=False),
        lost_null=_rates(runs, "lost", of_null=True),
        rollouts=_certain(run.total.rollouts for run in runs),
        seconds=_certain(run.total.seconds for run in runs),
        compute_hours=_mean(run.total.compute_hours for run in runs),
        cost=_mean(run.total.cost for run in runs),
        to_reach=_reached(runs, reference),
    )


def _mean(values: Iterable[float | None]) -> MeanEstimate | None:
    return estimate([value for value in values if value is not None])


def _certain(values: Iterable[float]) -> MeanEstimate:
    found = _mean(values)
    assert found is not None, "a group has a run"
    return found


def _value(figure: MeanEstimate | None) -> float | None:
    return None if figure is None else figure.value


def _evaluations(
    runs: Sequence[ComparedRunInfo], reference: Sequence[ComparedRunInfo] | None, *, is_equal: bool
) -> list[GroupEvaluation]:
    num_samples = {result.dataset: result.num_samples for run in runs for result in run.results}

    def figure(result: EvaluationResult) -> float | None:
        return result.at_budget if is_equal else result.final.value

    def against_reference(dataset: str) -> list[float]:
        if reference is None:
            return []
        return seed_differences(_by_seed(reference, dataset, figure), _by_seed(runs, dataset, figure))

    differences = {dataset: against_reference(dataset) for dataset in num_samples}
    return [
        GroupEvaluation(
            dataset=dataset,
            num_samples=k,
            base=_over(runs, dataset, lambda result: _value(result.base)),
            final=_over(runs, dataset, lambda result: result.final.value),
            best=_over(runs, dataset, lambda result: result.best.value),
            change=_over(runs, dataset, lambda result: _value(result.change)),
            at_budget=_over(runs, dataset, lambda result: result.at_budget),
            against_reference=estimate(differences[dataset]),
            disagreement=seed_disagreement(differences[dataset]),
        )
        for dataset, k in num_samples.items()
    ]


Figure = Callable[[EvaluationResult], float | None]


def _over(runs: Sequence[ComparedRunInfo], dataset: str, figure: Figure) -> MeanEstimate | None:
    return _mean(figure(result) for run in runs for result in run.results if result.dataset == dataset)


def _by_seed(runs: Sequence[ComparedRunInfo], dataset: str, figure: Figure) -> list[tuple[int | None, float]]:
    found = []
    for run in runs:
        for result in run.results:
            value = figure(result)
            if result.dataset == dataset and value is not None:
                found.append((run.seed, value))
    return found


def _rates(runs: Sequence[ComparedRunInfo], name: RateName, *, of_null: bool) -> MeanEstimate | None:
    summaries = [run.tracked.null if of_null else run.tracked.rates for run in runs if run.tracked is not None]
    rates = [getattr(summary, name) for summary in summaries if summary is not None]
    return _mean(rate.value for rate in rates if rate is not None)


def _reached(runs: Sequence[ComparedRunInfo], reference: Sequence[ComparedRunInfo] | None) -> GroupReached | None:
    asked = [run.to_reach for run in runs if run.to_reach is not None]
    if not asked:
        return None
    spent = [each.spent for each in asked if each.spent is not None]

    def over(figure: Callable[[Spent], float | None]) -> CostSpread | None:
        return spread([value for value in map(figure, spent) if value is not None])

    return GroupReached(
        num_reached=len(spent),
        num_runs=len(asked),
        step=over(lambda each: each.step),
        rollouts=over(lambda each: each.rollouts),
        seconds=over(lambda each: each.seconds),
        compute_hours=over(lambda each: each.compute_hours),
        cost=over(lambda each: each.cost),
        saved_hours=_saved(runs, reference, lambda each: each.compute_hours),
        saved_cost=_saved(runs, reference, lambda each: each.cost),
    )


def _saved(
    runs: Sequence[ComparedRunInfo],
    reference: Sequence[ComparedRunInfo] | None,
    figure: Callable[[Spent], float | None],
) -> Savings | None:
    """Savings of the runs; None where the figure is unknown for one of them."""
    if reference is None:
        return None
    ours, theirs = (_expenses(side, figure) for side in (runs, reference))
    return None if ours is None or theirs is None else savings(ours, theirs)


def _expenses(runs: Sequence[ComparedRunInfo], figure: Callable[[Spent], float | None]) -> list[Expense] | None:
    """What each run spent; None where that is not known of one."""
    found = []
    for run in runs:
        spent = None if run.to_reach is None else run.to_reach.spent or run.to_reach.tried
        value = None if spent is None else figure(spent)
        if run.to_reach is None or value is None:
            return None
        found.append(Expense(run.seed, value, run.to_reach.reached))
    return found
