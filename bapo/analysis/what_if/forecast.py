"""Forecasts a run's batches under other thresholds, buffers or filters, as DAPO, or with groups of another size.

The recorded stream of group accuracies is replayed through the construction of batches. Fresh groups are what they
were, so X1, r_tot and what fresh groups do to the buffers are exact given the record; the policy's own reaction to
other batches is not simulated. What never happened is drawn several times from the pass rates of the run's prompts, so
that what depends on it comes with an interval: re-evaluations, DAPO's further rounds, and all groups of another size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bapo.analysis.what_if.answer import DEFAULT_DRAWS, RunChange, WhatIfAnswer, WhatIfTotals
from bapo.analysis.what_if.plan import Phase
from bapo.analysis.what_if.recording import Recording, require_known_method
from bapo.analysis.what_if.replay import has_buffers, replay
from bapo.analysis.what_if.sizes import Replay
from bapo.analysis.what_if.stream import RecordedStream
from bapo.analysis.what_if.totals import exact_through, forecast_batches, recorded_batches, totals_of
from bapo.config import ConfigError, ConfigProblem, apply_changes, parse_config
from bapo.config.documentation import documentation
from bapo.config.errors import FieldProblem
from bapo.config.method import has_trait, replay_methods
from bapo.config.resolve import difference
from bapo.methods.bapo import bapo_config

REPLAYABLE_FIELDS: tuple[str, ...] = (
    "method.type",
    "method.c1",
    "method.c2",
    "method.c3",
    "method.m",
    "method.max_reevaluated_prompts",
    "method.without",
    "method.filter.type",
    "method.filter.mean",
    "method.filter.std",
    "method.filter.share",
    "method.difficult_buffer.capacity",
    "method.high_quality_buffer.capacity",
    "method.high_quality_buffer.max_age_steps",
    "method.max_rounds",
    "rollout.group_size",
    "training.batch_size",
)
"""Config fields that decide what becomes of given prompts."""

FARTHEST = 2
"""Times the recorded G up to which intervals hold: at four times, 90 % intervals held in about 80 % of simulated
runs."""

_REASONS = {
    "rollout.batch_size": "which prompts came fresh in which step is recorded, and others cannot be added",
    "task": "other data means other prompts, for which no answers are recorded",
    "model": "another model answers differently, and its answers are not recorded",
    "method.v": "it decides which policy answers, and the recorded answers stay what they are",
    "training.seed": "it decides which prompts come when, and that is recorded",
}
"""Why other fields cannot be replayed."""


def what_if(recording: Recording, changes: Mapping[str, Any], *, draws: int = DEFAULT_DRAWS) -> WhatIfAnswer:
    """Return the batches of the run with these fields changed from its first step on.

    Fields that are not among `changes` keep the values that were in force at each step. Raises ConfigError naming
    field, value and remedy where a field cannot be replayed or a value is not legal.
    """
    phases, warnings = _changed(recording, changes)
    stream = recording.stream
    found = _replayed(recording, phases, draws)
    was, now = recording.phases, phases
    config = now[0].config
    forecast, totals = forecast_batches(found, config), totals_of(recording, found, config)
    group_size = config.rollout.group_size
    if group_size > FARTHEST * stream.group_size:
        warnings.append(_far_off(group_size, stream))
    if found.num_starved and has_buffers(config) and "reused" not in bapo_config(config).without:
        warnings.append(_starvation(found.num_starved, stream, group_size))
    return WhatIfAnswer(
        group_size_recorded=stream.group_size,
        group_size=group_size,
        num_steps=stream.num_steps,
        batch_size_recorded=was[0].config.training.batch_size,
        batch_size=config.training.batch_size,
        changes=_difference(now, was),
        run_changes=[RunChange(first_step=each.first_step, changes=dict(each.changes)) for each in recording.changes],
        estimated=any(getattr(totals, name).estimated for name in WhatIfTotals.model_fields),
        num_draws=max(len(found.fresh), len(found.x2)),
        exact_through=exact_through(found),
        num_estimated=float(found.num_estimated.sum(axis=1).mean()),
        num_drawn_groups=float(found.num_drawn.sum(axis=1).mean()),
        num_known=float((found.reevaluated - found.num_estimated).sum(axis=1).mean()),
        steps=list(range(1, stream.num_steps + 1)),
        recorded=recorded_batches(recording),
        forecast=forecast,
        totals=totals,
        warnings=[FieldProblem(field=each.field, value=each.value, remedy=each.remedy) for each in warnings],
        num_disagreeing=recording.num_disagreeing,
    )


def _replayed(recording: Recording, phases: Sequence[Phase], draws: int) -> Replay:
    # What a page shows before anything is changed; where nothing is drawn, one replicate is all of them.
    if phases == recording.phases and not recording.replayed.num_estimated.any():
        return recording.replayed
    return replay(recording.stream, phases, replicates=draws)


# ---------------------------------------------------------------- settings


def _changed(recording: Recording, changes: Mapping[str, Any]) -> tuple[list[Phase], list[ConfigProblem]]:
    """Return the phases with other values from the first step on, and the problems that their author should know."""
    run = recording.phases[0].config
    problems = [
        ConfigProblem(field, value, f"cannot be replayed: {_reason(field)}; submit a run with it instead")
        for field, value in changes.items()
        # The documentation comes last: the first to ask for it waits until it is made.
        if field not in REPLAYABLE_FIELDS
        and (field in _REASONS or field in {documented.path for documented in documentation()})
    ]
    method, methods = str(changes.get("method.type")), replay_methods(run.method.type_name())
    if has_trait(method, "is_replayable") and method not in methods:
        remedy = f"a run cannot be replayed as this: give one of {', '.join(methods)}"
        problems.append(ConfigProblem("method.type", method, remedy))
    if problems:
        raise ConfigError(problems)
    phases: list[Phase] = []
    warnings: dict[tuple[str, str], ConfigProblem] = {}
    for phase in recording.phases:
        config = parse_config(apply_changes(phase.config.model_dump(mode="json"), changes))
        require_known_method(config, otherwise="submit a run with it instead")
        phases.append(Phase(phase.first_step, config))
        warnings |= {(each.field, each.remedy): each for each in config.warnings if each.field in REPLAYABLE_FIELDS}
    return phases, list(warnings.values())


def _reason(field: str) -> str:
    section = field.partition(".")[0]
    return _REASONS.get(field) or _REASONS.get(section) or "it does not affect how batches are built"


def _starvation(num_steps: int, stream: RecordedStream, group_size: int) -> ConfigProblem:
    return ConfigProblem(
        "method.c2",
        None,
        f"at the r_tot of {num_steps:,} of the {stream.num_steps:,} steps no accuracy k/{group_size} lay in "
        "[c2, c3], so nothing could be stored or reused then: widen the range",
    )


def _far_off(group_size: int, stream: RecordedStream) -> ConfigProblem:
    return ConfigProblem(
        "rollout.group_size",
        group_size,
        f"groups of {stream.group_size} responses do not show which prompts are right once in many more, so that the "
        f"intervals are too narrow: up to {FARTHEST * stream.group_size} they hold",
    )


def _difference(now: Sequence[Phase], was: Sequence[Phase]) -> dict[str, tuple[Any, Any]]:
    """Map each dotted field that a replay depends on to (the run's latest value that differs, the value here).

    Another method comes with defaults of fields that the run does not have, such as those of its engine.
    """
    differing: dict[str, tuple[Any, Any]] = {}
    for ours, theirs in zip(now, was, strict=True):
        differing |= difference(ours.config, theirs.config)
    return {field: values for field, values in differing.items() if field in REPLAYABLE_FIELDS}
