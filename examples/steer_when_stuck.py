"""Follows a run and raises c1 when its reward stops rising, so that more prompts count as difficult.

.venv/bin/python examples/steer_when_stuck.py RUN
.venv/bin/python examples/steer_when_stuck.py RUN --patience 20 --gain 0.02 --c1 1/4
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bapo.api.runs import ParameterChange
from bapo.client import Client

REWARD = "critic/rewards/mean"


def is_stuck(rewards: Sequence[float], patience: int, gain: float) -> bool:
    """Whether the mean of the last `patience` steps is less than `gain` above the mean of those before."""
    if len(rewards) < 2 * patience:
        return False
    before, after = rewards[-2 * patience : -patience], rewards[-patience:]
    return sum(after) / patience < sum(before) / patience + gain


def main() -> None:
    parser = argparse.ArgumentParser(description="Raise c1 when a run's reward stops rising.")
    parser.add_argument("run", help="the run's id")
    parser.add_argument("--patience", type=int, default=20, help="steps in each of the two means that are compared")
    parser.add_argument("--gain", type=float, default=0.01, help="least rise that counts")
    parser.add_argument("--c1", default="1/4", help="the new c1")
    options = parser.parse_args()

    with Client.from_environment() as client:
        control = None
        for event in client.follow(options.run):
            if control is None and event.event == "step":
                series = client.metrics(options.run, [REWARD])
                rewards = [value for value in series.columns[REWARD] if value is not None]
                if is_stuck(rewards, options.patience, options.gain):
                    change = ParameterChange(set={"method.c1": options.c1})
                    control = client.change_parameters(options.run, change)
                    print(f"stuck at step {series.steps[-1]}: asking for c1 = {options.c1}", flush=True)
            elif control is not None:
                # The trainer answers at its next step boundary, in the journal.
                answer = next(each for each in client.history(options.run).controls if each.id == control.id)
                if answer.state != "pending":
                    print(f"{answer.state} at step {answer.applied_step}" if answer.applied_step else answer.reason)
                    return
        print("the run ended first")


if __name__ == "__main__":
    main()
