"""Compares runs: differing fields, accuracy reached, cost."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import NamedTuple

from sqlalchemy.orm import Session

from backend.kit.bodies import rendered
from backend.kit.database import clock
from backend.kit.errors import Problem, not_found
from backend.models import Run
from backend.prices.hours import Prices
from backend.readings.compare import repository
from backend.readings.compare.curves import Budget, common_budget, read_axes
from backend.readings.compare.groups import compared_group
from backend.readings.compare.outcome import Compared, outcome_of
from backend.readings.compare.outcomes import (
    Accuracies,
    HeldOut,
    evaluated_until,
    held_out_of,
    meter_of,
    reached,
    results_of,
    total,
    tracked_of,
)
from backend.runs.presentation import NOTES_START_CHARACTERS
from backend.runs.repository import applied_changes
from backend.runs.usage import usage_of
from bapo.analysis.comparison import (
    ComparedRun,
    RunGroup,
    differences,
    flattened,
    groups_of,
    replicate_keys,
    seed_in,
    shown_name,
)
from bapo.analysis.held_out_sets import NamedSets
from bapo.analysis.outcome_text import outcome_text
from bapo.analysis.result import AppliedChange
from bapo.analysis.steered import steered_config
from bapo.api.compare import (
    MOST_COMPARED,
    CompareAxis,
    ComparedRunInfo,
    Comparison,
    ConfigDifference,
    EqualBudget,
    EvaluationResult,
)
from bapo.config.method import is_trainable


class Chosen(NamedTuple):
    """The runs of a comparison, and their groups."""

    rows: Sequence[repository.NamedRun]
    runs: Sequence[ComparedRun]
    groups: Sequence[RunGroup]
    changes: Mapping[str, Sequence[AppliedChange]]
    """Parameter changes by run."""
    replicates: Sequence[Hashable]
    """Key of each run's replicate: identical runs of one seed are one."""

    @property
    def ids(self) -> list[str]:
        """IDs of the runs, in order."""
        return [row.run.id for row in self.rows]


class Question(NamedTuple):
    """Options of a comparison."""

    group: str
    x: CompareAxis
    equal: bool
    dataset: str | None = None
    reach: float | None = None
    reference: str | None = None
    reaches_final: bool = False
    """Without `reach`: the final accuracy of the reference group, else of the first that was evaluated."""


def existing(session: Session, run_ids: Sequence[str]) -> list[str]:
    """Return the identifiers, each once. Raises Problem 422 for too many, 404 naming all runs that do not exist."""
    distinct = _distinct(run_ids)
    _refuse_missing(distinct, repository.existing(session, distinct))
    return distinct


def _distinct(run_ids: Sequence[str]) -> list[str]:
    distinct = list(dict.fromkeys(run_ids))
    if len(distinct) > MOST_COMPARED:
        remedy = f"at most {MOST_COMPARED} runs can be compared at once: leave out {len(distinct) - MOST_COMPARED}"
        raise Problem(422, "invalid_request", remedy, field="run", value=len(distinct))
    return distinct


def _refuse_missing(run_ids: Sequence[str], found: Collection[str]) -> None:
    missing = [run_id for run_id in run_ids if run_id not in found]
    if missing:
        raise not_found("run" if len(missing) == 1 else "runs", ", ".join(missing))


def choose(session: Session, run_ids: Sequence[str], group: str) -> Chosen:
    """Return the runs in the order given, each once.

    Raises Problem 422 for too many or for a field that none has, 404 naming all runs that do not exist.
    """
    distinct = _distinct(run_ids)
    found = repository.named_runs(session, distinct)
    _refuse_missing(distinct, found)
    rows = [found[run_id] for run_id in distinct]
    changes = applied_changes(session, distinct)
    # A run whose c1 was changed is no replicate of one with the former c1, nor of one with the new one.
    runs = [
        ComparedRun(
            row.run.name, steered_config(flattened(row.run.config), changes[row.run.id]), row.run.tags, row.group
        )
        for row in rows
    ]
    try:
        groups = groups_of(runs, group)
    except ValueError as error:
        raise Problem(422, "invalid_request", str(error), field="group", value=group) from None
    return Chosen(rows, runs, groups, changes, replicate_keys([run.config for run in runs]))


