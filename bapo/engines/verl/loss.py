"""Our objective as the loss function of verl's training workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from verl.utils.metric.utils import AggregationType, Metric

from bapo.config.objective import Objective
from bapo.critic import value_loss
from bapo.logprob_gap import GapSums, gap_sums
from bapo.losses import LossInputs, LossOutput, policy_loss, token_weights
from bapo.records import RATIO_BIN_EDGES
from bapo.rollout import BatchSource

SOURCES = tuple(BatchSource)
SOURCE_FIELD = "bapo_source"
"""Row field: position in SOURCES, or GIVEN."""
GIVEN = -1
"""Source of a demonstration, which no policy generated."""
ON_POLICY_FIELD = "bapo_on_policy"
"""Row field: whether the weights before the step's update generated the response."""
REFERENCE_FIELD = "reference_log_probs"
"""Row field: of the reference policy, where the objective needs it."""
CURRENT_FIELD = "current_log_probs"
"""Row field: of the policy before the step's update, where the objective needs it."""
NUM_TOKENS = "bapo_num_tokens"
"""Batch-level: response tokens of the whole mini-batch, over all ranks, those of skipped groups included."""
NUM_RESPONSES = "bapo_num_responses"
"""Batch-level: responses of the whole mini-batch, likewise."""
MEASURE_DISTANCE = "bapo_measure_distance"
"""Batch-level: whether the forward pass is one before the step's first update."""
SUPERVISED = "bapo_supervised"
"""Batch-level: whether the rows are demonstrations of a supervised step."""


@dataclass(frozen=True, slots=True)
class BapoLoss:
    """Called by verl for each micro-batch on each data-parallel rank; returns the loss and what is recorded.

    verl averages gradients over the ranks, so the loss, a share of the mini-batch's, is multiplied by their number.
    """

    objective: Objective

    def __call__(self, model_output: dict[str, Any], data: Any, dp_group: Any = None) -> tuple[Tensor, dict[str, Any]]:
        """Compute the loss from the nested `log_probs` and `entropy` over prompt and response tokens."""
        is_response, lengths = _response_tokens(data)
        logprobs = _at_responses(model_output["log_probs"], data)[is_response]
        if data[SUPERVISED]:
            loss = -logprobs.sum() / data[NUM_TOKENS]
            return loss * data["dp_size"], _summed({"loss": loss.detach()}, data["dp_size"])
        entropies = _at_responses(model_output["entropy"], data)[is_response]
        rollout_logprobs = data["rollout_log_probs"].values()[is_response]
        weights = token_weights(
            lengths, self.objective.aggregation, num_tokens=data[NUM_TOKENS], num_responses=data[NUM_RESPONSES]
        )
        sources = data[SOURCE_FIELD]
        output = policy_loss(
            LossInputs(
                policy_logprobs=logprobs,
                rollout_logprobs=rollout_logprobs,
                advantages=data["advantages"].values()[is_response],
                is_given=_is_given(sources, lengths) if self.objective.demonstration_shaping is not None else None,
                entropies=entropies,
                weights=weights.to(logprobs.device),
                lengths=lengths,
                **{name: data[field].values()[is_response] for name, field in logprob_fields(self.objective).items()},
            ),
            self.objective,
        )
        sums = recorded_sums(output)
        largest = {"ratio_largest": largest_ratio(output)}
        if data[MEASURE_DISTANCE]:
            log_ratios = (logprobs.detach() - rollout_logprobs).cpu()
            sums |= distance_sums(log_ratios, lengths, sources.tolist())
            gap = gap_on_policy(log_ratios, lengths, data[ON_POLICY_FIELD].tolist(), self.objective)
            sums |= recorded_gap(gap)
            largest["gap_largest"] = gap.largest
        metrics = _summed(sums, data["dp_size"])
        metrics |= {f"bapo/{name}": Metric(AggregationType.MAX, value) for name, value in largest.items()}
        return output.loss * data["dp_size"], metrics


@dataclass(frozen=True, slots=True)
class BapoValueLoss:
    """The critic's loss in the place of verl's: called and averaged over the ranks like the policy's."""

    value_clip: float

    def __call__(self, model_output: dict[str, Any], data: Any, dp_group: Any = None) -> tuple[Tensor, dict[str, Any]]:
        """Compute the loss from the nested `values` of `model_output` over prompt and response tokens."""
        is_response, _ = _response_tokens(data)
        values = _at_responses(model_output["values"], data)[is_response]
        output = value_loss(
            values,
            data["values"].values()[is_response],
            data["returns"].values()[is_response],
            torch.full_like(values, 1 / data[NUM_TOKENS], requires_grad=False),
            value_clip=self.value_clip,
        )
        sums = {"critic_loss": output.loss.detach(), "critic_clipped": output.is_clipped.double().sum()}
        return output.loss * data["dp_size"], _summed(sums, data["dp_size"])


