"""PPO (arXiv:1707.06347) on verified rewards: GRPO's batches, with the advantages of a critic."""

from __future__ import annotations

from bapo.config.method import PpoConfig
from bapo.config.run import RunConfig
from bapo.methods.grpo import Grpo


class Ppo(Grpo):
    """Trains on every fresh group, `epochs` times; those with equal rewards have a gradient too."""

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        assert isinstance(config.method, PpoConfig)
        self._num_passes = config.method.epochs

    def num_passes(self, step: int) -> int:
        return self._num_passes
