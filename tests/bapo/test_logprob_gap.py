"""The gap between two implementations of one policy: worked numbers."""

from __future__ import annotations

import math

import pytest

from bapo.config.objective import Clipped, DecoupledClip, Objective, ShiftedClip
from tests.support.late_imports import late_imports

with late_imports():
    import torch
    from torch import Tensor

    from bapo.logprob_gap import GapSums, gap_sums

LENGTHS = [3, 1]


@pytest.fixture
def differences() -> Tensor:
    return torch.tensor([0.3, -0.3, 0.0, 0.1])


def test_a_worked_gap_of_tokens(differences: Tensor) -> None:
    gap = gap_sums(differences, LENGTHS, Objective(Clipped(0.2, 0.3))).gap()
    assert gap is not None
    # (0.3 + 0.3 + 0 + 0.1) / 4.
    assert gap.mean == pytest.approx(0.175)
    assert gap.max == pytest.approx(0.3)
    # e^0.3 = 1.35 > 1.3 and e^-0.3 = 0.74 < 0.8 are outside; 1 and e^0.1 = 1.11 are not.
    assert gap.outside_clip_range == 0.5
    assert gap.num_tokens == 4


@pytest.mark.parametrize(
    ("clip_low", "clip_high", "num_outside"),
    # e^0.1 = 1.1052: on either side of it. e^-0.3 = 0.7408 likewise.
    [(0.9, 0.11, 1), (0.9, 0.1, 2), (0.26, 0.9, 0), (0.25, 0.9, 1)],
)
def test_either_side_of_the_clip_range_counts(
    clip_low: float, clip_high: float, num_outside: int, differences: Tensor
) -> None:
    sums = gap_sums(differences, LENGTHS, Objective(Clipped(clip_low, clip_high)))
    assert sums.num_outside == num_outside


def test_with_a_ratio_per_response_its_tokens_are_outside_together(differences: Tensor) -> None:
    # Means of the responses: (0.3 - 0.3 + 0) / 3 = 0, and 0.1.
    sums = gap_sums(differences, LENGTHS, Objective(Clipped(3e-4, 4e-4), ratio_level="sequence"))
    assert sums.num_outside == 1
    # Distances remain those of the tokens.
    assert (sums.total, sums.largest) == (pytest.approx(0.7), pytest.approx(0.3))


def test_a_clip_range_about_the_policy_before_the_update_has_no_gap_in_it(differences: Tensor) -> None:
    for objective in (Objective(ShiftedClip()), Objective(DecoupledClip())):
        sums = gap_sums(differences, LENGTHS, objective)
        assert (sums.num_outside, sums.num_tokens) == (0, 4)


def test_parts_add_up_and_nothing_measured_is_no_gap(differences: Tensor) -> None:
    objective = Objective()
    parts = gap_sums(differences[:3], [3], objective) + GapSums() + gap_sums(differences[3:], [1], objective)
    whole = gap_sums(differences, LENGTHS, objective)
    assert parts.total == pytest.approx(whole.total)
    assert (parts.num_tokens, parts.largest, parts.num_outside) == (4, whole.largest, whole.num_outside)
    assert gap_sums(torch.empty(0), [0], objective).gap() is None


def test_a_diverged_policy_has_no_number() -> None:
    gap = gap_sums(torch.tensor([math.nan, 0.1]), [2], Objective()).gap()
    assert gap is not None
    assert math.isnan(gap.mean)
