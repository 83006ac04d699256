"""The policy improvement bound and its constants (arXiv:2602.20722, Theorem 3.2, Eq. 11–13)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

VARIANCE_EPSILON = 1e-6
"""ε of Eq. 2, added to the variance, inside the root."""


def bound_constant(variance: Fraction) -> float:
    """Return K = (1 - s) / s with s = sqrt(variance + ε); `variance` of a 0/1 reward, at most 1/4."""
    deviation = math.sqrt(float(variance) + VARIANCE_EPSILON)
    return (1 - deviation) / deviation


def improvement_bound(*, k: float, surrogate: float, tv: float, tv_before: float) -> float:
    """Return the least improvement J(π_θ) - J(π_θt) that the theorem leaves to a source, in expected reward.

    L_α(π_θ) - 2·K·TV(π_θ, α) - 2·TV(π_θt, α), with `surrogate` L_α, `tv` after and `tv_before` before the update.
    """
    return surrogate - 2 * k * tv - 2 * tv_before


@dataclass(frozen=True, slots=True)
class TheoryConstants:
    """K1..K3 at one mean accuracy; None where the theorem does not define one."""

    k1: float | None
    """Fresh groups (Eq. 11); only for filters that keep mixed rewards."""
    k2: float
    """Re-evaluated groups as the paper has it (Eq. 12)."""
    k2_exact: float
    """Constant for the least variance that an improved group can have: the paper's bound misses accuracies near 1."""
    k3: float
    """Reused groups (Eq. 13)."""


def theory_constants(
    *, group_size: int, c1: Fraction, c2: Fraction, c3: Fraction, filter_keeps_mixed_only: bool
) -> TheoryConstants:
    """Return K1, K2, K3 for thresholds at one r_tot.

    An improved group has c1 + 1/G ≤ μ ≤ (G-1)/G at the least, and the variance μ(1 - μ) is concave, so its minimum
    lies at an end.
    """
    mixed = Fraction(group_size - 1, group_size**2)
    # The smallest k/G above c1.
    improved = Fraction(math.floor(c1 * group_size) + 1, group_size)
    return TheoryConstants(
        k1=bound_constant(mixed) if filter_keeps_mixed_only else None,
        k2=bound_constant(c1 * (1 - c1)),
        k2_exact=bound_constant(min(improved * (1 - improved), mixed)),
        k3=bound_constant(min(c2 * (1 - c2), c3 * (1 - c3))),
    )
