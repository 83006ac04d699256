"""A recorded run, ready to be replayed: from a server's visits or from a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bapo.analysis.visits import Visits, visits_of
from bapo.analysis.what_if.plan import Phase
from bapo.analysis.what_if.replay import replay
from bapo.analysis.what_if.rounds import has_rounds, recorded_rounds
from bapo.analysis.what_if.sizes import Replay
from bapo.analysis.what_if.stream import RecordedStream
from bapo.config import ConfigError, ConfigProblem, RunConfig, apply_changes, parse_config
from bapo.config.method import replay_methods
from bapo.records import AnyRecord, EventRecord, StepRecord
from bapo.run.journal import merged_records
from bapo.run.run_folder import read_config


class BufferSizes(NamedTuple):
    """Recorded sizes of the buffers after each step; None where there was no such buffer."""

    difficult: Sequence[float | None]
    high_quality: Sequence[float | None]


class ParameterChange(NamedTuple):
    """New values that a run took over while it trained."""

    first_step: int
    """They hold from this step on."""
    changes: Mapping[str, Any]


class Recording:
    """A run, ready to be replayed."""

    def __init__(
        self, visits: Visits, config: RunConfig, changes: Iterable[ParameterChange], sizes: BufferSizes
    ) -> None:
        """Take the `config` that the run was submitted with, and its `changes` in chronological order.

        Raises ConfigError where the run's method is none whose batches can be replayed.
        """
        require_known_method(config, otherwise="choose a run of one of these")
        self.stream = RecordedStream(visits, config.rollout.batch_size if has_rounds(config) else None)
        self.changes = [change for change in changes if change.first_step <= self.stream.num_steps]
        self.phases = _phases(config, self.changes)
        self.sizes = BufferSizes(*(column[: self.stream.num_steps] for column in sizes))

    @cached_property
    def replayed(self) -> Replay:
        """The run under its own settings."""
        config = self.phases[0].config
        if has_rounds(config):
            return recorded_rounds(self.stream, config)
        found = replay(self.stream, self.phases, replicates=1)
        if config.method.is_trainable:
            return found
        # Another trainer's batch is what it trained on: its B is known only as the number of groups of its first step.
        return found._replace(x1=self.stream.recorded.x1[None])

    @cached_property
    def num_disagreeing(self) -> int:
        """Steps whose recorded batch is not what a replay under the run's own settings gives."""
        found, recorded = self.replayed, self.stream.recorded
        pairs = ((found.x1[0], recorded.x1), (found.x2[0], recorded.x2), (found.x3[0], recorded.x3))
        return int(np.any([ours != theirs for ours, theirs in pairs], axis=0).sum())


def read_recording(run_folder: Path) -> Recording:
    """Return the run in a folder. Raises ConfigError where it holds none, or none that can be replayed."""
    config = read_config(run_folder)
    records = merged_records(run_folder)
    return recording_of(config, records)


def recording_of(config: RunConfig, records: Iterable[AnyRecord]) -> Recording:
    """Return the run whose journal holds these records, in the order of their steps."""
    steps, changes = [], {}
    for record in records:
        if isinstance(record, StepRecord):
            steps.append(record)
        elif isinstance(record, EventRecord) and record.event == "parameter_change":
            # A later attempt repeats the answers that the one before it gave after the checkpoint.
            change = ParameterChange(record.data["applied_step"], record.data["set"])
            changes[record.data["id"]] = change
    sizes = BufferSizes(
        [step.difficult_buffer.size if step.difficult_buffer else None for step in steps],
        [step.high_quality_buffer.size if step.high_quality_buffer else None for step in steps],
    )
    in_order = sorted(changes.values(), key=lambda change: change.first_step)
    return Recording(visits_of(steps, config.rollout.group_size), config, in_order, sizes)


def require_known_method(config: RunConfig, *, otherwise: str) -> None:
    """Raise ConfigError where the method is none whose batches can be replayed; `otherwise`: what to do then."""
    if not config.method.is_replayable:
        known = ", ".join(replay_methods())
        remedy = f"its batches cannot be replayed, only those of {known}: {otherwise}"
        raise ConfigError([ConfigProblem("method.type", config.method.type, remedy)])


def _phases(config: RunConfig, changes: Sequence[ParameterChange]) -> list[Phase]:
    """Return the configs in force, each with its first step."""
    phases = [Phase(1, config)]
    for change in changes:
        changed = parse_config(apply_changes(phases[-1].config.model_dump(mode="json"), change.changes))
        if change.first_step <= phases[-1].first_step:
            phases.pop()
        phases.append(Phase(max(1, change.first_step), changed))
    return phases
