"""Turns the replayed sizes of batches and buffers into columns and totals with intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.comparison import t_quantile
from bapo.analysis.what_if.answer import INTERVAL, Band, ForecastBatches, RecordedBatches, WhatIfTotal, WhatIfTotals
from bapo.analysis.what_if.recording import Recording
from bapo.analysis.what_if.replay import has_buffers
from bapo.analysis.what_if.rounds import has_rounds
from bapo.analysis.what_if.sizes import Replay
from bapo.analysis.what_if.stream import Counts, RecordedCounts
from bapo.config import RunConfig
from bapo.methods.bapo import bapo_config

Mask = NDArray[np.bool_]


def recorded_batches(recording: Recording) -> RecordedBatches:
    """Return the columns of the batches as recorded."""
    counts = recording.stream.recorded
    config = recording.phases[0].config
    return RecordedBatches(
        x1=counts.x1.tolist(),
        x2=counts.x2.tolist(),
        x3=counts.x3.tolist(),
        fill_rate=((counts.x1 + counts.x2 + counts.x3) / config.training.batch_size).tolist(),
        gradient_share=(counts.mixed / np.maximum(counts.fresh, 1)).tolist(),
        reevaluated=counts.reevaluated.tolist(),
        difficult_size=recording.sizes.difficult,
        high_quality_size=recording.sizes.high_quality,
        rollouts=_rollouts(counts.fresh + counts.reevaluated, config).tolist(),
    )


def exact_through(found: Replay) -> int:
    """Return the last step up to which nothing was estimated."""
    estimated: Mask = np.any(found.num_estimated, axis=0) | np.any(found.num_drawn, axis=0)
    return int(estimated.argmax()) if estimated.any() else len(estimated)


class _Estimated(NamedTuple):
    """Steps in which a column rests on estimates."""

    x1: Mask
    x2: Mask
    x3: Mask
    batch: Mask
    gradient_share: Mask
    reevaluated: Mask
    difficult_size: Mask
    high_quality_size: Mask
    rollouts: Mask


def _estimated(found: Replay, config: RunConfig) -> _Estimated:
    num_steps = found.x1.shape[1]
    steps = np.arange(1, num_steps + 1)
    nowhere: Mask = np.zeros(num_steps, np.bool_)
    is_drawn: Mask = np.asarray(found.num_drawn.any(axis=0))
    after_drawn: Mask = np.logical_or.accumulate(is_drawn)
    if not has_buffers(config):
        x1, rollouts = (is_drawn, after_drawn) if has_rounds(config) else (nowhere, nowhere)
        return _Estimated(x1, nowhere, nowhere, x1, is_drawn, nowhere, nowhere, nowhere, rollouts)
    group_age = bapo_config(config).high_quality_buffer.max_age_steps
    differs = steps > exact_through(found)
    asks = found.reevaluated.any(axis=0)
    x2 = differs & asks
    # A surplus that an estimate stored is among the groups after its step, and a candidate until it has aged out.
    stored = np.cumsum(np.concatenate(([0], differs & found.surplus_stored.any(axis=0))))
    x3 = after_drawn | x2 | (stored[steps - 1] > stored[np.maximum(steps - 1 - group_age, 0)])
    groups = after_drawn | (stored[steps] > stored[np.maximum(steps - group_age, 0)])
    # How many are asked follows from the buffer before the step.
    later = steps > exact_through(found) + 1
    return _Estimated(after_drawn, x2, x3, after_drawn | x2 | x3, is_drawn, asks & later, differs, groups, later)


def forecast_batches(found: Replay, config: RunConfig) -> ForecastBatches:
    """Return means and intervals, and mark exact values by step."""
    batch_size = config.training.batch_size
    largest_difficult: float = np.inf
    if has_buffers(config):
        largest_difficult = bapo_config(config).difficult_buffer.capacity or batch_size
    estimated = _estimated(found, config)
    batch = found.x1 + found.x2 + found.x3
    return ForecastBatches(
        x1=_band(found.x1, estimated.x1, batch_size),
        x2=_band(found.x2, estimated.x2, batch_size),
        x3=_band(found.x3, estimated.x3, batch_size),
        fill_rate=_band(batch / batch_size, estimated.batch, 1),
        gradient_share=_band(found.mixed / np.maximum(found.fresh, 1), estimated.gradient_share, 1),
        reevaluated=_band(found.reevaluated, estimated.reevaluated, np.inf),
        difficult_size=_band(found.difficult_size, estimated.difficult_size, largest_difficult),
        high_quality_size=_band(found.high_quality_size, estimated.high_quality_size, np.inf),
        rollouts=_band(_rollouts(found.fresh + found.reevaluated, config), estimated.rollouts, np.inf),
    )


def _rollouts(asked: Counts, config: RunConfig) -> Counts:
    """Return responses so far, each prompt answered G times."""
    return np.asarray(np.cumsum(asked, axis=-1) * config.rollout.group_size)


def interval(draws: NDArray[Any], largest: float = np.inf) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return mean of the draws (first axis), and the 90 % prediction interval of one more: mean ± t·s·sqrt(1 + 1/n).

    s is the standard deviation of the n draws and t the 95 % quantile of Student's distribution with n - 1 degrees
    of freedom. Cut at 0 and at what is possible.
    """
    mean = draws.mean(axis=0)
    num = len(draws)
    if num == 1:
        return mean, mean, mean
    half = t_quantile(num - 1, within=INTERVAL) * draws.std(axis=0, ddof=1) * np.sqrt(1 + 1 / num)
    return mean, np.maximum(mean - half, 0), np.minimum(mean + half, largest)


