"""Lets an arm of a fork experiment train on."""

from __future__ import annotations

from sqlalchemy.orm import Session

from backend.identity.audit.repository import add_audit
from backend.kit.errors import Problem
from backend.kit.principal import Principal
from backend.launch.studies import experiment, repository
from backend.launch.studies.candidates import NAME_CHARACTERS
from backend.launch.submissions import submission
from backend.runs import repository as runs
from bapo.api.runs import RunFork, RunStatus
from bapo.api.studies import ContinuedRun, StudyContinuation, StudyContinued


def continue_arm(session: Session, study_id: str, body: StudyContinuation, caller: Principal) -> StudyContinued:
    """Fork each run of the arm at its last step.

    Raises Problem 404 for an unknown study or arm, 409 where a run of the arm has not ended well, ConfigError for a
    number of steps that leaves none to train.
    """
    study = repository.get(session, study_id).study
    experiment.require(study)
    arms = experiment.by_arm(study, repository.made_runs(session, study_id))
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
    for origin, run in zip(experiment.origins_of(study), ended, strict=True):
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
