"""Measurements of a probe: right responses of each prompt, seconds of a response and of its update."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.analysis.findings.estimates import Estimate, clustered_share
from bapo.analysis.findings.stream import RunStream


class ProbedCounts(NamedTuple):
    """Right responses and responses of each prompt that was answered."""

    num_correct: NDArray[np.int64]
    num_responses: NDArray[np.int64]
    of_groups: NDArray[np.int64]
    """Right responses of each group."""
    cluster: NDArray[np.int64]
    """Prompt of each group."""

    def share_of(self, hits: NDArray[np.bool_]) -> Estimate:
        """Return the share of these groups; prompts are independent, groups of one prompt are not."""
        sizes = np.bincount(self.cluster).astype(np.float64)
        return clustered_share(np.bincount(self.cluster, weights=hits).astype(np.float64), sizes)

    @property
    def accuracy(self) -> Estimate:
        """Share of right responses."""
        return clustered_share(self.num_correct.astype(np.float64), self.num_responses.astype(np.float64))


def counts_of(stream: RunStream) -> ProbedCounts:
    """Return the counts of all steps: every group is the base model's."""
    rows = stream.fresh_rows()
    counts = stream.visits.num_correct[rows].astype(np.int64)
    _, cluster = np.unique(stream.visits.prompt[rows], return_inverse=True)
    correct = np.bincount(cluster, weights=counts).astype(np.int64)
    return ProbedCounts(correct, np.bincount(cluster) * stream.visits.group_size, counts, cluster)


class Speed(NamedTuple):
    """Time of a probe on its machine, in seconds."""

    all_seconds: float
    """Generating all responses."""
    response_seconds: float
    """Generating one response, in its batch."""
    update_seconds: float
    """Update on one response, in its batch."""


def speed_of(stream: RunStream, counts: ProbedCounts) -> Speed | None:
    """Return the time that responses and updates took; None before the last step, which makes the only update."""
    generating, updates = stream.curve("timing_s/gen").values, stream.curve("timing_s/update").values
    trained = stream.curve("bapo/batch/batch").values
    if not len(generating) or not len(updates):
        return None
    seconds = float(generating.sum())
    num_trained = max(1.0, float(trained[-1])) * stream.visits.group_size
    return Speed(seconds, seconds / float(counts.num_responses.sum()), float(updates[-1]) / num_trained)
