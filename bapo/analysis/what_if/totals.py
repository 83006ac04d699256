"""Turns the replayed sizes of batches and buffers into columns and totals with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.comparison import t_quantile
from bapo.analysis.what_if.answer import Band, ForecastBatches, RecordedBatches, WhatIfTotal, WhatIfTotals
from bapo.analysis.what_if.recording import Recording
from bapo.analysis.what_if.replay import Replay, has_buffers
from bapo.analysis.what_if.stream import Counts, RecordedStream
from bapo.config import RunConfig
from bapo.methods.bapo import bapo_config


def recorded_batches(recording: Recording) -> RecordedBatches:
    """Returns the columns of the batches as recorded."""
    counts = recording.stream.recorded
    batch_size = recording.phases[0].config.training.batch_size
    return RecordedBatches(
        x1=counts.x1.tolist(),
        x2=counts.x2.tolist(),
        x3=counts.x3.tolist(),
        fill_rate=((counts.x1 + counts.x2 + counts.x3) / batch_size).tolist(),
        reevaluated=counts.reevaluated.tolist(),
        difficult_size=recording.sizes.difficult,
        high_quality_size=recording.sizes.high_quality,
        rollouts=_rollouts(counts.reevaluated, recording.stream).tolist(),
    )


def exact_through(found: Replay) -> int:
    """Last step up to which nothing was estimated."""
    estimated: NDArray[np.bool_] = np.any(found.num_estimated, axis=0)
    return int(estimated.argmax()) if estimated.any() else len(estimated)


def forecast_batches(recording: Recording, found: Replay, config: RunConfig) -> ForecastBatches:
    """Means, intervals, and what is exact in which step."""
    batch_size, group_age = config.training.batch_size, 0
    largest_difficult: float = np.inf
    if has_buffers(config):
        method = bapo_config(config)
        group_age = method.high_quality_buffer.max_age_steps
        largest_difficult = method.difficult_buffer.capacity or batch_size
    steps = np.arange(1, len(found.x1) + 1)
    differs = steps > exact_through(found)
    asks = found.reevaluated.any(axis=0)
    x2_differs = differs & asks
    # A surplus that an estimate stored is among the groups after its step, and a candidate until it has aged out.
    stored = np.cumsum(np.concatenate(([0], differs & found.surplus_stored.any(axis=0))))
    x3_differs = x2_differs | (stored[steps - 1] > stored[np.maximum(steps - 1 - group_age, 0)])
    groups_differ = stored[steps] > stored[np.maximum(steps - group_age, 0)]
    batch = found.x1 + found.x2 + found.x3
    return ForecastBatches(
        x1=found.x1.tolist(),
        x2=_band(found.x2, x2_differs, batch_size),
        x3=_band(found.x3, x3_differs, batch_size),
        fill_rate=_band(batch / batch_size, x2_differs | x3_differs, 1),
        # How many are asked follows from the buffer before the step.
        reevaluated=_band(found.reevaluated, asks & (steps > exact_through(found) + 1), np.inf),
        difficult_size=_band(found.difficult_size, differs, largest_difficult),
        high_quality_size=_band(found.high_quality_size, groups_differ, np.inf),
        rollouts=_band(_rollouts(found.reevaluated, recording.stream), steps > exact_through(found) + 1, np.inf),
    )


def _rollouts(reevaluated: Counts, stream: RecordedStream) -> Counts:
    """Responses so far, each prompt answered G times."""
    asked: Counts = np.cumsum(stream.recorded.fresh + reevaluated, axis=-1)
    return asked * stream.group_size


def interval(draws: NDArray[Any], largest: float = np.inf) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Mean of the draws (first axis), and the 95 % prediction interval of one more: mean ± t·s·sqrt(1 + 1/n).

    s is the standard deviation of the n draws and t the 97.5 % quantile of Student's distribution with n - 1 degrees
    of freedom. Cut at 0 and at what is possible.
    """
    mean = draws.mean(axis=0)
    num = len(draws)
    if num == 1:
        return mean, mean, mean
    half = t_quantile(num - 1) * draws.std(axis=0, ddof=1) * np.sqrt(1 + 1 / num)
    return mean, np.maximum(mean - half, 0), np.minimum(mean + half, largest)


def _band(draws: NDArray[Any], differs: NDArray[np.bool_], largest: float) -> Band:
    mean, low, high = (np.round(column, 4).tolist() for column in interval(draws, largest))
    return Band(mean=mean, low=low, high=high, is_exact=(~differs).tolist())


NOT_OBSERVED = frozenset({"x2_share", "x3_share", "reevaluated"})


def totals_of(recording: Recording, found: Replay, config: RunConfig) -> WhatIfTotals:
    """Figures over all steps, as the run had them and as they would have been."""
    stream, counts = recording.stream, recording.stream.recorded
    was = _sums(
        counts.x1[None], counts.x2[None], counts.x3[None], counts.reevaluated[None], stream,
        recording.phases[0].config.training.batch_size,
    )  # fmt: skip
    now = _sums(found.x1[None], found.x2, found.x3, found.reevaluated, stream, config.training.batch_size)
    bounded = {"fill_rate", "x1_share", "x2_share", "x3_share"}
    # Another trainer has no X2 and X3 that could be counted: none is not zero.
    unknown = frozenset() if recording.phases[0].config.method.is_trainable else NOT_OBSERVED
    totals = {}
    for name, draws in now.items():
        value, low, high = (float(each) for each in interval(draws, 1 if name in bounded else np.inf))
        totals[name] = WhatIfTotal(
            recorded=None if name in unknown else float(was[name][0]), forecast=value, low=low, high=high
        )
    return WhatIfTotals(**totals)


def _sums(
    x1: Counts, x2: Counts, x3: Counts, reevaluated: Counts, stream: RecordedStream, batch_size: int
) -> dict[str, NDArray[Any]]:
    """Each figure over all steps, per draw."""
    batch = x1 + x2 + x3
    num_steps, trained, asked = max(1, stream.num_steps), batch.sum(axis=1), reevaluated.sum(axis=1)
    groups = np.maximum(trained, 1)
    return {
        "fill_rate": batch.sum(axis=1) / batch_size / num_steps,
        "empty_batches": (batch == 0).sum(axis=1),
        "trained": trained,
        "x1_share": x1.sum(axis=1) / groups,
        "x2_share": x2.sum(axis=1) / groups,
        "x3_share": x3.sum(axis=1) / groups,
        "reevaluated": asked,
        "rollouts": (stream.recorded.fresh.sum() + asked) * stream.group_size,
    }
