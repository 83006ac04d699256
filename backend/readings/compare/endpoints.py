"""Routes to compare runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Query, Response
from sqlalchemy.orm import Session

from backend.kit.context import AnswersOf, DbSession, SettingsOf, new_router
from backend.kit.permissions import Reader
from backend.kit.response_cache import Answer
from backend.prices.service import prices_in_force
from backend.readings.compare import curves, importance, series, service
from backend.readings.compare.curves import Reduction
from backend.readings.compare.series import of_one_set
from backend.records.parameters import MAX_KEYS, Window
from backend.records.series import sample
from bapo.api.compare import (
    MOST_COMPARED,
    CompareAxis,
    ComparedCurves,
    Comparison,
    ParameterImportance,
    RunsSeries,
)

router = new_router("compare")

MAX_RUNS = 1_000
"""More than may be compared, so that the refusal can say how many are too many."""

Runs = Annotated[
    list[str],
    Query(alias="run", min_length=1, max_length=MAX_RUNS, description=f"Identifiers, at most {MOST_COMPARED}."),
]
Keys = Annotated[str, Query(min_length=1, max_length=50_000, description="Names of metrics, separated by commas.")]
Group = Annotated[
    str,
    Query(
        max_length=500,
        description="`config` (all but the seed), `run` (each alone), `method`, `tags`, `group`, or a config field.",
    ),
]
Axis = Annotated[CompareAxis, Query(description="The horizontal axis.")]
Equal = Annotated[bool, Query(description="Cut all runs off at the shortest run's end on that axis.")]


def _names(keys: str) -> list[str]:
    return list(dict.fromkeys(keys.split(",")))[:MAX_KEYS]


@router.get("/metrics", summary="Get metrics of several runs", response_model=RunsSeries)
def get_metrics_of_runs(
    _: Reader,
    session: DbSession,
    answers: AnswersOf,
    runs: Runs,
    keys: Keys,
    window: Window,
) -> Response:
    """Return the values by step, null where a step lacks the key. `max_points` limits them to a sample that keeps the
    extremes."""
    ids = service.existing(session, runs)

    def work_out() -> Answer:
        columns = series.read(session, ids, _names(keys), window.steps)
        tables = {run_id: series.table(columns[run_id]) for run_id in ids}
        if window.max_points is not None:
            tables = {run_id: sample(table, window.max_points) for run_id, table in tables.items()}
        return Answer.of(
            {"series": {run_id: {"steps": table.steps, "columns": table.values} for run_id, table in tables.items()}}
        )

    return answers.of(session, ids, work_out)


@router.get("/compare", summary="Compare runs")
def compare(
    _: Reader,
    session: DbSession,
    settings: SettingsOf,
    runs: Runs,
    group: Group = "config",
    x: Axis = "step",
    equal: Equal = False,
    dataset: Annotated[str | None, Query(max_length=500, description="Held-out set of `reach`.")] = None,
    reach: Annotated[float | None, Query(ge=0, le=1, description="avg@k to reach.")] = None,
    reference: Annotated[
        str | None, Query(max_length=2_000, description="Label of the reference group; defaults to the first.")
    ] = None,
    reach_final: Annotated[
        bool,
        Query(
            description="Without `reach`, take the final avg@k of the reference group, rounded down to a percent; that "
            "of the first group that was evaluated where the reference was not."
        ),
    ] = False,
) -> Comparison:
    """Compare the configs of runs, their held-out accuracy, the prompts that they unlocked and their cost."""
    chosen = service.choose(session, runs, group)
    return service.compare(
        session,
        chosen,
        service.Question(group, x, equal, dataset, reach, reference, reach_final),
        prices_in_force(session, settings),
    )


@router.get("/compare/curves", summary="Compare curves", response_model=ComparedCurves)
def compare_curves(
    _: Reader,
    session: DbSession,
    answers: AnswersOf,
    runs: Runs,
    keys: Keys,
    group: Group = "config",
    x: Axis = "step",
    equal: Equal = False,
    max_points: Annotated[int, Query(ge=2, le=5_000, description="Most points per curve.")] = 1_000,
    reduce: Annotated[
        Reduction,
        Query(description="How to sample: keep the `extremes`, or take `means` over stretches."),
    ] = "extremes",
) -> Response:
    """Return metrics of runs over a common axis: mean and 95 % interval of each group, the run itself for a group of
    one.

    Means are taken where one of the runs was measured; the others are interpolated linearly within their own range.
    """
    chosen = service.choose(session, runs, group)
    # Names, tags and groups of runs can change without anything recorded.
    dependencies = [[run.name for run in chosen.runs], chosen.groups, chosen.changes]
    return answers.about(dependencies).of(
        session, chosen.ids, lambda: _curves(session, chosen, _names(keys), x, equal, max_points, reduce)
    )


Metric = Annotated[
    str,
    Query(max_length=500, description="A column of the run list that holds numbers, such as `metric.actor/entropy`."),
]


@router.get("/compare/importance", summary="Get parameter importance over runs")
def compare_importance(
    _: Reader, session: DbSession, runs: Runs, metric: Metric = importance.DEFAULT_METRIC
) -> ParameterImportance:
    """Return how much of the variance of a result each field explains in which the runs differ, compared with chance.

    A whole grid is decomposed exactly, into single fields, pairs and noise; of other runs each field is looked at
    alone, on ranks. Below the fewest runs it says why there is none.
    """
    return importance.describe(session, importance.varied_by(service.choose(session, runs, "run")), metric)


def _curves(
    session: Session,
    chosen: service.Chosen,
    names: Sequence[str],
    x: CompareAxis,
    equal: bool,
    max_points: int,
    reduce: Reduction,
) -> Answer:
    columns, notes = of_one_set(session, series.read(session, chosen.ids, [*names, *curves.AXIS_KEYS]), names)
    axes = {run_id: curves.axes_of(columns[run_id]) for run_id in chosen.ids}
    budget = curves.common_budget(axes, x) if equal else None
    found = {
        key: curves.curves_of_metric(
            {run_id: columns[run_id][key] for run_id in chosen.ids},
            axes,
            chosen.groups,
            chosen.ids,
            chosen.replicates,
            x=x,
            budget=budget,
            max_points=max_points,
            reduction=reduce,
        )
        for key in names
    }
    has_means = any(len(each.members) > 1 for each in chosen.groups)
    equal_budget = service.equal_budget(budget, {})
    return Answer.of(
        {
            "x": x,
            "groups": [
                {
                    "label": each.label,
                    "run_ids": [chosen.ids[index] for index in each.members],
                    "names": [chosen.runs[index].name for index in each.members],
                    "changes": [
                        change
                        for index in each.members
                        for change in curves.changes_on_axis(
                            chosen.ids[index], chosen.changes[chosen.ids[index]], axes[chosen.ids[index]], x, budget
                        )
                    ],
                }
                for each in chosen.groups
            ],
            "curves": found,
            "budget": None if equal_budget is None else equal_budget.model_dump(),
            "notes": notes,
            "is_interpolated": budget is not None or (has_means and x != "step"),
        }
    )
