"""What a run will generate, worked out from its config before it is submitted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

NUM_TEST_SETS = 2
"""CD-34 and CD-4."""


class PlannedRollouts(NamedTuple):
    """Responses by purpose; those of re-evaluation are an upper bound."""

    steps: int
    fresh: int
    reevaluated_at_most: int
    tracking: int
    evaluation: int


def planned_rollouts(config: Mapping[str, Any]) -> PlannedRollouts:
    """Count the responses of a complete config."""
    rollout, training, method = config["rollout"], config["training"], config["method"]
    group_size, prompts = int(rollout["group_size"]), int(rollout["batch_size"])
    steps = training["steps"]
    if steps is None:
        steps = training["epochs"] * math.ceil(config["task"]["num_train"] / prompts)
    reevaluated = 0
    if "m" in method and "reevaluated" not in method.get("without", ()):
        capacity = method["difficult_buffer"]["capacity"] or int(training["batch_size"])
        reevaluated = steps // method["m"] * min(int(method["max_reevaluated_prompts"]), capacity) * group_size
    tracking, evaluation = config["tracking"], config["evaluation"]
    # Step 0 twice, every interval, and the last step.
    samplings = 2 + _regular(steps, tracking["interval"]) + 1 if tracking["num_prompts"] else 0
    # Step 0, every interval, and the last step; each problem k times and once greedily.
    rounds = 1 + _regular(steps, evaluation["interval"]) + 1 if evaluation["enabled"] else 0
    return PlannedRollouts(
        steps=steps,
        fresh=steps * prompts * group_size,
        reevaluated_at_most=reevaluated,
        tracking=samplings * tracking["num_prompts"] * group_size,
        evaluation=rounds * NUM_TEST_SETS * config["task"]["num_test"] * (evaluation["num_samples"] + 1),
    )


def _regular(steps: int, interval: int) -> int:
    """Multiples of the interval before the last step."""
    return (steps - 1) // interval
