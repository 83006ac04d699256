"""A run of another trainer, known from its records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bapo.config.method import MethodSection
from bapo.methods.lines import Rule
from bapo.methods.plain import PlainMethod

Name = Annotated[str, Field(max_length=200)]
Scalar = bool | int | float | Annotated[str, Field(max_length=10_000)] | None
"""A value of the trainer's own config."""


class ObservedConfig(MethodSection):
    """Any trainer's run, observed: its prompts, rewards and metrics are recorded, its algorithm is its own."""

    label: ClassVar = "Observed"
    is_trainable: ClassVar = False
    # A batch is its step's groups: what other methods would have made of them can be forecast.
    is_replayable: ClassVar = True

    type: Literal["observed"] = "observed"
    trainer: Name = ""
    """Trainer that made the run, such as TRL."""
    trainer_version: Name = ""
    """Version of the trainer."""
    reward_threshold: float = 0.0
    """A response counts as correct where its reward is above this."""
    config: Mapping[Annotated[str, Field(min_length=1, max_length=200)], Scalar] = Field({}, max_length=5_000)
    """The trainer's own config, field by field."""


class Observed(PlainMethod):
    """Explains the steps of such a run, as far as its trainer reported them; it makes no batches."""

    config_class: ClassVar = ObservedConfig
    rolls_out: ClassVar[Rule] = Rule(
        "The trainer answers the prompts of the step.",
        "A response counts as right where its reward is above the run's threshold.",
    )
    chooses: ClassVar[Rule] = Rule(
        "The trainer chooses what it trains on.", "Its rule is not recorded; what it trained on is."
    )
    updates: ClassVar[Rule] = Rule(
        "The trainer updates its policy.", "How it does is its own; what it logged is in the charts."
    )
