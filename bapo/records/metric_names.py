"""Names the scalars of records: verl's names where verl has one, else `bapo/…`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from math import isfinite
from typing import Any

from bapo.records.base import Record
from bapo.records.journal import AnyRecord, EvaluationRecord, EventRecord, TrackingRecord
from bapo.records.metric import metrics_in
from bapo.records.step import Rewards, StepRecord


def metrics(record: AnyRecord) -> dict[str, float]:
    """Return a record's finite scalars by metric name: verl's names where verl has one, else `bapo/…`. Events have
    none."""
    match record:
        case StepRecord():
            return _step_metrics(record)
        case EvaluationRecord():
            prefix = f"val-core/{record.dataset}/acc"
            return {
                f"{prefix}/mean@{record.num_samples}": record.avg_at_k.value,
                f"{prefix}/mean@{record.num_samples}/low": record.avg_at_k.low,
                f"{prefix}/mean@{record.num_samples}/high": record.avg_at_k.high,
                **({} if record.greedy is None else {f"{prefix}/greedy": record.greedy.value}),
                **{f"{prefix}/pass@{k}": interval.value for k, interval in record.pass_at.items()},
            }
        case TrackingRecord():
            if record.replicate:
                return {}
            responses = record.group_size * len(record.num_correct)
            return {"bapo/tracking/accuracy": sum(record.num_correct) / responses} if responses else {}
        case EventRecord():
            return {}


def _step_metrics(record: StepRecord) -> dict[str, float]:
    # Named and checked all at once: a server does this with every step that it is sent.
    parts = [(prefix, _known(fields)) for prefix, fields in _step_parts(record)]
    names = _names(tuple([(prefix, tuple(fields)) for prefix, fields in parts]))
    values = map(float, chain.from_iterable([fields.values() for _, fields in parts]))
    found = dict(zip(names, values, strict=True))
    return found if isfinite(sum(found.values())) else {name: each for name, each in found.items() if isfinite(each)}


def _known(fields: Mapping[Any, float | None]) -> Mapping[Any, float]:
    if None in fields.values():
        return {name: value for name, value in fields.items() if value is not None}
    return fields  # type: ignore[return-value] # no value is None


_Named = tuple[tuple[str, tuple[str, ...]], ...]
_known_names: dict[_Named, tuple[str, ...]] = {}
_MOST_NAMINGS, _MOST_CHARACTERS = 256, 50_000
"""The steps of a run name the same few hundred metrics; an unbounded number of made-up names is not cached."""


def _names(parts: _Named) -> tuple[str, ...]:
    names = _known_names.get(parts)
    if names is None:
        names = tuple(prefix + name for prefix, fields in parts for name in fields)
        if sum(map(len, names)) <= _MOST_CHARACTERS:
            if len(_known_names) >= _MOST_NAMINGS:
                _known_names.clear()
            _known_names[parts] = names
    return names


@cache
def _named(model: type[Record]) -> tuple[Sequence[tuple[str, str]], Sequence[tuple[str, str]]]:
    """Return the scalar fields with their metrics' names, and the fields that hold several with their prefix."""
    fields = [(field, metric.name) for field, metric, is_scalar in metrics_in(model) if is_scalar]
    return fields, [(field, metric.name) for field, metric, is_scalar in metrics_in(model) if not is_scalar]


def _parts(record: Record, prefix: str = "") -> Iterator[tuple[str, Mapping[Any, Any]]]:
    scalars, parts = _named(type(record))
    values = vars(record)
    yield prefix, {name: values[field] for field, name in scalars}
    for field, beginning in parts:
        part = values[field]
        if isinstance(part, Record):
            yield from _parts(part, prefix + beginning)
        elif part:
            yield prefix + beginning, part


def _step_parts(record: StepRecord) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """Yield a step's scalars with the prefix of their names; of two with the same name the later counts."""
    # A trainer's own figures first: what is counted here wins.
    yield "", record.metrics
    yield from _parts(record)
    if record.trainer_version is not None and record.rollout_version is not None:
        yield "bapo/policy/", {"rollout_staleness": record.trainer_version - record.rollout_version}
    if record.rewards is not None:
        yield "bapo/rewards/", _reward_metrics(record.rewards, record.counts.fresh)


def _reward_metrics(rewards: Rewards, num_groups: int) -> dict[str, float | None]:
    return {
        "constant_groups": rewards.num_constant_groups / num_groups if num_groups else None,
        "rejected_groups": rewards.num_rejected_groups,
        "missing_ranks": len(rewards.missing_ranks) or None,
    }
