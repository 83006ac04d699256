"""Averages the runs of a group, with intervals, and compares it with the reference group."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal

from bapo.analysis.comparison import estimate, over_replicates, seed_differences, spread
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


Replicates = Mapping[str, Hashable]
"""Run → key of its replicate: `replicate_keys`."""


def compared_group(
    label: str,
    runs: Sequence[ComparedRunInfo],
    reference: Sequence[ComparedRunInfo] | None,
    replicates: Replicates,
    *,
    is_equal: bool,
) -> ComparedGroup:
    """Return the averages of replicates; `reference` are the runs to compare with, `None` for the reference group."""

    def mean(figure: Callable[[ComparedRunInfo], float | None]) -> MeanEstimate | None:
        return _mean(runs, figure, replicates)

    def certain(figure: Callable[[ComparedRunInfo], float]) -> MeanEstimate:
        found = mean(figure)
        assert found is not None, "a group has a run"
        return found

    return ComparedGroup(
        label=label,
        run_ids=[run.id for run in runs],
        results=_evaluations(runs, reference, replicates, is_equal=is_equal),
        unlocked=mean(_rate("unlocked", of_null=False)),
        unlocked_null=mean(_rate("unlocked", of_null=True)),
        strictly_unlocked=mean(_rate("strictly_unlocked", of_null=False)),
        strictly_unlocked_null=mean(_rate("strictly_unlocked", of_null=True)),
        lost=mean(_rate("lost", of_null=False)),
        lost_null=mean(_rate("lost", of_null=True)),
        rollouts=certain(lambda run: run.total.rollouts),
        seconds=certain(lambda run: run.total.seconds),
        compute_hours=mean(lambda run: run.total.compute_hours),
        cost=mean(lambda run: run.total.cost),
        to_reach=_reached(runs, reference),
    )


def _mean(
    runs: Sequence[ComparedRunInfo], figure: Callable[[ComparedRunInfo], float | None], replicates: Replicates
) -> MeanEstimate | None:
    figures = [(replicates[run.id], value) for run in runs if (value := figure(run)) is not None]
    return estimate(over_replicates(figures))


def _value(figure: MeanEstimate | None) -> float | None:
    return None if figure is None else figure.value


def _evaluations(
    runs: Sequence[ComparedRunInfo],
    reference: Sequence[ComparedRunInfo] | None,
    replicates: Replicates,
    *,
    is_equal: bool,
) -> list[GroupEvaluation]:
    num_samples = {result.dataset: result.num_samples for run in runs for result in run.results}

    def figure(result: EvaluationResult) -> float | None:
        return result.at_budget if is_equal else result.final.value

    def against_reference(dataset: str) -> list[float]:
        if reference is None:
            return []
        return seed_differences(_by_seed(reference, dataset, figure), _by_seed(runs, dataset, figure))

    def over(dataset: str, of_result: Callable[[EvaluationResult], float | None]) -> MeanEstimate | None:
        def of_run(run: ComparedRunInfo) -> float | None:
            found = next((result for result in run.results if result.dataset == dataset), None)
            return None if found is None else of_result(found)

        return _mean(runs, of_run, replicates)

    differences = {dataset: against_reference(dataset) for dataset in num_samples}
    return [
        GroupEvaluation(
            dataset=dataset,
            num_samples=k,
            base=over(dataset, lambda result: _value(result.base)),
            final=over(dataset, lambda result: result.final.value),
            best=over(dataset, lambda result: result.best.value),
            change=over(dataset, lambda result: _value(result.change)),
            at_budget=over(dataset, lambda result: result.at_budget),
            against_reference=estimate(differences[dataset]),
            disagreement=seed_disagreement(differences[dataset]),
        )
        for dataset, k in num_samples.items()
    ]


Figure = Callable[[EvaluationResult], float | None]


def _by_seed(runs: Sequence[ComparedRunInfo], dataset: str, figure: Figure) -> list[tuple[int | None, float]]:
    found = []
    for run in runs:
        for result in run.results:
            value = figure(result)
            if result.dataset == dataset and value is not None:
                found.append((run.seed, value))
    return found


def _rate(name: RateName, *, of_null: bool) -> Callable[[ComparedRunInfo], float | None]:
    def of_run(run: ComparedRunInfo) -> float | None:
        if run.tracked is None:
            return None
        summary = run.tracked.null if of_null else run.tracked.rates
        rate = None if summary is None else getattr(summary, name)
        return None if rate is None else float(rate.value)

    return of_run


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
    """Return the savings of the runs; `None` if the figure is unknown for one of them."""
    if reference is None:
        return None
    ours, theirs = (_expenses(side, figure) for side in (runs, reference))
    return None if ours is None or theirs is None else savings(ours, theirs)


def _expenses(runs: Sequence[ComparedRunInfo], figure: Callable[[Spent], float | None]) -> list[Expense] | None:
    """Return what each run spent; `None` if it is unknown for one of them."""
    found = []
    for run in runs:
        spent = None if run.to_reach is None else run.to_reach.spent or run.to_reach.tried
        value = None if spent is None else figure(spent)
        if run.to_reach is None or value is None:
            return None
        found.append(Expense(run.seed, value, run.to_reach.reached))
    return found
