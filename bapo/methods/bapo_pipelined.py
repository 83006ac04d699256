"""BAPO with rollouts of the window before: another schedule than Algorithm 1 of arXiv:2602.20722, and ours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from bapo.config.errors import ConfigProblem, broken_rule
from bapo.config.method import Look, RunSections, StepInterval
from bapo.config.run import RunConfig
from bapo.methods.bapo import Bapo, BapoConfig
from bapo.methods.bapo_lines import bapo_lines
from bapo.methods.lines import Line, Rule, WalkedStep, sync_line

SYNC = Rule(
    "Every v/2 steps, the rollout policy α takes the trained weights, and answers the prompts of the next window.",
    "Generation need not wait for training; the price is that fresh responses are v/2 to v - 1 steps old.",
)
LONGEST_V = 32
"""Beyond it two windows of responses would wait in memory."""


class BapoPipelinedConfig(BapoConfig):
    """BAPO that trains on rollouts of the window before, so that generation need not wait for training."""

    label: ClassVar = "BAPO (pipelined)"
    look: ClassVar = Look(17, "dashdot", "hexagon-open")
    ablation_looks: ClassVar = {}
    is_replayable: ClassVar = False
    is_pipelined: ClassVar = True
    # Its checkpoints hold responses of an α that is gone.
    state_family: ClassVar = None

    type: Literal["bapo_pipelined"] = "bapo_pipelined"  # type: ignore[assignment]
    v: StepInterval = 6
    """Bound of the staleness, even: α takes the trained weights every v/2 steps, and what it generates is trained on
    v/2 to v - 1 updates later."""

    def check(self, config: RunSections) -> None:
        super().check(config)
        if self.v % 2 or self.v > LONGEST_V:
            raise broken_rule(
                "method.v", f"a window is v/2 steps: give an even number from 2 to {LONGEST_V}, such as 6"
            )

    def warnings(self, config: RunSections) -> Iterable[ConfigProblem]:
        yield from super().warnings(config)
        remedy = (
            "another schedule than Algorithm 1: fresh responses are v/2 to v - 1 updates old, where bapo's are 0 to "
            "v - 1; "
        )
        faster = "choose bapo for the paper's schedule"
        if config.rollout.ahead != "overlap":
            faster = "only rollout.ahead=overlap makes it faster, else " + faster
        yield ConfigProblem("method.type", self.type, remedy + faster)


class BapoPipelined(Bapo):
    """BAPO's batches, with α synchronised every v/2 steps; `bapo.run.look_ahead` generates a window ahead."""

    config_class: ClassVar = BapoPipelinedConfig

    def reconfigure(self, config: RunConfig) -> None:
        super().reconfigure(config)
        self._sync_interval = self._method.v // 2

    def lines(self, step: WalkedStep) -> Sequence[Line]:
        _, *others = bapo_lines(step, self._method)
        return [sync_line(step, SYNC, "3–5"), *others]
