"""A fork experiment that really trains: an unchanged arm repeats its parent exactly, also where it continues."""

from __future__ import annotations

from typing import Any

import pytest

from bapo.api.studies import StudyContinuation, StudyCreate
from bapo.client import Client
from tests.support.stack import Stack, all_records, ended, essence, submit

pytestmark = pytest.mark.e2e


def records_after(client: Client, run_id: str, step: int, kind: str, until: int) -> list[dict[str, Any]]:
    """What a run recorded after a step, without its length and its measurements: an arm measures at its last step too,
    which changes no training.
    """
    found = essence([each for each in all_records(client, run_id, kind) if step < each["step"] <= until])
    for each in found:
        each.pop("num_steps", None)
        for measured in ("num_tracking_rollouts", "num_evaluation_rollouts"):
            each.get("cost", {}).pop(measured, None)
    return found


def test_arms_from_a_checkpoint_are_exact_and_go_on_as_their_parent_would(stack: Stack) -> None:
    with stack.client() as client:
        length = {"training.steps": 10, "training.checkpoint_interval": 4, "training.keep_checkpoints": 5}
        parent = submit(client, "parent", **length, **{"evaluation.interval": 4})
        assert ended(client, parent).status == "succeeded"
        plan = {
            "name": "wider c1",
            "checkpoints": [{"run_id": parent, "step": 4}],
            "further_steps": 4,
            "points": [{"method.c1": 0.5}],
        }
        study = client.create_study(StudyCreate.model_validate(plan))
        unchanged, wider = (str(run.run_id) for run in study.runs)
        assert [ended(client, run_id).status for run_id in (unchanged, wider)] == ["succeeded", "succeeded"]
        for kind in ("step", "evaluation"):
            assert records_after(client, unchanged, 4, kind, 8) == records_after(client, parent, 4, kind, 8)
        found = client.fork_experiment(study.id)
        assert found.repetition is not None
        assert (found.repetition.num_steps, found.repetition.first_difference) == (4, None)
        baseline, arm = found.arms
        assert (found.read_at, arm.num_steps, arm.role) == (4, 4, "arm")
        # Both rolled out the same 12 prompts in each of four steps.
        assert arm.fresh is not None
        assert (arm.fresh.num_pairs, arm.fresh.num_groups) == (48, 48)
        assert arm.against_baseline is not None
        assert arm.against_baseline.n == 8
        assert baseline.accuracy is not None

        # The last step's checkpoint is there, and from it the unchanged arm does what its parent did.
        (made,) = client.continue_arm(study.id, StudyContinuation(arm=0)).runs
        assert made.num_steps == 10
        assert ended(client, made.id).status == "succeeded"
        assert records_after(client, made.id, 8, "step", 10) == records_after(client, parent, 8, "step", 10)
        assert client.study(study.id).runs[0].continued_as == [made.id]
