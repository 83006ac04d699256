"""The sizes of batches and buffers in every step: what a replay gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bapo.analysis.what_if.stream import Counts


class Replay(NamedTuple):
    """Sizes in every step, `[replicates, steps]`; one replicate where nothing had to be estimated."""

    fresh: Counts
    """Groups rolled out by α, in all rounds of the step."""
    mixed: Counts
    """Fresh groups with a gradient: neither all wrong nor all right."""
    num_drawn: Counts
    """Fresh groups whose answers were drawn: of another G, or of rounds that the run did not have."""
    x1: Counts
    x2: Counts
    x3: Counts
    reevaluated: Counts
    num_estimated: Counts
    """Re-evaluations that never happened and were drawn."""
    surplus_stored: Counts
    """Improved groups without room in the batch that entered the high-quality buffer."""
    difficult_size: Counts
    """Prompts in the difficult buffer after the step."""
    high_quality_size: Counts
    """Groups in the high-quality buffer after the step."""
    num_starved: int
    """Steps in whose [c2, c3] no k/G lay."""


def without_buffers(fresh: Counts, mixed: Counts, num_drawn: Counts, x1: Counts) -> Replay:
    """Return the sizes of batches of fresh groups alone: `[replicates, steps]` each."""
    nothing = np.zeros_like(fresh)
    return Replay._make([fresh, mixed, num_drawn, x1, *[nothing] * 7, 0])


def side_by_side(replays: Sequence[Replay]) -> Replay:
    """Return the replicates of several replays as those of one."""
    *sizes, starved = zip(*replays, strict=True)
    return Replay._make([*map(np.concatenate, sizes), min(starved)])
