"""Gathers what the outcome of a comparison is told from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bapo.analysis.outcome import Contender, outcome
from bapo.analysis.result import Outcome, Standing
from bapo.api.compare import ComparedGroup, ComparedRunInfo, EqualBudget, EvaluationResult, MeanEstimate
from bapo.api.runs import TERMINAL_STATUSES, RunStatus


def outcome_of(
    dataset: str | None,
    groups: Sequence[ComparedGroup],
    reference: str,
    runs: Mapping[str, ComparedRunInfo],
    budget: EqualBudget | None,
) -> Outcome:
    """What the groups show on a held-out set: at the common budget where there is one, else at their ends."""
    position = None if budget is None or dataset is None else budget.evaluated.get(dataset)
    finals = [result.final_step for run in runs.values() if (result := _result_of(run, dataset)) is not None]
    is_cut = budget is not None and (budget.run_id is not None or len(set(finals)) > 1)
    lengths = {run.num_steps for run in runs.values()}
    standing = Standing(
        is_running=any(run.status not in TERMINAL_STATUSES | {RunStatus.DRAFT} for run in runs.values()),
        axis="step" if budget is None else budget.x,
        position=position,
        is_cut=is_cut,
        num_steps=lengths.pop() if len(lengths) == 1 else None,
        final_steps=(min(finals), max(finals)) if finals else None,
    )
    contenders = [_contender(group, dataset, runs, is_equal=budget is not None) for group in groups]
    return outcome(dataset, contenders, reference, standing)


def _result_of(run: ComparedRunInfo, dataset: str | None) -> EvaluationResult | None:
    return next((result for result in run.results if result.dataset == dataset), None)


def _contender(
    group: ComparedGroup, dataset: str | None, runs: Mapping[str, ComparedRunInfo], *, is_equal: bool
) -> Contender:
    results = [result for run_id in group.run_ids if (result := _result_of(runs[run_id], dataset)) is not None]
    told = next((each for each in group.results if each.dataset == dataset), None)
    if told is None:
        return Contender(group.label, None, 0, None, None)
    accuracy = told.at_budget if is_equal else told.final
    if len(results) == 1:
        accuracy = _of_one_run(results[0], is_equal=is_equal)
    return Contender(group.label, accuracy, len(results), told.against_reference, told.disagreement)


def _of_one_run(result: EvaluationResult, *, is_equal: bool) -> MeanEstimate | None:
    """With the interval over problems, where the run was evaluated at that position."""
    if not is_equal:
        return result.final
    if result.evaluated_at_budget is not None or result.at_budget is None:
        return result.evaluated_at_budget
    return MeanEstimate(value=result.at_budget, low=None, high=None, n=1)
