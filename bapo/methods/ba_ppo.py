"""BA-PPO: batch adaptation on PPO with a critic (arXiv:2602.20722, A.9)."""

from __future__ import annotations

from typing import ClassVar, Literal

from bapo.config.method import ActorCritic, Look
from bapo.methods.bapo import Bapo, BapoConfig


class BaPpoConfig(ActorCritic, BapoConfig):
    """BA-PPO: BAPO's batches with the advantages of a critic (arXiv:2602.20722, A.9)."""

    label: ClassVar = "BA-PPO"
    look: ClassVar = Look(8, "dashdot", "circle-dot")
    ablation_looks: ClassVar = {}
    # Its checkpoints hold a critic besides.
    state_family: ClassVar = None

    type: Literal["ba_ppo"] = "ba_ppo"  # type: ignore[assignment]


class BaPpo(Bapo):
    """BAPO's batches."""

    config_class: ClassVar = BaPpoConfig
