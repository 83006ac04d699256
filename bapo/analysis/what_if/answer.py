"""The answer to a what-if question: recorded and forecast batches by step, and their totals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bapo.analysis.result import Result
from bapo.config.errors import FieldProblem

DEFAULT_DRAWS = 20
"""Number of draws of answers that no policy gave, unless the caller gives one."""
INTERVAL = 0.9
"""Share of draws within an interval."""


class Band(Result):
    """Values by step with 90 % prediction intervals: where one more draw would lie."""

    mean: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    is_exact: Sequence[bool]
    """Rests on recorded answers alone: then low = mean = high."""


class RecordedBatches(Result):
    """The batches and buffers as recorded; None where there was no such buffer."""

    x1: Sequence[int]
    x2: Sequence[int]
    x3: Sequence[int]
    fill_rate: Sequence[float]
    gradient_share: Sequence[float]
    """Share of the fresh groups that are neither all wrong nor all right, 0 to 1."""
    reevaluated: Sequence[int]
    """Difficult prompts answered again."""
    difficult_size: Sequence[float | None]
    """Prompts in the difficult buffer after the step."""
    high_quality_size: Sequence[float | None]
    """Groups in the high-quality buffer after the step."""
    rollouts: Sequence[int]
    """Responses of training so far: fresh and re-evaluated."""


class ForecastBatches(Result):
    """The batches and buffers as forecast."""

    x1: Band
    """Exact with the recorded G, but for DAPO: which fresh groups the filter keeps is a matter of their recorded
    accuracies."""
    x2: Band
    x3: Band
    fill_rate: Band
    gradient_share: Band
    """Share of the fresh groups that are neither all wrong nor all right, 0 to 1."""
    reevaluated: Band
    difficult_size: Band
    high_quality_size: Band
    rollouts: Band


class WhatIfTotal(Result):
    """One figure over all steps."""

    recorded: float | None
    """Recorded value; None if another trainer's run cannot have recorded it, such as X2."""
    forecast: float
    """Exact, or the mean over the draws."""
    low: float
    high: float
    """90 % prediction interval of the forecast; no width where it is exact."""
    estimated: bool
    """True if it rests on draws, and not on recorded answers alone."""


class WhatIfTotals(Result):
    """Figures over all steps."""

    fill_rate: WhatIfTotal
    """Mean of batch / B."""
    empty_batches: WhatIfTotal
    """Steps without an update."""
    trained: WhatIfTotal
    """Groups trained on."""
    x1_share: WhatIfTotal
    """Share of the groups trained on."""
    x2_share: WhatIfTotal
    x3_share: WhatIfTotal
    fresh: WhatIfTotal
    """Fresh groups, in all rounds; each costs G rollouts."""
    gradient_share: WhatIfTotal
    """Share of the fresh groups that are neither all wrong nor all right, 0 to 1."""
    reevaluated: WhatIfTotal
    """Prompts answered again; each costs G rollouts."""
    rollouts: WhatIfTotal
    """Responses of training: fresh and re-evaluated."""


class RunChange(Result):
    """A parameter change of the run itself, which the replay follows except in the fields that are set."""

    first_step: int
    changes: dict[str, Any]


class WhatIfAnswer(Result):
    """The run's recorded answers, replayed through the construction of batches with other settings."""

    group_size_recorded: int
    group_size: int
    """G, as the run had it and here."""
    num_steps: int
    """Steps 1..n that were replayed."""
    batch_size_recorded: int
    batch_size: int
    """B, as the run had it and here."""
    changes: dict[str, tuple[Any, Any]]
    """Dotted field → (the run's value at its last step, the value here), for every field that differs."""
    run_changes: Sequence[RunChange]
    """Parameter changes while the run trained."""
    estimated: bool
    """True if any figure rests on draws, and not on recorded answers alone."""
    num_draws: int
    """1 where nothing had to be estimated."""
    exact_through: int
    """Last step up to which every figure is exact."""
    num_estimated: float
    """Re-evaluations that never happened and were estimated, mean over the draws."""
    num_drawn_groups: float
    """Fresh groups whose answers were drawn, of another G or of DAPO's further rounds, mean over the draws."""
    num_known: float
    """Re-evaluations that the run recorded in the very same step."""
    steps: Sequence[int]
    sampled: str = "no"
    """Sampling of steps that the columns leave out, or "no"; the totals are over all."""
    recorded: RecordedBatches
    forecast: ForecastBatches
    totals: WhatIfTotals
    warnings: Sequence[FieldProblem]
    num_disagreeing: int
    """Steps in which a replay under the run's own settings gives other batches than it recorded: 0, unless its
    batches were made by another version of the algorithm."""
