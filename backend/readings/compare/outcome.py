"""Gathers the data from which the outcome of a comparison is described."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from backend.readings.compare.curves import Axes, common_budget
from backend.readings.compare.groups import Replicates, compared_group
from backend.readings.compare.outcomes import Accuracies, HeldOut, evaluated_until, results_of
from bapo.analysis.comparable import Candidate, left_out_of
from bapo.analysis.outcome import Contender, outcome
from bapo.analysis.result import LeftOutRun, Outcome, Standing
from bapo.api.compare import ComparedGroup, ComparedRunInfo, EqualBudget, EvaluationResult, MeanEstimate
from bapo.api.runs import TERMINAL_STATUSES, RunStatus


class Compared(NamedTuple):
    """Groups of runs, and where their accuracies are taken."""

    groups: Sequence[ComparedGroup]
    reference: str
    """Label of the reference group."""
    runs: Mapping[str, ComparedRunInfo]
    budget: EqualBudget | None
    """`None`: each run's last evaluation."""


def outcome_of(
    session: Session,
    dataset: str | None,
    whole: Compared,
    replicates: Replicates,
    axes: Mapping[str, Axes],
    held_out: HeldOut,
) -> Outcome:
    """Return the outcome on a held-out set: at the common budget if there is one, else at the ends of the runs.

    Runs that cannot be compared with the others are left out, so that the others are held against one another as if
    those were not there. A run evaluated on another set of the same name is no candidate: `other_sets` names it.
    """
    elsewhere = frozenset[str]() if dataset is None else held_out.sets.of_one_name(dataset)
    candidates = [run for run in whole.runs.values() if _is_candidate(run, dataset, elsewhere)]
    left_out = left_out_of([_candidate(run, dataset) for run in candidates])
    compared = _without(session, whole, left_out, replicates, axes, held_out.accuracies) if left_out else whole
    # What was left out may still change the outcome.
    is_running = any(run.status not in TERMINAL_STATUSES | {RunStatus.DRAFT} for run in whole.runs.values())
    standing = _standing(compared, dataset, left_out, is_running=is_running)
    is_equal = compared.budget is not None
    contenders = [_contender(group, dataset, compared.runs, is_equal=is_equal) for group in compared.groups]
    found = outcome(dataset, contenders, compared.reference, standing)
    if dataset is None or not elsewhere:
        return found
    others = {group.label for group in compared.groups if any(each.dataset in elsewhere for each in group.results)}
    return found.model_copy(
        update={
            "unevaluated": [label for label in found.unevaluated if label not in others],
            "other_sets": held_out.sets.difference(dataset),
        }
    )


def _is_candidate(run: ComparedRunInfo, dataset: str | None, elsewhere: Collection[str]) -> bool:
    return _result_of(run, dataset) is not None or all(each.dataset not in elsewhere for each in run.results)


def _candidate(run: ComparedRunInfo, dataset: str | None) -> Candidate:
    result = _result_of(run, dataset)
    is_over = run.status in TERMINAL_STATUSES
    last = None if result is None else result.final_step
    return Candidate(run.id, run.name, run.label, run.status.value, is_over, run.step, last)


def _without(
    session: Session,
    whole: Compared,
    left_out: Sequence[LeftOutRun],
    replicates: Replicates,
    axes: Mapping[str, Axes],
    accuracies: Mapping[str, Mapping[str, Accuracies]],
) -> Compared:
    """Return the comparison of the other runs, at their own common budget."""
    missing = {each.run_id for each in left_out}
    runs = {run_id: run for run_id, run in whole.runs.items() if run_id not in missing}
    budget = None
    if whole.budget is not None:
        shared = common_budget({run_id: axes[run_id] for run_id in runs}, whole.budget.x)
        known = {run_id: accuracies[run_id] for run_id in runs}
        evaluated = evaluated_until(known, shared)
        results = results_of(session, list(runs), known, shared.x, evaluated)
        runs = {run_id: run.model_copy(update={"results": results[run_id]}) for run_id, run in runs.items()}
        budget = EqualBudget(**shared._asdict(), evaluated=evaluated)
    members = {
        group.label: kept for group in whole.groups if (kept := [runs[each] for each in group.run_ids if each in runs])
    }
    reference = whole.reference if whole.reference in members else next(iter(members))
    groups = [
        compared_group(
            label,
            of_group,
            None if label == reference else members[reference],
            replicates,
            is_equal=budget is not None,
        )
        for label, of_group in members.items()
    ]
    return Compared(groups, reference, runs, budget)


def _standing(compared: Compared, dataset: str | None, left_out: Sequence[LeftOutRun], *, is_running: bool) -> Standing:
    budget = compared.budget
    results = [result for run in compared.runs.values() if (result := _result_of(run, dataset)) is not None]
    finals = [result.final_step for result in results]
    lengths = {run.num_steps for run in compared.runs.values()}
    return Standing(
        is_running=is_running,
        axis="step" if budget is None else budget.x,
        position=None if budget is None or dataset is None else budget.evaluated.get(dataset),
        is_cut=budget is not None and (budget.run_id is not None or len(set(finals)) > 1),
        num_steps=lengths.pop() if len(lengths) == 1 else None,
        final_steps=(min(finals), max(finals)) if finals else None,
        is_interpolated=any(each.at_budget is not None and each.evaluated_at_budget is None for each in results),
        left_out=left_out,
    )


def _result_of(run: ComparedRunInfo, dataset: str | None) -> EvaluationResult | None:
    return next((result for result in run.results if result.dataset == dataset), None)


def _contender(
    group: ComparedGroup, dataset: str | None, runs: Mapping[str, ComparedRunInfo], *, is_equal: bool
) -> Contender:
    results = [result for run_id in group.run_ids if (result := _result_of(runs[run_id], dataset)) is not None]
    on_dataset = next((each for each in group.results if each.dataset == dataset), None)
    if on_dataset is None:
        return Contender(group.label, None, 0, None, None)
    accuracy = on_dataset.at_budget if is_equal else on_dataset.final
    if len(results) == 1:
        accuracy = _of_one_run(results[0], is_equal=is_equal)
    return Contender(group.label, accuracy, len(results), on_dataset.against_reference, on_dataset.disagreement)


def _of_one_run(result: EvaluationResult, *, is_equal: bool) -> MeanEstimate | None:
    """Return the estimate with its interval over problems, if the run was evaluated at that position."""
    if not is_equal:
        return result.final
    if result.evaluated_at_budget is not None or result.at_budget is None:
        return result.evaluated_at_budget
    return MeanEstimate(value=result.at_budget, low=None, high=None, n=1)
