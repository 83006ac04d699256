"""Evaluates a config's thresholds at each mean accuracy, and its constants of Theorem 3.2."""

from __future__ import annotations

from fractions import Fraction

from bapo.api.configs import ThresholdMapRow
from bapo.config import RunConfig
from bapo.methods.bapo import BapoConfig
from bapo.theory import theory_constants
from bapo.thresholds import Thresholds

NUM_ROWS = 21
"""r_tot = 0, 0.05, …, 1."""


def threshold_map(config: RunConfig) -> list[ThresholdMapRow]:
    """Return the roles of each number of correct responses; empty for methods without thresholds."""
    method = config.method
    if not isinstance(method, BapoConfig):
        return []
    return [_row(method, Fraction(i, NUM_ROWS - 1), config.rollout.group_size) for i in range(NUM_ROWS)]


def _row(method: BapoConfig, r_tot: Fraction, group_size: int) -> ThresholdMapRow:
    thresholds = Thresholds.at(r_tot, c1=method.c1, c2=method.c2, c3=method.c3, group_size=group_size)
    roles = []
    for num_correct in range(group_size + 1):
        # The uniform filter draws from all groups, the others only from those with mixed rewards.
        is_fresh = method.filter.type == "uniform" or 0 < num_correct < group_size
        named = {
            "fresh": is_fresh,
            "difficult": "reevaluated" not in method.without and thresholds.is_difficult(num_correct),
            "reusable": "reused" not in method.without and thresholds.is_reusable(num_correct),
        }
        roles.append("+".join(role for role, holds in named.items() if holds) or "nothing")
    return ThresholdMapRow(r_tot=float(r_tot), c2=float(thresholds.c2), c3=float(thresholds.c3), roles=roles)


def constants(config: RunConfig) -> dict[str, float | None]:
    """Return K1, K2, K2_exact and K3 at r_tot = 0 (arXiv:2602.20722, Eq. 11–13); `None` without thresholds."""
    method = config.method
    if not isinstance(method, BapoConfig):
        return {"K1": None, "K2": None, "K2_exact": None, "K3": None}
    values = theory_constants(
        group_size=config.rollout.group_size,
        c1=method.c1,
        c2=method.c2[0],
        c3=method.c3[0],
        filter_keeps_mixed_only=method.filter.type != "uniform",
    )
    return {"K1": values.k1, "K2": values.k2, "K2_exact": values.k2_exact, "K3": values.k3}
