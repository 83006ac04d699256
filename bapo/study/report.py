"""One report from what the runs of a study recorded: a pure function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bapo import __version__
from bapo.study import accuracies, diagnostics
from bapo.study.accuracies import Arms, mean_of
from bapo.study.declaration import MEAN, Budget, Declaration, Metric, Regime
from bapo.study.measured_run import ROLLOUTS, MeasuredRun, on_one_set
from bapo.study.plan import VALIDATION_SETS, Choices, tuning_points
from bapo.study.results import (
    StudyAmendment,
    StudyArm,
    StudyDifference,
    StudyRegimeReport,
    StudyReport,
    StudyRow,
    StudyRunInfo,
    StudyTuningPoint,
)

BUDGETS: tuple[Budget, ...] = ("steps", "rollouts", "compute")

_METRICS: Mapping[Metric, str] = {"avg": "avg@k", "greedy": "greedy accuracy", "pass": "pass@k"}
_AT: Mapping[Budget, str] = {
    "steps": "after equal steps",
    "rollouts": "at equal rollouts",
    "compute": "at equal compute (CPU-seconds of training steps)",
}


def build(
    study: Declaration,
    runs: Sequence[StudyRunInfo],
    measured: Mapping[str, MeasuredRun],
    *,
    choices: Choices,
    amendments: Sequence[StudyAmendment] = (),
    machine: str | None = None,
) -> StudyReport:
    """Return the report over the runs that are done; `measured` by name of the run, others are named as not run."""
    counted = [run.name for run in runs if run.stage == "final" and run.state == "done" and run.name in measured]
    comparable, held_out_note = on_one_set(measured, counted)
    by_regime = {regime.name: _arms(study, regime.name, runs, comparable) for regime in study.regimes}
    regimes = [_regime(study, regime, by_regime[regime.name]) for regime in study.regimes]
    primary = study.primary
    return StudyReport(
        title=study.title,
        question=study.question,
        expectation=study.expectation,
        digest=study.digest,
        version=__version__,
        machine=machine,
        recipe=study.recipe,
        seeds=study.seeds,
        test_sets=study.test_sets,
        arms=arms_of(study),
        reference=study.reference_arm,
        primary=accuracies.difference(
            by_regime[study.primary_regime],
            primary.arm,
            primary.against,
            test_set=primary.test_set,
            metric=primary.metric,
            at=primary.at,
            sets=study.test_sets,
            seeds=study.seeds,
        ),
        primary_regime=study.primary_regime,
        primary_words=primary_words(study),
        is_complete=all(run.state == "done" for run in runs),
        runs=runs,
        amendments=amendments,
        tuning=tuning_of(study, runs, measured, choices),
        regimes=regimes,
        held_out_note=held_out_note,
    )


def arms_of(study: Declaration) -> list[StudyArm]:
    """Return the arms as the API has them."""
    return [StudyArm(name=arm.name, method=arm.method, set=arm.set) for arm in study.arms]


def primary_words(study: Declaration) -> str:
    """Return the primary comparison in words."""
    primary = study.primary
    sets = " and ".join(study.test_sets)
    where = (f"the mean of {sets}" if len(study.test_sets) > 1 else sets) if primary.test_set == MEAN else None
    regime = f", in the regime {study.primary_regime}" if len(study.regimes) > 1 else ""
    return (
        f"{primary.arm} minus {primary.against}: {_METRICS[primary.metric]} on {where or primary.test_set} "
        f"{_AT[primary.at]}{regime}, paired over {len(study.seeds)} seed{'s' if len(study.seeds) > 1 else ''}"
    )


def _arms(
    study: Declaration, regime: str, runs: Sequence[StudyRunInfo], measured: Mapping[str, MeasuredRun]
) -> dict[str, dict[int, MeasuredRun]]:
    """Return the ended runs that count, by arm and seed."""
    found: dict[str, dict[int, MeasuredRun]] = {arm.name: {} for arm in study.arms}
    for run in runs:
        if run.stage == "final" and run.regime == regime and run.state == "done" and run.name in measured:
            found[run.arm][run.seed] = measured[run.name]
    return found


def _regime(study: Declaration, regime: Regime, arms: Arms) -> StudyRegimeReport:
    sets, reference = study.test_sets, study.reference_arm
    scores = accuracies.scores_of(arms, sets)
    differences = _differences(study, arms)
    with_runs = {arm: list(runs.values()) for arm, runs in arms.items() if runs}
    return StudyRegimeReport(
        name=regime.name,
        title=regime.title,
        base=accuracies.base_scores(arms, sets) if with_runs else [],
        rows=[
            StudyRow(
                arm=arm.name,
                method=arm.method,
                num_done=len(arms[arm.name]),
                num_seeds=len(study.seeds),
                scores=scores[arm.name],
                rollouts=mean_of([_last(run) for run in arms[arm.name].values()]),
            )
            for arm in study.arms
        ],
        differences=differences,
        curves={budget: accuracies.curves_of(arms, budget, sets) for budget in BUDGETS},
        unlocks=[found for arm, runs in with_runs.items() if (found := diagnostics.unlocks_of(arm, runs)) is not None],
        composition=[diagnostics.composition_of(arm, runs) for arm, runs in with_runs.items()],
        cost=diagnostics.costs_of(arms, reference, sets),
        stability=[diagnostics.stability_of(arm, runs) for arm, runs in with_runs.items()],
        num_comparisons=sum(each.verdict != "unknown" for each in differences),
        num_apart=sum(each.verdict in ("higher", "lower") for each in differences),
    )


def _differences(study: Declaration, arms: Arms) -> list[StudyDifference]:
    return [
        accuracies.difference(
            arms,
            arm.name,
            study.reference_arm,
            test_set=study.primary.test_set,
            metric=study.primary.metric,
            at=budget,
            sets=study.test_sets,
            seeds=study.seeds,
        )
        for budget in BUDGETS
        for arm in study.arms
        if arm.name != study.reference_arm
    ]


def _last(run: MeasuredRun) -> float | None:
    rollouts = run.column(ROLLOUTS)
    return float(rollouts[-1]) if len(rollouts) else None


# ---------------------------------------------------------------- tuning


def tuning_of(
    study: Declaration, runs: Sequence[StudyRunInfo], measured: Mapping[str, MeasuredRun], choices: Choices
) -> list[StudyTuningPoint]:
    """Return every candidate with its accuracy on validation problems."""
    points = []
    for regime in study.regimes:
        for arm in study.tuned_arms:
            for point in tuning_points(study):
                values = [
                    accuracies.final(measured[run.name], MEAN, "avg", validation_sets(measured[run.name]))
                    for run in runs
                    if (run.stage, run.regime, run.arm) == ("tuning", regime.name, arm.name)
                    and run.set == point
                    and run.state == "done"
                    and run.name in measured
                ]
                points.append(
                    StudyTuningPoint(
                        regime=regime.name,
                        arm=arm.name,
                        set=point,
                        accuracy=mean_of(values),
                        chosen=choices.get((regime.name, arm.name)) == point,
                    )
                )
    return points


def validation_sets(run: MeasuredRun) -> Sequence[str]:
    """Return the sets of a run that was evaluated on validation problems; they carry the test sets' names."""
    assert run.config["task"]["held_out"] == "validation", "a tuning run sees no test problem"
    return VALIDATION_SETS


def choose(
    study: Declaration, runs: Sequence[StudyRunInfo], measured: Mapping[str, MeasuredRun]
) -> dict[tuple[str, str], dict[str, object]]:
    """Return the candidate with the highest mean accuracy on validation problems, the first of equal ones, for each
    arm.

    Arms of which no tuning run ended with an evaluation are left out: they keep what they declare.
    """
    chosen: dict[tuple[str, str], dict[str, object]] = {}
    best: dict[tuple[str, str], float] = {}
    for point in tuning_of(study, runs, measured, {}):
        key = (point.regime, point.arm)
        if point.accuracy is not None and point.accuracy.value > best.get(key, -1.0):
            best[key] = point.accuracy.value
            chosen[key] = point.set
    return chosen