def compare(session: Session, chosen: Chosen, question: Question, prices: Prices) -> Comparison:
    """Return the whole comparison but its curves."""
    ids = chosen.ids
    axes = read_axes(session, ids)
    budget = common_budget(axes, question.x) if question.equal else None
    recorded = held_out_of(session, ids, axes)
    datasets = _datasets(recorded.accuracies)
    # As recorded they come in no particular order.
    accuracies = {
        run_id: {each: of_run[each] for each in datasets if each in of_run}
        for run_id, of_run in recorded.accuracies.items()
    }
    held_out = HeldOut(recorded.sets, accuracies)
    dataset = _asked(question.dataset, datasets, accuracies)
    reference = _reference(chosen.groups, question.reference)
    used = usage_of(session, ids)
    evaluated = {} if budget is None else evaluated_until(accuracies, budget)
    results = results_of(session, ids, accuracies, None if budget is None else budget.x, evaluated)
    tracked = tracked_of(session, ids)
    now = clock(session)
    label_of = {ids[index]: group.label for group in chosen.groups for index in group.members}
    reach = question.reach
    if reach is None and question.reaches_final:
        finals = [
            _final([result for index in group.members for result in results[ids[index]]], dataset)
            for group in (chosen.groups[reference], *chosen.groups)
        ]
        reach = next((final for final in finals if final is not None), None)
    infos = {}
    for row, run in zip(chosen.rows, chosen.runs, strict=True):
        run_id = row.run.id
        meter = meter_of(used.get(run_id), prices, now, is_ours=is_trainable(row.run.method))
        known = accuracies[run_id]
        infos[run_id] = rendered(
            ComparedRunInfo,
            row,
            row.run,
            seed=seed_in(run.config),
            label=label_of[run_id],
            duration_seconds=_duration(row.run, now),
            notes_start=row.run.notes[:NOTES_START_CHARACTERS],
            total=total(axes[run_id], meter),
            results=results[run_id],
            tracked=tracked.get(run_id),
            to_reach=None
            if reach is None or _is_evaluated_elsewhere(known, dataset, held_out.sets)
            else reached(known.get(dataset or ""), axes[run_id], meter, reach),
        )
    first = [infos[ids[index]] for index in chosen.groups[reference].members]
    found = differences([run.config for run in chosen.runs])
    replicates = dict(zip(ids, chosen.replicates, strict=True))
    groups = [
        compared_group(
            group.label,
            [infos[ids[index]] for index in group.members],
            None if number == reference else first,
            replicates,
            is_equal=budget is not None,
        )
        for number, group in enumerate(chosen.groups)
    ]
    shared = equal_budget(budget, evaluated)
    whole = Compared(groups, groups[reference].label, infos, shared)
    shown = outcome_of(session, dataset, whole, replicates, axes, held_out)
    return Comparison(
        runs=[infos[run_id] for run_id in ids],
        groups=groups,
        grouped_by=question.group,
        reference=chosen.groups[reference].label,
        differences=[ConfigDifference(field=each.field, values=each.values, known=each.known) for each in found],
        fields=_fields(chosen.runs, [each.field for each in found]),
        datasets=datasets,
        dataset=dataset,
        held_out_note=held_out.sets.note(),
        reach=reach,
        budget=shared,
        currency=prices.currency,
        outcome=shown,
        outcome_text=outcome_text(shown),
    )


def equal_budget(budget: Budget | None, evaluated: Mapping[str, float]) -> EqualBudget | None:
    """Render the budget for the API."""
    return None if budget is None else EqualBudget(**budget._asdict(), evaluated=dict(evaluated))


def _asked(name: str | None, datasets: Sequence[str], accuracies: Mapping[str, Mapping[str, Accuracies]]) -> str | None:
    """Return the requested set, by its name among the runs or in their records; by default the first.

    Raises Problem 422 if no run was evaluated on such a set.
    """
    if name is None or not datasets:
        return name or next(iter(datasets), None)
    recorded = {known.held_out.dataset for of_run in accuracies.values() for known in of_run.values()}
    found = [name] if name in datasets else []
    if not found and name in recorded:
        found = [each for each in datasets if any(_is_of(of_run.get(each), name) for of_run in accuracies.values())]
    if not found:
        remedy = f"the runs were evaluated on {', '.join(datasets)}: name one of these"
        raise Problem(422, "invalid_request", remedy, field="dataset", value=name)
    return found[0]


def _is_of(known: Accuracies | None, name: str) -> bool:
    return known is not None and known.held_out.dataset == name


def _is_evaluated_elsewhere(of_run: Mapping[str, Accuracies], dataset: str | None, sets: NamedSets) -> bool:
    """Return whether a run was evaluated on another set of the same name only, so that it says nothing of this one."""
    return dataset is not None and dataset not in of_run and not sets.of_one_name(dataset).isdisjoint(of_run)


def _final(results: Sequence[EvaluationResult], dataset: str | None) -> float | None:
    """Return the mean final accuracy, rounded down to a whole percent."""
    values = [each.final.value for each in results if each.dataset == dataset]
    return math.floor(100 * fmean(values)) / 100 if values else None


def _duration(run: Run, now: datetime) -> float | None:
    return None if run.started_at is None else ((run.finished_at or now) - run.started_at).total_seconds()


def _datasets(accuracies: Mapping[str, Mapping[str, Accuracies]]) -> list[str]:
    num_runs: dict[str, int] = {}
    for of_run in accuracies.values():
        for dataset in of_run:
            num_runs[dataset] = num_runs.get(dataset, 0) + 1
    # The widest set first: CD-34 before CD-4.
    return sorted(num_runs, key=lambda dataset: (-num_runs[dataset], -len(dataset), dataset))


def _reference(groups: Sequence[RunGroup], label: str | None) -> int:
    labels = [group.label for group in groups]
    if label is None:
        return 0
    if label not in labels:
        # As tables show them.
        shown = [shown_name(each) for each in labels]
        if label in shown:
            return shown.index(label)
        remedy = f"the groups are {', '.join(labels)}: name one of these"
        raise Problem(422, "invalid_request", remedy, field="reference", value=label)
    return labels.index(label)


def _fields(runs: Sequence[ComparedRun], differing: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*differing, *(field for run in runs for field in run.config)]))
