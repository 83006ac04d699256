"""Finds the samplings for requested steps, and computes the transitions between them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from backend.kit.errors import Problem
from backend.readings.difficulty import repository
from backend.readings.run_reading import RunReading
from bapo.analysis.accuracy_transitions import (
    Counts,
    Matrix,
    accuracy_classes,
    aligned,
    flows,
    last_evaluated,
    migration_matrix,
    with_rates,
)
from bapo.analysis.visits import Visits
from bapo.api.difficulty import FlowClass, FlowPath, Flows, Migration, MigrationKind
from bapo.config.sections import group_size_of

NUM_FLOW_STEPS = 4


class Prompts(NamedTuple):
    """Prompts at some steps."""

    steps: Sequence[int]
    """The steps really used, one for each asked for."""
    counts: Sequence[Counts]
    """One for each of the steps."""
    sampled_steps: Sequence[int]
    """Steps that could be asked for; empty where every step can."""
    last_step: int


def migration(reading: RunReading, kind: MigrationKind, from_step: int | None, to_step: int | None) -> Migration:
    """Return the matrix between two steps, by default over the whole run. Raises Problem 422 for steps in disorder."""
    if from_step is not None and to_step is not None and from_step > to_step:
        remedy = f"from_step must not be after to_step, which is {to_step}: swap them"
        raise Problem(422, "invalid_request", remedy, field="from_step", value=from_step)
    prompts = _prompts(reading, kind, [from_step, to_step])
    group_size = group_size_of(reading.run.config)
    null = _null(reading, group_size) if kind == "tracked" else None
    return Migration(
        kind=kind,
        group_size=group_size,
        from_step=prompts.steps[0],
        to_step=prompts.steps[1],
        steps=prompts.sampled_steps,
        last_step=prompts.last_step,
        matrix=with_rates(migration_matrix(prompts.counts[0], prompts.counts[1], group_size)),
        null=None if null is None else with_rates(null),
    )


def flows_over(reading: RunReading, kind: MigrationKind, steps: Sequence[int] | None) -> Flows:
    """Return the moves of prompts over the steps; over four evenly spaced steps by default."""
    wanted: Sequence[int | None] = [None] * NUM_FLOW_STEPS if steps is None else steps
    prompts = _prompts(reading, kind, wanted)
    group_size = group_size_of(reading.run.config)
    paths = flows(prompts.counts, group_size)
    return Flows(
        kind=kind,
        group_size=group_size,
        steps=prompts.steps,
        classes=[FlowClass(**each._asdict()) for each in accuracy_classes(group_size)],
        paths=[FlowPath(classes=path.classes, num_prompts=path.num_prompts) for path in paths],
        num_prompts=sum(path.num_prompts for path in paths),
    )


def _prompts(reading: RunReading, kind: MigrationKind, wanted: Sequence[int | None]) -> Prompts:
    if kind == "tracked":
        return _tracked(reading, wanted)
    visits = reading.visits
    last_step = int(visits.step[-1]) if len(visits.step) else 0
    steps = _filled(wanted, first=_first_meaningful(visits, last_step), last=last_step)
    return Prompts(steps, [last_evaluated(visits, step) for step in steps], (), last_step)


def _first_meaningful(visits: Visits, last_step: int) -> int:
    """Return the step after which no prompt is new, which is the first epoch's end; half of the run while all may be
    new."""
    _, first_rows = np.unique(visits.prompt, return_index=True)
    last_new = int(visits.step[first_rows].max(initial=0))
    return last_new if last_new < last_step else last_step // 2


def _tracked(reading: RunReading, wanted: Sequence[int | None]) -> Prompts:
    sampled_steps = repository.tracked_steps(reading.session, reading.run.id)
    if not sampled_steps:
        nothing = np.zeros(0, dtype=np.int16)
        return Prompts([0] * len(wanted), [nothing] * len(wanted), (), 0)
    first, last = sampled_steps[0], sampled_steps[-1]
    # Of a step without a sampling, the one before it.
    steps = [
        sampled_steps[max(bisect_right(sampled_steps, step) - 1, 0)] for step in _filled(wanted, first=first, last=last)
    ]
    found = repository.samplings(reading.session, reading.run_id, set(steps))
    return Prompts(steps, aligned([found[step] for step in steps]), sampled_steps, last)


def _filled(wanted: Sequence[int | None], *, first: int, last: int) -> list[int]:
    """Return the requested steps, none after the last; evenly spaced ones by default."""
    spread = len(wanted) - 1
    return [
        round(first + (last - first) * place / spread) if step is None else min(step, last)
        for place, step in enumerate(wanted)
    ]


def _null(reading: RunReading, group_size: int) -> Matrix | None:
    base = repository.base_samplings(reading.session, reading.run_id)
    if base is None:
        return None
    first, again = aligned(base)
    return migration_matrix(first, again, group_size)
