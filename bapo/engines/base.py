"""The protocol of an engine: two policies to generate with, one update, state to save.

`bapo.engines.local` implements it in one process or two, `bapo.engines.verl` on Ray, FSDP and vLLM.
No tensor passes through this protocol: a group's payload is opaque to the loop.

**Critic.** Where `RunConfig.critic` is set (PPO, BA-PPO), an engine keeps a value model besides the policy: the base
model with a head of one number in place of the vocabulary's, and a separate optimizer. One call of `update`

1. takes V(s_t) of every response token from the critic as it is now, whatever policy generated the response and however
   old it is; the value of a token is that of the state before it (prompt and earlier tokens);
2. makes advantages and returns of them with `bapo.critic.generalized_advantages`: the response's reward, 0 or 1,
   belongs to its last token, and nothing is bootstrapped behind it; the advantages are `whitened` over all tokens of
   X1 ∪ X2 ∪ X3;
3. trains the critic on the step's mini-batches and passes with `bapo.critic.value_loss`, mean over the mini-batch's
   tokens, clipped around the values of 1, towards the returns of 2: both stay as they are through all passes;
4. trains the policy on the same mini-batches and passes with the advantages of 2, and the ratio to each group's own
   behaviour policy as ever, except in steps up to `critic.warmup_steps`: in those it does not move at all, nor does
   its optimizer, and the statistics tell one pass over the batch with a `grad_norm` of 0.

Groups of equal rewards have a gradient here. `BatchItem.advantages` is None in all of them. The statistics are
`UpdateStats.critic`. `save` and `load` keep the critic's weights and its optimizer, so that a resumed run equals an
undisturbed one. Weight decay, bound of the gradient norm, sizes of mini- and micro-batches are those of `training`.

**Demonstrations.** Where `MethodSection.needs_demonstrations` is set, an engine verifies and encodes the worked
solutions of the training problems when it is built, and marks each group whose prompt has one with
`has_demonstration`. `update` trains on a demonstration as one more response of its group where
`BatchItem.demonstration` is set; `supervise` learns from demonstrations alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from bapo.records import SegmentStats, Span, SupervisedStats, UpdateStats
from bapo.rollout import BatchSource, RolloutGroup
from bapo.tasks.base import Problem

TRAINED_PURPOSES = frozenset({"rollout", "reevaluation"})
"""Purposes of responses that may be trained on, up to a colon."""


class Policy(StrEnum):
    """The weights that generate."""

    ROLLOUT = "rollout"
    """α, the delayed weights."""
    CURRENT = "current"
    """π_θ after the last completed step."""


@dataclass(frozen=True, slots=True)
class GenerationStats:
    """Cost and shape of one call of `generate`."""

    num_tokens: int
    """Sampled response tokens, the end token included."""
    response_length_mean: float
    """Tokens."""
    response_length_max: int
    response_clip_ratio: float
    """Share of responses cut, at the token limit or because they repeated themselves."""
    response_repetition_ratio: float | None = None
    """Share of responses cut because they repeated themselves; None without `rollout.repetition_tokens`."""
    timing: Mapping[str, float] = field(default_factory=dict)
    """Seconds of the engine's own phases within the call, by name such as `verl/update_weights`."""
    segments: SegmentStats | None = None
    """Responses that the call continued and left unfinished, with `rollout.max_segment_tokens`."""
    spans: Sequence[Span] = ()
    """When the engine waited, and when another process worked for this call."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The groups of one call, in the order of the prompts asked for."""

    groups: Sequence[RolloutGroup]
    stats: GenerationStats


def joined(rounds: Sequence[Generation]) -> Generation:
    """Join several calls of one step."""
    if len(rounds) == 1:
        return rounds[0]
    num_responses = [sum(group.group_size for group in each.groups) for each in rounds]

    def mean(values: Sequence[float]) -> float:
        return sum(value * number for value, number in zip(values, num_responses, strict=True)) / sum(num_responses)

    stats = [each.stats for each in rounds]
    return Generation(
        [group for each in rounds for group in each.groups],
        GenerationStats(
            num_tokens=sum(each.num_tokens for each in stats),
            response_length_mean=mean([each.response_length_mean for each in stats]),
            response_length_max=max(each.response_length_max for each in stats),
            response_clip_ratio=mean([each.response_clip_ratio for each in stats]),
            response_repetition_ratio=(
                None
                if stats[0].response_repetition_ratio is None
                else mean([each.response_repetition_ratio or 0.0 for each in stats])
            ),
            timing={
                name: sum(each.timing.get(name, 0.0) for each in stats)
                for name in dict.fromkeys(name for each in stats for name in each.timing)
            },
            spans=[span for each in stats for span in each.spans],
        ),
    )


