"""Estimates the responses that a run will generate, from its config alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from bapo.config.method import has_trait
from bapo.config.task import ReasoningGymTaskConfig
from bapo.config.warm_start import NUM_ANSWERS, NUM_SAMPLES

NUM_TEST_SETS = 2
"""Number of Countdown's test sets: CD-34 and CD-4."""


class RolloutEstimate(NamedTuple):
    """Responses by purpose; those of re-evaluation and of further rounds are upper bounds.

    None: it depends on data that were not counted.
    """

    steps: int | None
    fresh: int | None
    reevaluated_at_most: int | None
    tracking: int | None
    evaluation: int | None
    further_at_most: int | None = 0
    """Responses to batches of prompts beyond the first one of a step (`method.max_rounds`), at most."""
    warm_start_at_most: int | None = 0
    """Responses of the warm start, its evaluations before and after included; none where its model was made before."""
    warm_start_steps: int = 0
    """Supervised steps before the first training step."""

    @property
    def uncertain(self) -> int:
        """The upper bounds together."""
        return (self.reevaluated_at_most or 0) + (self.further_at_most or 0)


class DataSizes(NamedTuple):
    """Numbers of problems of a task, where they are known."""

    train: int | None
    held_out: int | None
    """In all its sets together."""


def rollout_estimate(
    config: Mapping[str, Any], files: Mapping[str, int] | None = None, *, first_step: int = 0
) -> RolloutEstimate:
    """Count the responses of a complete config; `files`: rows of data files by path, as far as they are known.

    `first_step`: the completed steps that a fork begins with, which its parent has generated the responses of.
    """
    rollout, training, method = config["rollout"], config["training"], config["method"]
    group_size, prompts = int(rollout["group_size"]), int(rollout["batch_size"])
    sizes = data_sizes(config["task"], files or {})
    steps = training["steps"]
    if steps is None:
        if sizes.train is None:
            return RolloutEstimate(None, None, None, None, None, None)
        steps = training["epochs"] * math.ceil(sizes.train / prompts)
    own = max(0, steps - first_step)
    reevaluated = 0
    if "m" in method and "reevaluated" not in method.get("without", ()):
        capacity = method["difficult_buffer"]["capacity"] or int(training["batch_size"])
        num = steps // method["m"] - first_step // method["m"]
        reevaluated = max(0, num) * min(int(method["max_reevaluated_prompts"]), capacity) * group_size
    tracking, evaluation = config["tracking"], config["evaluation"]
    is_measured = not has_trait(method["type"], "is_unmeasured")
    tracks, evaluates = is_measured and tracking["num_prompts"], is_measured and evaluation["enabled"]
    begins = first_step == 0
    # Step 0 twice, every interval, and the last step.
    samplings = 2 * begins + _regular(steps, tracking["interval"], first_step) + 1 if tracks else 0
    # Step 0, every interval, and the last step; each problem k times and once greedily.
    rounds = begins + _regular(steps, evaluation["interval"], first_step) + 1 if evaluates else 0
    per_problem = rounds * (evaluation["num_samples"] + 1)
    # Configs of earlier releases have no such section.
    warm = config.get("warm_start") if begins and is_measured else None
    warm_steps = 0 if warm is None else warm["steps"]
    return RolloutEstimate(
        steps=own,
        fresh=own * prompts * group_size,
        reevaluated_at_most=reevaluated,
        further_at_most=own * (int(method.get("max_rounds", 1)) - 1) * prompts * group_size,
        tracking=samplings * tracking["num_prompts"] * group_size,
        evaluation=_times(per_problem, sizes.held_out),
        warm_start_at_most=_warm_start_responses(warm, sizes, _num_sets(config["task"])) if warm and warm_steps else 0,
        warm_start_steps=warm_steps,
    )


def _warm_start_responses(section: Mapping[str, Any], sizes: DataSizes, num_sets: int) -> int:
    """Count the answers that its traces are made of, unless those are worked solutions, and both of its evaluations."""
    answered: int = 0 if section["source"] == "solutions" else _least(section["num_answered"], sizes.train) or 0
    # Where no set is held out, training problems that no trace is of are evaluated.
    evaluated: int = num_sets * max(1, section["num_evaluated"] // num_sets)
    if sizes.held_out:
        evaluated = min(evaluated, sizes.held_out)
    return answered * NUM_ANSWERS + 2 * evaluated * NUM_SAMPLES


def _num_sets(task: Mapping[str, Any]) -> int:
    match task["type"]:
        case "countdown":
            return NUM_TEST_SETS
        case "reasoning_gym":
            return len(task["datasets"])
        case _:
            return max(1, len(task.get("test_files", ())))


def data_sizes(task: Mapping[str, Any], files: Mapping[str, int]) -> DataSizes:
    """Return problems of a task's section; of files, those whose rows are known, held-out ones among them not taken
    out."""
    match task["type"]:
        case "file":
            train = _least(files.get(task["train_file"]), task["max_train_problems"])
            held_out = [_least(files.get(path), task["max_test_problems"]) for path in task["test_files"]]
            known = [count for count in held_out if count is not None]
            return DataSizes(train, sum(known) if len(known) == len(held_out) else None)
        case "reasoning_gym":
            section = ReasoningGymTaskConfig.model_validate(task)
            num_held_out = len(section.datasets) * section.num_test_per_dataset
            return DataSizes(sum(map(section.num_train, section.datasets)), num_held_out)
        case "countdown":
            return DataSizes(task["num_train"], NUM_TEST_SETS * task["num_test"])
        case _:  # of an installed package
            return DataSizes(None, None)


def _times(per_problem: int, problems: int | None) -> int | None:
    if per_problem == 0:
        return 0
    return None if problems is None else per_problem * problems


def _least(rows: int | None, most: int | None) -> int | None:
    """Return the smaller number; None if the number of rows is unknown, as there may be fewer than the most that are
    used.
    """
    return None if rows is None else rows if most is None else min(rows, most)


def _regular(steps: int, interval: int, first_step: int) -> int:
    """Count the multiples of the interval after the first step and before the last one."""
    return max(0, (steps - 1) // interval - first_step // interval)
