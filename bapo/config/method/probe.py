"""The probe: what a model makes of a data set, before a run is paid for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bapo.config.method.base import Look, MethodSection, RunSections

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
            raise ValueError(
                "training.epochs|a probe's length is given in steps: set training.steps, leave training.epochs empty"
            )


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