@dataclass(frozen=True, slots=True)
class ResponseSample:
    """One response as text, for `samples.jsonl` and for evaluation."""

    text: str
    reward: int
    num_tokens: int
    logprob_sum: float
    """Natural log of the behaviour policy's probability of the whole response."""


@dataclass(frozen=True, slots=True)
class BatchItem:
    """A group of the training batch with its source."""

    group: RolloutGroup
    source: BatchSource
    responses: tuple[int, ...] | None = None
    """Positions of the responses trained on; None for all."""
    advantages: tuple[float, ...] | None = None
    """Â of each response trained on; None where they follow from these responses' rewards (Eq. 2), or the critic."""
    demonstration: float | None = None
    """Â of the prompt's demonstration, which is trained on with the group; None: it is not."""

    @property
    def num_responses(self) -> int:
        """Responses trained on."""
        return self.group.group_size if self.responses is None else len(self.responses)

    def is_on_policy(self, step: int) -> bool:
        """Return whether the weights before the update of this step generated it."""
        return self.group.policy_version == step - 1


class LoopEngine(Protocol):
    """One model in training and its delayed copy α, as Algorithm 1 calls them."""

    def sync_rollout_policy(self, version: int) -> None:
        """Set α ← current weights, known as policy version `version` (Algorithm 1, line 4)."""

    def generate(
        self, problems: Sequence[Problem], *, group_size: int, policy: Policy, step: int, purpose: str
    ) -> Generation:
        """Answer each problem `group_size` times and verify the answers (lines 6, 7 and 14).

        `purpose` ("rollout", "reevaluation", "tracking", …) keys the random draws together with seed and step, so
        that a call draws the same whatever was drawn before. After a call with `Policy.CURRENT`, α is unchanged,
        bit for bit. With `rollout.max_segment_tokens`, a call for fresh prompts begins responses to these and continues
        unfinished ones; it returns the groups that are complete, whichever step began them.
        """

    def update(self, batch: Sequence[BatchItem], *, step: int, passes: int = 1) -> UpdateStats:
        """Train on X1 ∪ X2 ∪ X3 (line 18), the whole of it `passes` times.

        Raises ValueError on an empty batch: the loop skips those.
        """

    def supervise(self, prompt_ids: Sequence[str], *, step: int) -> SupervisedStats:
        """Take one optimizer step on the cross-entropy of these prompts' demonstrations, after the update."""


@dataclass(frozen=True, slots=True)
class DemonstrationCounts:
    """The training problems by whether a method can learn from their worked solutions."""

    num_usable: int
    num_missing: int
    """Problems without a worked solution."""
    num_rejected: int
    """Worked solutions that the verifier rejects."""
    num_too_long: int
    """Right ones longer than `rollout.max_response_tokens`."""

    def __str__(self) -> str:
        return (
            f"{self.num_usable:,} problems have a demonstration; {self.num_missing:,} have no worked solution, the "
            f"verifier rejects those of {self.num_rejected:,}, and {self.num_too_long:,} are longer than "
            "rollout.max_response_tokens"
        )


class Engine(LoopEngine, Protocol):
    """The engine of a whole run."""

    def demonstrations(self) -> DemonstrationCounts | None:
        """Return what became of the worked solutions; None where the method needs none."""

    def generate_ahead(self, batches: Mapping[int, Sequence[Problem]], *, group_size: int) -> Mapping[int, Generation]:
        """Answer the fresh prompts of several steps with α; return the groups of each step.

        The draws are those of the purpose "rollout" in each step. The timing of a call belongs to the first step. An
        engine that generates while it trains waits for a step's groups where they are taken, each once and before the
        next call or synchronisation.
        """

    def responses(self, group: RolloutGroup) -> Sequence[ResponseSample]:
        """Return the group's responses as text."""

    def greedy(self, problems: Sequence[Problem]) -> Sequence[int]:
        """Return the reward (0 or 1) of each problem's greedy answer under the current weights."""

    def save(self, folder: Path, groups: Sequence[RolloutGroup]) -> None:
        """Write model, optimizer, α, random states and the payloads of the buffers' groups into an empty folder."""

    def load(self, folder: Path) -> Sequence[object]:
        """Restore what `save` wrote; return the groups' payloads in the order in which they were given."""

    def utilisation(self) -> Mapping[str, float]:
        """Return memory and load of this engine's processes and devices, for the records' `system` section."""

    def close(self) -> None:
        """End the engine's processes and free its devices; nothing else is called afterwards."""
