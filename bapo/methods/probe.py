"""The probe: rolls out prompts with the base model, before a run is paid for; the last step trains on its groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bapo.config.errors import broken_rule
from bapo.config.method import Look, MethodSection, RunSections
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch
from bapo.methods.composition import Composition
from bapo.methods.plain import PlainMethod
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem

NUM_PROBLEMS = 256
"""Default number of problems that a probe answers: a share of 1/2 is known to within 6 points."""


class ProbeConfig(MethodSection):
    """Probe: the base model answers fresh prompts; only the last step trains, to measure an update."""

    label: ClassVar = "Probe"
    look: ClassVar = Look(14, "dot", "cross")
    is_replayable: ClassVar = True
    is_unmeasured: ClassVar = True

    type: Literal["probe"] = "probe"
    num_problems: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """Problems to answer: the last step answers what the others leave. Empty: a whole batch in each step."""
    planned_steps: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Training steps of the planned run: a clone with the probe's suggestions has that many."""
    planned_epochs: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Epochs of the planned run, if its length is given in epochs."""

    def check(self, config: RunSections) -> None:
        if config.training.steps is None:
            raise broken_rule(
                "training.epochs", "a probe's length is given in steps: set training.steps, leave training.epochs empty"
            )


class Probe(PlainMethod):
    """Answers the scheduled prompts. Every group but those of the last step is left out as `probed`."""

    config_class: ClassVar = ProbeConfig

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        assert config.training.steps is not None, "ProbeConfig.check"
        self._last_step = config.training.steps
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


def probe_changes(config: Mapping[str, Any], num_problems: int = NUM_PROBLEMS) -> dict[str, Any]:
    """Return the changes that turn a complete run config into a probe of its model and data, in dotted fields.

    The steps are as many as `num_problems` problems take; all else stays, for the run that comes after.
    """
    training = config["training"]
    return {
        "method.type": ProbeConfig.type_name(),
        "method.num_problems": num_problems,
        "method.planned_steps": training["steps"],
        "method.planned_epochs": training["epochs"],
        "training.steps": max(1, math.ceil(num_problems / int(config["rollout"]["batch_size"]))),
        "training.epochs": None,
    }