def _band(draws: NDArray[Any], is_estimated: Mask, largest: float) -> Band:
    mean, low, high = (np.round(column, 4).tolist() for column in interval(draws, largest))
    return Band(mean=mean, low=low, high=high, is_exact=(~is_estimated).tolist())


NOT_OBSERVED = frozenset({"x2_share", "x3_share", "reevaluated"})


def totals_of(recording: Recording, found: Replay, config: RunConfig) -> WhatIfTotals:
    """Return figures over all steps, as the run had them and as they would have been."""
    was = _sums(_as_replay(recording.stream.recorded), recording.phases[0].config)
    now, estimated = _sums(found, config), _estimated(found, config)
    columns = {
        "x2_share": estimated.batch & has_buffers(config),
        "x3_share": estimated.batch & has_buffers(config),
        "fresh": estimated.rollouts & has_rounds(config),
        "gradient_share": estimated.gradient_share,
        "reevaluated": estimated.reevaluated,
        "rollouts": estimated.rollouts,
    }
    # Another trainer has no X2 and X3 that could be counted: none is not zero.
    unknown = frozenset() if recording.phases[0].config.method.is_trainable else NOT_OBSERVED
    totals = {}
    for name, draws in now.items():
        is_share = name in ("fill_rate", "gradient_share", "x1_share", "x2_share", "x3_share")
        value, low, high = (float(each) for each in interval(draws, 1 if is_share else np.inf))
        totals[name] = WhatIfTotal(
            recorded=None if name in unknown else float(was[name][0]),
            forecast=value,
            low=low,
            high=high,
            estimated=bool(columns.get(name, estimated.batch).any()),
        )
    return WhatIfTotals(**totals)


def _as_replay(counts: RecordedCounts) -> Replay:
    nothing = np.zeros_like(counts.fresh)
    columns = (counts.fresh, counts.mixed, nothing, counts.x1, counts.x2, counts.x3, counts.reevaluated)
    return Replay._make([*(column[None] for column in columns), *[nothing[None]] * 4, 0])


def _sums(found: Replay, config: RunConfig) -> dict[str, NDArray[Any]]:
    """Return each figure over all steps, per draw."""
    batch = found.x1 + found.x2 + found.x3
    num_steps, trained, asked = max(1, batch.shape[1]), batch.sum(axis=1), found.reevaluated.sum(axis=1)
    groups, fresh = np.maximum(trained, 1), found.fresh.sum(axis=1)
    return {
        "fill_rate": trained / config.training.batch_size / num_steps,
        "empty_batches": (batch == 0).sum(axis=1),
        "trained": trained,
        "x1_share": found.x1.sum(axis=1) / groups,
        "x2_share": found.x2.sum(axis=1) / groups,
        "x3_share": found.x3.sum(axis=1) / groups,
        "fresh": fresh,
        "gradient_share": found.mixed.sum(axis=1) / np.maximum(fresh, 1),
        "reevaluated": asked,
        "rollouts": (fresh + asked) * config.rollout.group_size,
    }
