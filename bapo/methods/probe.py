"""The probe: rolls out prompts with the base model; the last step trains on its groups."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.config.method import ProbeConfig
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.plain import PlainMethod
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem


class Probe(PlainMethod):
    """Answers the scheduled prompts. Every group but those of the last step is left out as `probed`."""

    def __init__(self, config: RunConfig) -> None:
        super().__init__()
        self.reconfigure(config)

    def reconfigure(self, config: RunConfig) -> None:
        assert config.training.steps is not None, "ProbeConfig.check"
        self._last_step = config.training.steps
        self._batch_size = config.training.batch_size
        assert isinstance(config.method, ProbeConfig)
        self._num_problems = config.method.num_problems
        self._prompts_per_step = config.rollout.batch_size

    def syncs_rollout_policy(self, step: int) -> bool:
        # No step but the last one changes the weights.
        return False

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        if self._num_problems is None:
            return scheduled
        return scheduled[: max(1, self._num_problems - (step - 1) * self._prompts_per_step)]

    def compose(self, step: int, reevaluated: Sequence[RolloutGroup]) -> ComposedBatch:
        composition = Composition(self._batch_size)
        for group in self._fresh:
            if step == self._last_step:
                composition.train_on_fresh(group)
            else:
                composition.leave_out(group, BatchSource.FRESH, "probed")
        return composition.result(self._fresh, reevaluated)
