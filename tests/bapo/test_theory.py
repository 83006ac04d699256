from __future__ import annotations

import math
from fractions import Fraction

import pytest

from bapo.theory import TheoryConstants, bound_constant, improvement_bound, theory_constants

NO_EPSILON = 1e-4
"""ε = 1e-6 inside the root moves these constants by less."""


def constants(
    *, c1: Fraction = Fraction(1, 8), c2: Fraction = Fraction(1, 8), c3: Fraction = Fraction(2, 8), group_size: int = 8
) -> TheoryConstants:
    return theory_constants(group_size=group_size, c1=c1, c2=c2, c3=c3, filter_keeps_mixed_only=True)


def test_a_variance_of_a_quarter_gives_one() -> None:
    # s = sqrt(1/4) = 1/2, (1 - 1/2) / (1/2) = 1: the tightest bound, at accuracy 1/2 (Proposition A.3).
    assert bound_constant(Fraction(1, 4)) == pytest.approx(1, abs=NO_EPSILON)


def test_epsilon_stands_inside_the_root() -> None:
    # Variance 0: s = sqrt(1e-6) = 1e-3, (1 - 0.001) / 0.001 = 999.
    assert bound_constant(Fraction(0)) == pytest.approx(999)


def test_the_least_improvement_is_the_surrogate_less_both_distances() -> None:
    # 0.4 - 2·1.5·0.1 - 2·0.03
    assert improvement_bound(k=1.5, surrogate=0.4, tv=0.1, tv_before=0.03) == pytest.approx(0.04)


def test_constants_of_table_3_at_r_tot_0() -> None:
    measured = constants()
    # K1: (G-1)/G² = 7/64, s = sqrt(7)/8 = 0.330719, 1/s - 1 = 2.023716.
    assert measured.k1 == pytest.approx(8 / math.sqrt(7) - 1, abs=NO_EPSILON)
    assert measured.k1 == pytest.approx(2.0237, abs=1e-3)
    # K2: c1(1 - c1) = 1/8·7/8 = 7/64, the same.
    assert measured.k2 == measured.k1
    # K2 exact: the least variance of k = 2..7 is that of 7/8, 7/64 again (2/8·6/8 = 12/64 is more).
    assert measured.k2_exact == measured.k1
    # K3: min(1/8·7/8, 2/8·6/8) = 7/64.
    assert measured.k3 == measured.k1


def test_the_papers_k2_misses_accuracies_near_one() -> None:
    # c1 = 1/2 promises a variance of 1/4, so K2 = 1; a group with 7/8 has 7/64 all the same.
    measured = constants(c1=Fraction(1, 2))
    assert measured.k2 == pytest.approx(1, abs=NO_EPSILON)
    assert measured.k2_exact == pytest.approx(8 / math.sqrt(7) - 1, abs=NO_EPSILON)


def test_the_exact_k2_takes_the_first_accuracy_above_c1() -> None:
    # c1 = 0 with G = 8: the paper's variance is 0 (K2 = 999); the least accuracy above 0 is 1/8 with 7/64.
    measured = constants(c1=Fraction(0))
    assert measured.k2 == pytest.approx(999)
    assert measured.k2_exact == pytest.approx(8 / math.sqrt(7) - 1, abs=NO_EPSILON)
    # c1 = 0.2 lies between 1/8 and 2/8: variances of 2/8 (12/64) and 7/8 (7/64).
    assert constants(c1=Fraction(1, 5)).k2_exact == measured.k2_exact
    # G = 2 has one improved accuracy only, 1/2.
    assert constants(c1=Fraction(0), group_size=2).k2_exact == pytest.approx(1, abs=NO_EPSILON)


@pytest.mark.parametrize(
    ("c2", "c3", "variance"),
    [
        # The smaller variance is c2's below the middle and c3's above it.
        (Fraction(1, 4), Fraction(1, 2), Fraction(3, 16)),
        (Fraction(1, 2), Fraction(3, 4), Fraction(3, 16)),
        (Fraction(1, 4), Fraction(7, 8), Fraction(7, 64)),
        # Table 2 runs c2 = 0.
        (Fraction(0), Fraction(1, 4), Fraction(0)),
    ],
)
def test_k3_takes_the_smaller_variance_of_both_ends(c2: Fraction, c3: Fraction, variance: Fraction) -> None:
    assert constants(c2=c2, c3=c3).k3 == bound_constant(variance)


def test_k1_needs_a_filter_that_keeps_mixed_rewards() -> None:
    uniform = theory_constants(
        group_size=8, c1=Fraction(1, 8), c2=Fraction(1, 8), c3=Fraction(2, 8), filter_keeps_mixed_only=False
    )
    assert uniform.k1 is None
