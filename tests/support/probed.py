"""A probe as a worker records it, with worked numbers."""

from __future__ import annotations

from bapo.api.runs import RunCreate, RunDetail
from bapo.client import Client
from bapo.methods.probe import probe_changes
from bapo.records import PromptVisit
from bapo.rollout import BatchSource
from tests.support.fake_worker import FakeWorker
from tests.support.journals import step

PROMPTS_PER_STEP = 32
NUM_STEPS = 2


def probe_on(
    client: Client, worker: FakeWorker, data: str, *, name: str = "Probe: it", num_steps: int = 2
) -> RunDetail:
    """An ended probe of 32 problems a step: half of them 0 of 8 right, the other half 4 of 8.

    A quarter of the answers is right, half of the groups give no gradient. 256 responses take 2 s, an update 3 s.
    """
    planned = {"task.train_file": data, "task.num_test": 2, "training.steps": 100, "rollout.batch_size": 32}
    run = client.create_run(RunCreate(name=name, recipe="countdown-demo", changes=planned, start=False))
    changes = planned | probe_changes(run.config, NUM_STEPS * PROMPTS_PER_STEP)
    run = client.create_run(RunCreate(name=name, recipe="countdown-demo", changes=changes))
    claim = worker.begin(run)
    for number in range(1, num_steps + 1):
        visits = [
            PromptVisit(f"p{number}-{index}", BatchSource.FRESH, 4 * (index % 2), 0, number == NUM_STEPS)
            for index in range(PROMPTS_PER_STEP)
        ]
        timing = {"step": 2.0, "gen": 2.0, "update": 3.0, "unix_time": 1_700_000_000.0 + number}
        worker.upload(claim, [step(number).model_copy(update={"prompts": visits, "timing": timing})])
    worker.report(claim, "succeeded")
    return client.run(run.id)
