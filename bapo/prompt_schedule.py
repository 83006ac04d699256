"""Decides which prompts are rolled out when: one shuffled pass over the training problems per epoch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bapo.draws import generator
from bapo.tasks.base import Problem


class PromptSchedule:
    """The fresh prompts of every step, a function of the seed alone; an epoch's last, smaller batch is used."""

    def __init__(self, problems: Sequence[Problem], *, batch_size: int, seed: int) -> None:
        self._problems = problems
        self._batch_size = batch_size
        self._seed = seed
        self._epoch: int | None = None
        self._order: list[int] = []

    @property
    def problems(self) -> Sequence[Problem]:
        """All training problems."""
        return self._problems

    @property
    def steps_per_epoch(self) -> int:
        """Batches in one pass."""
        return math.ceil(len(self._problems) / self._batch_size)

    def epoch_of(self, step: int) -> int:
        """Epoch from 0 of a step from 1."""
        return (step - 1) // self.steps_per_epoch

    def batch(self, step: int) -> Sequence[Problem]:
        """The prompts that are rolled out in this step."""
        epoch = self.epoch_of(step)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, list(range(len(self._problems)))
            generator(self._seed, epoch, "epoch").shuffle(self._order)
        start = ((step - 1) % self.steps_per_epoch) * self._batch_size
        return [self._problems[index] for index in self._order[start : start + self._batch_size]]
