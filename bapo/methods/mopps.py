"""MoPPS (arXiv:2507.04632): prompts are chosen by a success rate that is predicted before anything is generated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from bapo.config.method import Look, MethodSection
from bapo.config.run import RunConfig
from bapo.draws import generator
from bapo.methods.grpo import Grpo
from bapo.methods.lines import Rule
from bapo.posterior import SuccessRates
from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem


class MoppsConfig(MethodSection):
    """MoPPS: GRPO on the prompts whose success rate, drawn from a Beta posterior, is nearest a target (2507.04632)."""

    label: ClassVar = "MoPPS"
    look: ClassVar = Look(6, "solid", "hexagon")
    aggregation: ClassVar = "response-mean"
    is_on_policy: ClassVar = True
    chooses_prompts: ClassVar = True

    type: Literal["mopps"] = "mopps"
    target_accuracy: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """γ*: success rate that the chosen prompts should have."""
    candidates: Annotated[int, Field(ge=1, le=1000)] = 8
    """Prompts drawn at random for each one that is rolled out."""
    decay: Annotated[float, Field(ge=0, le=1)] = 0.5
    """λ: weight of a prompt's earlier counts when it is answered again; 1 keeps all counts, 0 forgets them."""
    prior_strength: Annotated[float, Field(gt=0, le=1000)] = 1.0
    """α⁰ = β⁰, both parameters of the Beta prior of a prompt; 1 is uniform."""


class Mopps(Grpo):
    """GRPO on the candidates whose success rate, drawn from its posterior, is nearest the target (Thompson sampling).

    γ̂_τ ~ Beta(α_τ, β_τ) for each of B̂ candidates τ, drawn at each step from all training problems; the B of them with
    the least (γ̂_τ - γ*)² are rolled out. B is the size of the scheduled batch, so that a run generates as
    many responses as with GRPO.
    """

    config_class: ClassVar = MoppsConfig
    _method: MoppsConfig
    rolls_out: ClassVar[Rule] = Rule(
        "Draw a success rate for each candidate prompt, and roll out those nearest the target.",
        "What is known of a prompt's earlier answers tells, before a rollout is paid, whether it can teach.",
    )

    def __init__(self, config: RunConfig) -> None:
        self._rates = SuccessRates()
        super().__init__(config)

    def choose_prompts(self, step: int, scheduled: Sequence[Problem], pool: Sequence[Problem]) -> Sequence[Problem]:
        num_candidates = min(len(pool), self._method.candidates * len(scheduled))
        candidates = generator(self._seed, step, "candidates").sample(pool, num_candidates)
        random = generator(self._seed, step, "success_rates")
        prior, target = self._method.prior_strength, self._method.target_accuracy
        # A stable sort: candidates at the same distance keep their random order.
        ranked = sorted(
            (abs(self._rates.draw(problem.prompt_id, prior, random) - target), place)
            for place, problem in enumerate(candidates)
        )
        return [candidates[place] for _, place in ranked[: len(scheduled)]]

    def observe_fresh(self, step: int, fresh: Sequence[RolloutGroup]) -> None:
        super().observe_fresh(step, fresh)
        for group in fresh:
            self._rates.observe(group, decay=self._method.decay, prior=self._method.prior_strength)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "success_rates": self._rates.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], payloads: Sequence[object]) -> None:
        super().load_state_dict(state, payloads)
        self._rates.load_state_dict(state["success_rates"])
