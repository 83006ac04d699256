"""Lines of the record that the steps and evaluations of a dump give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from bapo.observe.dumps.dump_file import dump_error
from bapo.observe.dumps.steps import DumpedStep, groups_of, latest_rollouts
from bapo.observe.group import Group
from bapo.observe.observation import Lines, Observation, RejectedStepError

EVALUATION = "validation"
"""Name of a held-out set whose rows name no data source."""


def lines_of_step(
    observation: Observation, dumped: DumpedStep, step: int, source: str | None, *, at: float | None = None
) -> tuple[list[Group], Lines | None]:
    """Return the groups of a step, and its lines; None where it cannot be recorded, which is counted.

    Raises ConfigError where the groups of the run's first step have one response each.
    """
    rollouts, num_earlier = latest_rollouts(dumped.rollouts, observation.sizes)
    if num_earlier:
        message = f"step {step} has all its prompts again, in whole groups: the last of each count"
        observation.reject("earlier_attempt", message, count=num_earlier)
    groups = groups_of(rollouts, source, observation.sizes)
    try:
        return groups, observation.lines_of_step(step, groups, at=at)
    except RejectedStepError as error:
        if observation.sizes is None and error.kind == "group_size":
            remedy = "no prompt has two responses: name what a group has in common by --column group=COLUMN"
            raise dump_error("group", dumped.file.name, remedy) from None
        observation.reject(error.kind, str(error))
        return groups, None


def lines_of_evaluations(
    observation: Observation, dumped: DumpedStep, known: Collection[tuple[int, str]] = (), *, at: float | None = None
) -> Iterator[Lines]:
    """Yield the lines of an evaluation, one per data source that is not among the `known` steps and names.

    What cannot be recorded is counted.
    """
    by_source: dict[str, list[Group]] = {}
    for group in groups_of(dumped.rollouts, None):
        by_source.setdefault(group.source or EVALUATION, []).append(group)
    for name, groups in by_source.items():
        if (dumped.step, name) in known:
            continue
        sizes = Counter(len(group.rewards) for group in groups)
        size = max(sizes, key=lambda size: (sizes[size], size))
        same = [group for group in groups if len(group.rewards) == size]
        if len(same) < len(groups):
            message = f"a problem of {name} at step {dumped.step} has another number of responses than most, {size}"
            observation.reject("group_size", message, count=len(groups) - len(same))
        try:
            yield observation.lines_of_evaluation(dumped.step, name, same, at=at)
        except RejectedStepError as error:
            observation.reject(error.kind, str(error))
