"""Groups with a gradient that other methods would have trained on, from the run's own answers by what-if.

A method is advised where the lower end of its interval is above what the run had: an estimate that may be chance, or no
gain at all, is shown as a figure, and advises nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bapo.analysis.findings.estimates import Estimate
from bapo.analysis.findings.finding import Evidence, Remedy
from bapo.analysis.findings.stream import RunStream
from bapo.analysis.what_if.answer import WhatIfTotal
from bapo.analysis.what_if.forecast import what_if
from bapo.analysis.what_if.recording import BufferSizes, Recording
from bapo.config import ConfigError
from bapo.config.method import method_name, replay_methods
from bapo.methods.bapo import BapoConfig
from bapo.methods.dapo import DapoConfig

ADVISED = (BapoConfig.type_name(), DapoConfig.type_name())
_HOW = {
    BapoConfig.type_name(): "which answers difficult prompts again and reuses earlier groups",
    DapoConfig.type_name(): "which rolls out further prompts until the batch is full",
}


class Alternative(NamedTuple):
    """Another method's batches, had it been given the same answers."""

    method: str
    groups: Estimate
    """Groups with a gradient per step."""
    rollouts: Estimate
    """Per step."""


class Alternatives(NamedTuple):
    """The batches of the run, and those of other methods over the same steps."""

    groups: float
    """Groups with a gradient per step, as trained on."""
    rollouts: float
    """Per step."""
    others: list[Alternative]


def alternatives_of(stream: RunStream) -> Alternatives | None:
    """Return what BAPO and DAPO would have made of the answers; `None` where no step of the run can be replayed."""
    config = stream.config
    if not config.method.is_replayable:
        return None
    num_steps = int(stream.visits.step[-1]) if len(stream.visits.step) else 0
    nothing: list[float | None] = [None] * num_steps
    recording = Recording(stream.visits, config, (), BufferSizes(nothing, nothing))
    num_steps = recording.stream.num_steps
    if not num_steps:
        return None
    visits = stream.visits
    is_mixed = (visits.num_correct > 0) & (visits.num_correct < visits.group_size)
    trained = int(np.count_nonzero(visits.in_batch & is_mixed & (visits.step <= num_steps)))
    counts = recording.stream.recorded
    rollouts = int(counts.fresh.sum() + counts.reevaluated.sum()) * visits.group_size
    own = config.method.type_name()
    names = [name for name in ADVISED if name != own and name in replay_methods()]
    others = [found for name in names if (found := _alternative(recording, name)) is not None]
    return Alternatives(trained / num_steps, rollouts / num_steps, others)


def _alternative(recording: Recording, method: str) -> Alternative | None:
    try:
        answer = what_if(recording, {"method.type": method})
    except ConfigError:
        # The run's other settings, such as its group size, are not legal with this method's defaults.
        return None
    return Alternative(
        method,
        _per_step(answer.totals.trained, answer.num_steps),
        _per_step(answer.totals.rollouts, answer.num_steps),
    )


def _per_step(total: WhatIfTotal, num_steps: int) -> Estimate:
    return Estimate(total.forecast / num_steps, total.low / num_steps, total.high / num_steps)


def evidence_of(found: Alternatives, own: str) -> list[Evidence]:
    """Return the figures of the run's method and of the others, next to one another."""
    evidence = []
    for what, figure, others in (
        ("Groups with a gradient per step", found.groups, [each.groups for each in found.others]),
        ("Rollouts per step", found.rollouts, [each.rollouts for each in found.others]),
    ):
        evidence.append(Evidence(label=f"{what}, {own}", value=figure, unit="number"))
        evidence += [
            Evidence(label=f"{what}, {method_name(each.method)} by what-if", **other._asdict(), unit="number")
            for each, other in zip(found.others, others, strict=True)
        ]
    return evidence


def remedies_of(found: Alternatives) -> list[Remedy]:
    """Return the methods that would have trained on more groups with a gradient, beyond the interval."""
    return [
        Remedy(
            text=f"Train with {method_name(each.method)}, {_HOW[each.method]}: by what-if {each.groups.value:.1f} "
            f"groups with a gradient per step instead of {found.groups:.1f}, for "
            f"{each.rollouts.value / found.rollouts:.2f} times the rollouts.",
            changes={"method.type": each.method},
        )
        for each in found.others
        if each.groups.low > found.groups
    ]
