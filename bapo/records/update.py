"""Statistics of one update, as an engine reports them and as the journal holds them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from bapo.records.base import BySource, Counts, Figures, Record
from bapo.records.metric import Metric


class CriticStats(Record):
    """Statistics of the critic's update; means run over the tokens of the whole batch."""

    loss: Annotated[float, Metric("vf_loss", "Critic: value loss", "value loss", tab="overview", only="has_critic")]
    """Half the mean squared error of the values, with values held near the old ones; mean over the mini-batches."""
    explained_variance: Annotated[
        float | None,
        Metric(
            "vf_explained_var",
            "Critic: explained variance",
            "share of variance",
            tab="overview",
            only="has_critic",
            is_signed=True,
        ),
    ]
    """Share of the variance of the returns that the values predicted before the update, 1 - Var(R - V) / Var(R): 1 is
    all, 0 is what one number for all tokens would do, below 0 is worse. `None` if all returns are equal."""
    value_mean: Annotated[float, Metric("values/mean")]
    """Mean value V before the update."""
    return_mean: Annotated[float, Metric("returns/mean")]
    """Mean return R, which the values are trained towards."""
    grad_norm: Annotated[float, Metric("grad_norm", "Critic: gradient norm", "norm", tab="overview", only="has_critic")]
    """Norm of the critic's gradient before it is scaled down to training.max_grad_norm; mean over the mini-batches."""
    clip_fraction: Annotated[
        float, Metric("vf_clipfrac", "Critic: clipped values", "share of tokens", tab="overview", only="has_critic")
    ]
    """Share of tokens whose value had moved further than method.critic.value_clip within the step, so that they gave no
    gradient. With one pass and one mini-batch it is 0."""
    learning_rate: Annotated[float, Metric("lr")]
    """Learning rate of the critic."""


class LogprobGap(Record):
    """Distance between the implementation that generates and the one that trains, on the same weights.

    Δ is the difference of their log-probabilities of a token. Measured on tokens that the weights before the update
    generated, so that it holds no staleness.
    """

    mean: float
    """mean|Δ|, nats per token."""
    max: float
    """Largest |Δ|, nats."""
    outside_clip_range: float
    """Share of the tokens whose ratio leaves the clip range by Δ alone."""
    num_tokens: int
    """Number of tokens measured."""


class BoundTerms(Record):
    """Terms of the policy improvement bound after an update, per source (arXiv:2602.20722, Theorem 3.2).

    Means over the groups with a gradient, estimated over whole responses by their ratios to the policy α that generated
    them.
    """

    improvement: Annotated[BySource, Metric("improvement/")]
    """J(π_θ) - J(π_θt), by which the update raised the expected reward."""
    surrogate: Annotated[BySource, Metric("surrogate/")]
    """L_α(π_θ) = E_α[ρ·Â], the objective without clipping."""
    tv_sequences: Annotated[BySource, Metric("tv/")]
    """TV(π_θ, α); that of the policy before the update is `tv_sequences` of the update."""


class DemonstrationStats(Record):
    """Demonstrations in the batch of an update; means run over their tokens."""

    num_responses: Annotated[
        int,
        Metric(
            "num_responses",
            "Demonstrations",
            "responses",
            "How much of the batch was given?",
            tab="batch",
            only_recorded=True,
        ),
    ]
    """Worked solutions trained on with the groups of their prompts."""
    loss: Annotated[
        float,
        Metric("loss", "Demonstrations: loss", "loss per token", tab="off-policy", is_signed=True, only_recorded=True),
    ]
    """Mean of -Â·π/(π + γ), their part of the loss."""
    probability: Annotated[
        float,
        Metric(
            "probability",
            "Demonstrations: probability",
            "mean per token",
            "Does the policy adopt them?",
            tab="off-policy",
            is_share=True,
            only_recorded=True,
        ),
    ]
    """Mean probability π_θ of their tokens."""


class SupervisedStats(Record):
    """Statistics of a supervised step on demonstrations."""

    num_responses: Annotated[
        int,
        Metric(
            "num_responses",
            "Supervised step",
            "responses",
            "When does it learn from worked solutions?",
            tab="batch",
            only_recorded=True,
        ),
    ]
    """Worked solutions trained on; steps without a supervised step have no value."""
    loss: Annotated[
        float, Metric("loss", "Supervised step: loss", "nats per token", tab="overview", only_recorded=True)
    ]
    """Cross-entropy before the step, mean over the tokens."""
    grad_norm: Annotated[
        float, Metric("grad_norm", "Supervised step: gradient norm", "norm", tab="overview", only_recorded=True)
    ]
    """Norm of the gradient before it is scaled down to training.max_grad_norm."""


