"""GSPO (arXiv:2507.18071): batches as GRPO makes them; what differs is the loss.

The ratio of every token is its response's, s = (π_θ(y|x) / b(y|x))^(1/|y|) (Eq. 7), see `bapo.losses.policy_loss`.
`GspoConfig` gives the method that ratio, its clip range and the mean over responses (Eq. 5).
"""

from __future__ import annotations

from bapo.methods.grpo import Grpo


class Gspo(Grpo):
    """Trains once on every fresh group."""
