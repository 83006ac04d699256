"""Estimates the cost of a config from similar finished runs.

Of each similar run three rates are taken: seconds and tokens per generated response, and how much of the re-evaluation
that its settings allowed really happened. They are applied to the responses that the new config asks for; the estimate
is the median over the runs, and the range goes from the least to the most.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import and_, exists, select
from sqlalchemy.orm import Session

from backend.files.resources.repository import num_rows
from backend.models import Run, StepRow
from backend.prices.hours import SECONDS_PER_HOUR, Machine, Prices, compute_hours
from backend.runs.usage import Usage, usage_of
from bapo.analysis.rollout_estimate import RolloutEstimate, rollout_estimate
from bapo.api.configs import EstimateRange, RunEstimate, SimilarRun
from bapo.api.runs import RunStatus
from bapo.config import RunConfig

NEWEST_RUNS = 400
"""Ended runs that are looked at."""
MOST_RUNS = 8
_ENDED = (RunStatus.SUCCEEDED, RunStatus.CANCELLED)

_SAME = ("model.path", "engine.type", "rollout.group_size")
"""Fields in which a similar run agrees."""
_SCALES = ("rollout.batch_size", "training.batch_size", "rollout.max_response_tokens")
"""Fields whose ratio makes a run less similar."""
MOST_RATIO = 4.0
"""A run that differs by more in one of these fields says nothing."""


class _Rates(NamedTuple):
    """Cost rates of a similar run."""

    run: SimilarRun
    seconds_per_rollout: float
    tokens_per_rollout: float
    uncertain_share: float
    """Share of the re-evaluation, or of the further rounds, that its settings allowed."""
    machine: Machine
    """Machine of its newest attempt."""


def estimate(session: Session, config: RunConfig, prices: Prices, *, first_step: int = 0) -> RunEstimate:
    """Return rollouts by arithmetic, and from similar runs tokens, duration and cost with ranges.

    `first_step`: the completed steps that a fork begins with, which cost nothing more.
    """
    plain = config.model_dump(mode="json")
    planned = rollout_estimate(plain, num_rows(session), first_step=first_step)
    return _estimate(planned, _similar(session, plain), prices)


def estimates(
    session: Session, configs: Sequence[RunConfig], prices: Prices, first_steps: Sequence[int]
) -> list[RunEstimate]:
    """Return one estimate per config and steps that it begins with; configs of one shape share their similar runs."""
    shapes: dict[str, list[_Rates]] = {}
    found = []
    files = num_rows(session)
    for config, first_step in zip(configs, first_steps, strict=True):
        plain = config.model_dump(mode="json")
        shape = json.dumps([_at(plain, path) for path in ("method.type", *_SAME, *_SCALES)])
        if shape not in shapes:
            shapes[shape] = _similar(session, plain)
        found.append(_estimate(rollout_estimate(plain, files, first_step=first_step), shapes[shape], prices))
    return found


def _estimate(planned: RolloutEstimate, rates: Sequence[_Rates], prices: Prices) -> RunEstimate:
    known = RunEstimate(
        steps=planned.steps,
        fresh=planned.fresh,
        reevaluated_at_most=planned.reevaluated_at_most,
        tracking=planned.tracking,
        evaluation=planned.evaluation,
        further_at_most=planned.further_at_most,
        warm_start_steps=planned.warm_start_steps,
        warm_start_at_most=planned.warm_start_at_most,
        currency=prices.currency,
    )
    if not rates or planned.fresh is None or planned.reevaluated_at_most is None:
        return known
    rollouts = [planned.fresh + planned.uncertain * each.uncertain_share for each in rates]
    seconds = [count * each.seconds_per_rollout for count, each in zip(rollouts, rates, strict=True)]
    # The machine that the most similar run had.
    machine = rates[0].machine
    hours = [compute_hours(each, machine.num_gpus) for each in seconds]
    price = prices.at(datetime.now(UTC), machine)
    return known.model_copy(
        update={
            "rollouts": _range(rollouts),
            "tokens": _range([n * each.tokens_per_rollout for n, each in zip(rollouts, rates, strict=True)]),
            "seconds": _range(seconds),
            "compute_hours": _range(hours),
            "cost": None if price is None else _range([each * price for each in hours]),
            "num_gpus": machine.num_gpus,
            "similar_runs": [each.run for each in rates],
        }
    )


def _range(values: Sequence[float]) -> EstimateRange | None:
    return EstimateRange(value=median(values), low=min(values), high=max(values)) if values else None


def _similar(session: Session, config: Mapping[str, Any]) -> list[_Rates]:
    """Return the most similar runs first."""
    last_step = and_(StepRow.run_id == Run.id, StepRow.step == Run.step)
    # Only what is compared: rows are long, as are the records of steps, and most of the runs are not among the nearest.
    newest = (
        select(Run.id, Run.config, exists().where(last_step))
        # The counts of a fork begin with its parent's, its hours do not.
        .where(Run.status.in_(_ENDED), Run.step > 0, Run.num_rollouts > 0, Run.fork_step.is_(None))
        .order_by(Run.created_at.desc())
        .limit(NEWEST_RUNS)
    )
    near = sorted(
        (distance, run_id)
        for run_id, other, has_record in session.execute(newest)
        if has_record and (distance := _distance(config, other)) is not None
    )
    ids = [run_id for _, run_id in near[:MOST_RUNS]]
    rows = session.execute(select(Run, StepRow.record).join(StepRow, last_step).where(Run.id.in_(ids)))
    found = {run.id: (run, record["cost"].get("num_tokens")) for run, record in rows}
    usage = usage_of(session, ids)
    rates = (_rates(*found[run_id], usage.get(run_id, Usage()), config) for run_id in ids if run_id in found)
    return [each for each in rates if each is not None]


def _at(config: Mapping[str, Any], path: str) -> Any:
    """Return a field's value; `None` if the config lacks it, as those of observed runs do."""
    value: Any = config
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _distance(config: Mapping[str, Any], other: Mapping[str, Any]) -> float | None:
    """Return 0 for the same sizes and method; `None` if a size differs too much, or a required setting differs."""
    if any(_at(config, path) != _at(other, path) for path in _SAME):
        return None
    distance = 0.0 if config["method"]["type"] == other["method"]["type"] else 1.0
    for path in _SCALES:
        ratio = abs(math.log(_at(config, path) / _at(other, path)))
        if ratio > math.log(MOST_RATIO):
            return None
        distance += ratio
    return distance


def _rates(run: Run, num_tokens: int, usage: Usage, config: Mapping[str, Any]) -> _Rates | None:
    """Return the cost rates of a run; `None` if its duration is unknown."""
    if usage.compute_hours:
        seconds = usage.compute_hours * SECONDS_PER_HOUR / max(1, usage.num_gpus)
    elif run.step_seconds:
        # Imported: no worker held it.
        seconds = run.step_seconds * run.step
    else:
        return None
    done = rollout_estimate({**run.config, "training": {**run.config["training"], "steps": run.step}})
    assert done.fresh is not None, "the steps are given"
    again = max(0, run.num_rollouts - done.fresh)
    differs = [
        f"{path.rsplit('.', 1)[-1] if path != 'training.batch_size' else 'B'} {_at(run.config, path)}"
        for path in ("method.type", *_SCALES)
        if _at(run.config, path) != _at(config, path)
    ]
    return _Rates(
        SimilarRun(id=run.id, name=run.name, steps=run.step, differs=differs),
        seconds / run.num_rollouts,
        num_tokens / run.num_rollouts,
        min(1.0, again / done.uncertain) if done.uncertain else 0.0,
        usage.machine,
    )