class UpdateStats(Record):
    """Statistics of the policy's update in one step; token means run over the tokens of the loss."""

    loss: Annotated[float, Metric("actor/pg_loss")]
    """Policy loss, mean over the mini-batches."""
    entropy: Annotated[
        float, Metric("actor/entropy", "Policy entropy", "nats per token", "Does it still explore?", tab="overview")
    ]
    """Mean entropy per response token. A collapse towards 0 means that the policy no longer explores."""
    grad_norm: Annotated[float, Metric("actor/grad_norm", "Gradient norm", "norm", tab="overview")]
    """Norm of the gradient before it is scaled down to training.max_grad_norm; mean over the mini-batches."""
    kl: Annotated[
        float,
        Metric(
            "actor/ppo_kl",
            "KL to the behaviour policy",
            "nats per token",
            "How far does the policy move?",
            tab="overview",
            is_signed=True,
        ),
    ]
    """Distance of the trained policy from the policies that generated its batch, KL(π_θ ‖ behaviour policy)."""
    reference_kl: Annotated[
        float | None,
        Metric(
            "actor/kl_loss",
            "KL to the reference policy",
            "nats per token",
            "How far is it from where it began?",
            tab="off-policy",
            is_signed=True,
            only_recorded=True,
        ),
    ] = None
    """Distance of the trained policy from the model that the run started with, KL(π_θ ‖ reference policy). Measured
    where the loss has a penalty on it (loss.kl_to)."""
    clip_fraction: Annotated[float, Metric("actor/pg_clipfrac", "Clipped tokens", "share of tokens", is_share=True)]
    """Share of the tokens whose policy gradient clipping took away; with one ratio per response (GSPO), tokens of
    clipped responses."""
    ratio_mean: Annotated[float, Metric("bapo/ratio/mean")]
    """Mean over the tokens. Where the loss takes one ratio per response (GSPO), each token counts with its response's
    (π_θ(y) / b(y))^(1/|y|), here and in the next two fields; `kl` and `tv_tokens` remain those of the token itself."""
    ratio_max: Annotated[float, Metric("bapo/ratio/max")]
    """Largest ratio of a token."""
    effective_sample_share: Annotated[
        float | None,
        Metric(
            "bapo/ratio/effective_sample_share",
            "Effective sample size",
            "share of tokens",
            "How much of the batch still counts?",
            tab="off-policy",
            is_share=True,
        ),
    ] = None
    """Effective sample size of the importance weights, (Σρ)² / (n·Σρ²) over the n tokens (Kong, 1992): 1 on-policy, and
    lower the more a few tokens outweigh the others. `None` in runs recorded before version 0.3."""
    ratio_histogram: Counts
    """Tokens per bin of `RATIO_BIN_EDGES`."""
    num_mini_batches: Annotated[int, Metric("bapo/update/num_mini_batches")]
    num_tokens: Annotated[int, Metric("bapo/update/num_tokens")]
    num_groups_skipped: Annotated[int, Metric("bapo/update/num_groups_skipped")]
    """Groups left out of forward and backward because their gradient is exactly zero."""
    learning_rate: Annotated[float, Metric("actor/lr")]
    """Learning rate of the policy."""
    tv_tokens: Annotated[BySource, Metric("bapo/tv/tokens/")] = {}
    """½·mean|ρ - 1| over tokens before the update, per source present (Theorem 3.2)."""
    tv_sequences: Annotated[BySource, Metric("bapo/tv/sequences/")] = {}
    """½·mean|ρ - 1| over whole responses before the update, per source present."""
    critic: Annotated[CriticStats | None, Metric("critic/")] = None
    """`None` if the method has no critic. In its warm-up the policy stays as it is: `grad_norm` above is 0."""
    logprob_gap: Annotated[LogprobGap | None, Metric("bapo/logprob_gap/")] = None
    """Measured where no forward pass is needed for it: on groups that `BatchItem.is_on_policy`. `None` if no token was
    generated by the weights before the update."""
    demonstrations: Annotated[DemonstrationStats | None, Metric("bapo/demonstrations/")] = None
    """`None` if the batch held no demonstration. All other means of the update leave their tokens out."""
    bound: Annotated[BoundTerms | None, Metric("bapo/bound/")] = None
    """`None` in steps in which it was not measured."""
    timing: SkipJsonSchema[Figures] = Field(default={}, exclude=True)
    """Seconds of the engine's own phases within the call; the journal holds them in the step's `timing`."""


def effective_sample_share(num_tokens: int, ratio_sum: float, ratio_square_sum: float) -> float:
    """Return (Σρ)² / (n·Σρ²), the effective sample size of n importance weights as a share of n; 1 without tokens."""
    return ratio_sum**2 / (num_tokens * ratio_square_sum) if ratio_square_sum else 1.0
