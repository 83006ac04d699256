"""DAPO's batches over a recorded stream: further rounds of prompts until B groups have a gradient.

The groups that the run recorded in a step are the first rounds of that step. Prompts of further rounds are ones that
the run did not visit there: they are drawn from its prompts in general.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bapo.analysis.what_if.answers import mixed_of_unvisited
from bapo.analysis.what_if.sizes import Replay, without_buffers
from bapo.analysis.what_if.stream import RecordedStream
from bapo.config import RunConfig
from bapo.methods.dapo import DapoConfig


def has_rounds(config: RunConfig) -> bool:
    """Return whether a step may ask for further rounds by DAPO's rule."""
    return isinstance(config.method, DapoConfig)


def replay_rounds(stream: RecordedStream, config: RunConfig, *, first: int, end: int) -> Replay:
    """Return the sizes for the replicates first..end - 1; for one of them if no prompt had to be drawn."""
    assert isinstance(config.method, DapoConfig)
    batch_size, per_round, seed = config.training.batch_size, config.rollout.batch_size, config.training.seed
    shape = (end - first, stream.num_steps)
    num_fresh, num_mixed, num_drawn = (np.zeros(shape, np.int64) for _ in range(3))
    for index, known in enumerate(_known_rounds(stream, batch_size, config.method.max_rounds)):
        num_fresh[:, index], num_mixed[:, index] = known.num_groups, known.num_mixed
        num_left = config.method.max_rounds - known.num_rounds
        if known.num_mixed >= batch_size or not num_left:
            continue
        is_mixed = mixed_of_unvisited(
            stream.pass_rates,
            index + 1,
            num_left * per_round,
            stream.group_size,
            seed=seed,
            first=first,
            end=end,
        )
        after_round = np.cumsum(is_mixed.reshape(end - first, num_left, per_round).sum(axis=2), axis=1)
        is_full = known.num_mixed + after_round >= batch_size
        taken = np.where(is_full.any(axis=1), is_full.argmax(axis=1) + 1, num_left)
        num_drawn[:, index] = taken * per_round
        num_mixed[:, index] += after_round[np.arange(len(taken)), taken - 1]
    if not num_drawn.any():
        num_fresh, num_mixed, num_drawn = num_fresh[:1], num_mixed[:1], num_drawn[:1]
    return without_buffers(num_fresh + num_drawn, num_mixed, num_drawn, np.minimum(num_mixed, batch_size))


def recorded_rounds(stream: RecordedStream, config: RunConfig) -> Replay:
    """Return the sizes with as many rounds as the run had, which ended by the same rule."""
    fresh, mixed = stream.recorded.fresh[None], stream.recorded.mixed[None]
    return without_buffers(fresh, mixed, np.zeros_like(fresh), np.minimum(mixed, config.training.batch_size))


class _Known(NamedTuple):
    """Sizes given by the recorded rounds of a step."""

    num_rounds: int
    num_groups: int
    num_mixed: int


def _known_rounds(stream: RecordedStream, batch_size: int, max_rounds: int) -> list[_Known]:
    num_before = np.concatenate(([0], np.cumsum(stream.fresh.is_mixed))).tolist()
    found = []
    for rows in stream.fresh.slices():
        size = stream.round_size or rows.stop - rows.start
        known = _Known(0, 0, 0)
        for num_rounds in range(1, max_rounds + 1):
            if known.num_mixed >= batch_size or rows.start + known.num_groups >= rows.stop:
                break
            end = min(rows.start + num_rounds * size, rows.stop)
            known = _Known(num_rounds, end - rows.start, num_before[end] - num_before[rows.start])
        found.append(known)
    return found