def logprob_fields(objective: Objective) -> dict[str, str]:
    """Return the row fields that the objective reads besides `rollout_log_probs`, by their names in `LossInputs`."""
    fields = {}
    if objective.needs_reference:
        fields["reference_logprobs"] = REFERENCE_FIELD
    if objective.needs_current:
        fields["current_logprobs"] = CURRENT_FIELD
    return fields


def _summed(sums: Mapping[str, Any], dp_size: int) -> dict[str, Metric]:
    """Return sums over the mini-batch. verl adds up the micro-batches, and takes the mean over the ranks."""
    return {f"bapo/{name}": Metric(AggregationType.SUM, value * dp_size) for name, value in sums.items()}


def _is_given(sources: Tensor, lengths: Sequence[int]) -> Tensor:
    """Return which tokens are of demonstrations, from the sources and lengths of all rows."""
    return (sources == GIVEN).repeat_interleave(torch.tensor(lengths, device=sources.device))


def recorded_sums(output: LossOutput) -> dict[str, Any]:
    """Return the recorded statistics of one forward pass, as sums over its tokens."""
    bins = torch.bucketize(output.ratios, torch.tensor(RATIO_BIN_EDGES, device=output.ratios.device), right=True)
    counts = torch.bincount(bins, minlength=len(RATIO_BIN_EDGES) + 1).tolist()
    further: dict[str, Any] = {}
    if output.reference_kl is not None:
        further["reference_kl"] = output.reference_kl.double().sum()
    if (given := output.demonstrations) is not None:
        further |= {
            "given_tokens": float(len(given.losses)),
            "given_loss": given.losses.double().sum(),
            "given_probability": given.probabilities.double().sum(),
        }
    return {
        **further,
        "loss": output.loss.detach(),
        "tokens": float(len(output.ratios)),
        "entropy": output.entropies.double().sum(),
        "kl": output.kl.double().sum(),
        "clipped": output.is_clipped.double().sum(),
        "ratio": output.ratios.double().sum(),
        "ratio_squares": output.ratios.double().square().sum(),
        **{f"bin_{index}": float(count) for index, count in enumerate(counts)},
    }


def largest_ratio(output: LossOutput) -> float:
    """Return the largest ratio; 0 without tokens."""
    return float(output.ratios.max()) if len(output.ratios) else 0.0


def distance_sums(log_ratios: Tensor, lengths: list[int], sources: list[int]) -> dict[str, float]:
    """Return sums and counts of |ρ - 1| over tokens and over whole responses, per source (Theorem 3.2)."""
    sums: dict[str, float] = {}
    parts = torch.split(log_ratios, lengths)
    for index, source in enumerate(SOURCES):
        own = [part for part, position in zip(parts, sources, strict=True) if position == index and len(part)]
        tokens = torch.cat(own) if own else torch.empty(0)
        sequences = torch.stack([part.sum() for part in own]) if own else torch.empty(0)
        for name, values in (("token", tokens), ("sequence", sequences)):
            distances = values.double().clamp(-20, 20).expm1().abs()
            sums[f"tv_{name}_sum_{source}"] = float(distances.sum())
            sums[f"tv_{name}_count_{source}"] = float(len(distances))
    return sums


def gap_on_policy(
    log_ratios: Tensor, lengths: Sequence[int], is_on_policy: Sequence[bool], objective: Objective
) -> GapSums:
    """Return the gap between vLLM and the training processes over rows that the weights before the update generated.

    Ratios of whole responses are to log-probabilities of the training processes, which show none.
    """
    if objective.ratio_level == "sequence":
        return GapSums()
    parts = torch.split(log_ratios, list(lengths))
    own = [part for part, is_own in zip(parts, is_on_policy, strict=True) if is_own]
    return gap_sums(torch.cat(own), [len(part) for part in own], objective) if own else GapSums()


def recorded_gap(gap: GapSums) -> dict[str, float]:
    """Return the sums that add up over the parts of a mini-batch."""
    return {
        "gap_tokens": float(gap.num_tokens),
        "gap_total": gap.total,
        "gap_outside": float(gap.num_outside),
    }


def _response_tokens(data: Any) -> tuple[Tensor, list[int]]:
    """Return the mask of the response tokens that the model wrote, over all rows [tokens], and their number in each
    row.

    A tool's output and verl's padding rows have mask 0.
    """
    mask = data["response_mask"]
    is_response = mask.values().bool()
    lengths = [int(part.sum()) for part in torch.split(is_response, mask.offsets().diff().tolist())]
    return is_response, lengths


def _at_responses(values: Any, data: Any) -> Tensor:
    """Return the parts of a nested tensor over prompt and response tokens that predict the response tokens [tokens]."""
    flat = values.values()
    ends = values.offsets()[1:].tolist()
    lengths = data["responses"].offsets().diff().tolist()
    # The value that predicts a token is at the token before it.
    return torch.cat([flat[end - length - 1 : end - 1] for end, length in zip(ends, lengths, strict=True)])
