"""Submits a run, follows it while it trains, and prints what each training batch was made of.

./run                                                             # in another terminal
.venv/bin/python examples/submit_and_watch.py
.venv/bin/python examples/submit_and_watch.py method.c1=1/4 training.steps=40
"""

from __future__ import annotations

import sys

from bapo.api.runs import RunCreate
from bapo.client import Client
from bapo.config import parse_assignments

KEYS = ("critic/rewards/mean", "bapo/batch/x1", "bapo/batch/x2", "bapo/batch/x3", "bapo/batch/batch_size")


def main(assignments: list[str]) -> int:
    # The server of BAPO_SERVER or of `bapo login`; beside ./run, the one on this machine.
    with Client.from_environment() as client:
        changes = parse_assignments(assignments)
        run = client.create_run(RunCreate(name="submit and watch", recipe="countdown-quick", changes=changes))
        print(f"run {run.id} is {run.status}", flush=True)

        num_shown = 0
        # Ends with the run; after an interruption it continues without a gap.
        for event in client.follow(run.id):
            if event.event == "step":
                # One event may stand for several steps.
                series = client.metrics(run.id, KEYS, from_step=num_shown + 1)
                rows = zip(*(series.columns[key] for key in KEYS), strict=True)
                for step, (reward, x1, x2, x3, size) in zip(series.steps, rows, strict=True):
                    print(f"step {step}: reward {reward:.2f}; X1 {x1:.0f}, X2 {x2:.0f}, X3 {x3:.0f} of {size:.0f}")
                    num_shown = step
            elif event.event == "status" and "from" in event.data:
                print(f"{event.data['from']} -> {event.data['status']}", flush=True)

        run = client.run(run.id)
        print(f"{run.status} after {run.step} steps; {run.eval_name} {run.eval_latest:.1%}")
        return 0 if run.status == "succeeded" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
