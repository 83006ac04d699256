"""The results of a fork experiment, from what its runs and their parents recorded; lets an arm train on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.context import Context
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.launch.studies import repository
from backend.launch.studies.candidates import NAME_CHARACTERS
from backend.launch.studies.repository import MadeRun
from backend.launch.submissions import submission
from backend.models import Run, Study
from backend.readings.run_reading import RunReading
from backend.runs import repository as runs
from backend.runs.repository import applied_changes
from bapo.analysis.fork.experiment import fork_experiment
from bapo.analysis.fork.results import ForkExperiment
from bapo.analysis.fork.runs import Arm, ForkPoint, ForkRun, Measured
from bapo.analysis.result import MeanEstimate
from bapo.api.runs import TERMINAL_STATUSES, RunFork, RunStatus
from bapo.api.studies import ContinuedRun, ForkedFrom, StudyContinuation, StudyContinued
from bapo.records import EvaluationRecord


def require(study: Study) -> None:
    """Raise Problem 409 if a study is no fork experiment."""
    if not study.checkpoints:
        remedy = "this study's runs are no forks of checkpoints: read its results from the study itself"
        raise Problem(409, "no_experiment", remedy, field="id", value=study.id)


def origins_of(study: Study) -> list[ForkedFrom]:
    """Return the checkpoints that its runs began with."""
    return [ForkedFrom.model_validate(each) for each in study.checkpoints]


def by_arm(study: Study, made: Sequence[MadeRun]) -> list[Sequence[MadeRun]]:
    """Return the runs of each arm, one per checkpoint. The plan has them checkpoint by checkpoint."""
    num_arms = len(made) // len(study.checkpoints)
    return [made[number::num_arms] for number in range(num_arms)]


def parents_of(session: Session, study: Study) -> dict[str, Run]:
    """Return the runs that it forked, as far as they are still there."""
    return repository.runs_of(session, [each.run_id for each in origins_of(study)])


def read(
    session: Session,
    context: Context,
    study: Study,
    made: Sequence[MadeRun],
    parents: Mapping[str, Run],
    dataset: str | None,
) -> ForkExperiment:
    """Compare the arms as far as they have come. Raises Problem 422 for an unknown held-out set."""
    recorded = _recorded(session, context, [each.run for each in made if each.run is not None])
    changes = applied_changes(session, list(parents))
    points = []
    for origin in origins_of(study):
        parent = parents.get(origin.run_id)
        later = [change.step for change in changes.get(origin.run_id, ()) if change.step > origin.step]
        points.append(
            ForkPoint(
                origin.step,
                origin.seed,
                None if parent is None else RunReading(session, context, parent.id).visits,
                min(later) - 1 if later else None,
            )
        )
    arms = [
        Arm(runs[0].point, [None if each.run is None else recorded[each.run.id] for each in runs])
        for runs in by_arm(study, made)
    ]
    assert study.further_steps is not None, "it is a fork experiment"
    try:
        return fork_experiment(
            arms,
            points,
            further_steps=study.further_steps,
            dataset=dataset,
            is_running=any(
                each.run is not None and each.run.status not in TERMINAL_STATUSES | {RunStatus.DRAFT} for each in made
            ),
            is_unchanged=not study.base and not arms[0].set,
        )
    except ValueError as error:
        raise Problem(422, "invalid_request", str(error), field="dataset", value=dataset) from None


def _recorded(session: Session, context: Context, runs: Sequence[Run]) -> dict[str, ForkRun]:
    found = {}
    assessments = repository.assessments(session, [run.id for run in runs])
    for run in runs:
        evaluations: dict[str, dict[int, Measured]] = {}
        for content in assessments[run.id]:
            if content["type"] == "evaluation":
                record = EvaluationRecord.model_validate(content)
                evaluations.setdefault(record.dataset, {})[record.step] = _measured(record)
        found[run.id] = ForkRun(evaluations, RunReading(session, context, run.id).visits, run.step or 0)
    return found


def _measured(record: EvaluationRecord) -> Measured:
    accuracies = {
        problem: correct / record.num_samples
        for problem, correct in zip(record.prompt_ids, record.num_correct, strict=True)
    }
    figure = record.avg_at_k
    return Measured(
        accuracies, MeanEstimate(value=figure.value, low=figure.low, high=figure.high, n=len(record.num_correct))
    )


def continue_arm(session: Session, study_id: str, body: StudyContinuation, caller: Principal) -> StudyContinued:
    """Fork each run of the arm at its last step.

    Raises Problem 404 for an unknown study or arm, 409 where a run of the arm has not ended well, ConfigError for a
    number of steps that leaves none to train.
    """
    study = repository.get(session, study_id).study
    require(study)
    arms = by_arm(study, repository.made_runs(session, study_id))
    if body.arm >= len(arms):
        remedy = f"the experiment has {len(arms)} arms: give a number from 0 to {len(arms) - 1}"
        raise Problem(404, "no_arm", remedy, field="arm", value=body.arm)
    ended = [each.run for each in arms[body.arm] if each.run is not None and each.run.status is RunStatus.SUCCEEDED]
    if len(ended) < len(arms[body.arm]):
        number = len(arms[body.arm]) - len(ended)
        remedy = (
            f"{number} of its runs {'has' if number == 1 else 'have'} not ended with all steps done: continue it "
            "when they have, or fork one of its runs"
        )
        raise Problem(409, "arm_not_done", remedy, field="arm", value=body.arm)
    assert study.further_steps is not None, "it is a fork experiment"
    made = []
    for origin, run in zip(origins_of(study), ended, strict=True):
        end = origin.step + study.further_steps
        steps = body.steps or (origin.num_steps if origin.num_steps > end else end + study.further_steps)
        made.append(_continued(session, run.id, end, steps, caller))
    detail = {"study_id": study_id, "arm": body.arm, "runs": [each.id for each in made]}
    add_audit(session, None, caller.name, "study arm continued", detail)
    return StudyContinued(runs=made)


def _continued(session: Session, run_id: str, step: int, steps: int, caller: Principal) -> ContinuedRun:
    ending = " · continued"
    parent = runs.get(session, run_id)
    body = RunFork(
        step=step,
        name=parent.name[: NAME_CHARACTERS - len(ending)] + ending,
        changes={"training.steps": steps},
        tags=parent.tags,
        priority=parent.priority,
    )
    fork = submission.fork(session, parent, body, caller)
    return ContinuedRun(id=fork.id, name=fork.name, continues=parent.id, num_steps=steps)
