"""The sections of a run's config that every method and every task has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from bapo.config.section import ModelFolder, Section


class ModelConfig(Section):
    """The base model."""

    path: ModelFolder = "countdown-base"
    """Folder of a Hugging Face causal language model with its tokenizer, or the name of a model: one shipped with BAPO,
    or one of `bapo model list`, which the machine that trains fetches where it is missing."""


MAX_GROUP_SIZE = 1024
MAX_SEGMENTS = 16
"""Most steps over which a partial rollout may extend: its first segment is as much staler than without."""


Ahead = Literal["off", "window", "overlap"]


class RolloutConfig(Section):
    """Generation of responses."""

    group_size: Annotated[int, Field(ge=2, le=MAX_GROUP_SIZE)] = 8
    """Group size G: responses per prompt."""
    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 32
    """Fresh prompts rolled out per step."""
    temperature: Annotated[float, Field(gt=0, le=10)] = 1.0
    """Sampling temperature."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Nucleus sampling: smallest set of tokens with this probability mass; 1 samples from all."""
    top_k: Annotated[int, Field(ge=-1, le=1_000_000)] = -1
    """Sample from the k most probable tokens only; -1 samples from all."""
    max_prompt_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 64
    """Longest prompt in tokens; loading data with a longer one fails."""
    max_response_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 16
    """Length in tokens at which a response is cut."""
    max_segment_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Partial rollouts: tokens of a fresh response that one step generates; what has not ended then is continued in the
    next step by the rollout policy of that step, and its group is trained on when all of its responses are done. Empty:
    each step waits for its longest response."""
    repetition_tokens: Annotated[int, Field(ge=2, le=4096)] | None = None
    """Repetition stop: a response ends once its last so many tokens repeat one sequence at least `repetition_count`
    times; like one cut at the token limit it has no end token. Empty: responses may repeat themselves to the limit."""
    repetition_count: Annotated[int, Field(ge=2, le=1024)] = 8
    """Least number of times that the sequence occurs within `repetition_tokens`."""
    ahead: Ahead = "off"
    """`off`: each step generates its own fresh responses. `window`: a step that synchronises α generates those of all
    steps up to the next synchronisation in one call, with the same draws. `overlap`: a second process of the local
    engine generates them while the first one trains. Both are for methods with a `v` whose prompts follow the
    schedule."""


def group_size_of(config: Mapping[str, Any]) -> int:
    """Return G of a run's stored config; for an observed run without steps the default: there are no groups."""
    rollout = config.get("rollout", {})
    return int(rollout.get("group_size", RolloutConfig().group_size))


def token_limit_of(config: Mapping[str, Any]) -> int | None:
    """Return the tokens at which a run's stored config cuts responses; None where another trainer sets the limit."""
    if config["method"]["type"] == "observed":
        return None
    return int(config.get("rollout", {}).get("max_response_tokens", RolloutConfig().max_response_tokens))


class TrainingConfig(Section):
    """The optimizer, the length of the run and its checkpoints."""

    batch_size: Annotated[int, Field(ge=1, le=1_000_000)] = 32
    """Training batch size B: maximum number of groups trained on per step."""
    mini_batch_size: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Groups per optimizer step. Empty: the whole batch in one."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 3e-4
    """Adam's learning rate."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Decoupled weight decay."""
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    """Gradient norm above which the gradient is scaled down."""
    steps: Annotated[int, Field(ge=1, le=10_000_000)] | None = 150
    """Training steps. Give either this or `epochs`."""
    epochs: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Shuffled passes over the training prompts. Give either this or `steps`."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 42
    """Seed of every random draw."""
    checkpoint_interval: Annotated[int, Field(ge=1, le=10_000_000)] = 25
    """Steps between two checkpoints."""
    keep_checkpoints: Annotated[int, Field(ge=1, le=10_000)] = 2
    """Number of newest checkpoints to keep. The best one on the first test set is kept in addition."""
    micro_batch_tokens: Annotated[int, Field(ge=1)] = 16_384
    """Maximum number of tokens in one forward and backward pass: bounds memory and changes results by rounding only."""

    @model_validator(mode="before")
    @classmethod
    def _epochs_alone_replace_the_default_steps(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("epochs") is not None and "steps" not in given:
            return {**given, "steps": None}
        return given


class LossConfig(Section):
    """PPO-clip on the token ratio ρ = π_θ / behaviour policy (arXiv:2602.20722, Eq. 1 and 3)."""

    clip_low: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Lower clip range: ρ below 1 - clip_low gets no gradient if the advantage is negative. Empty: the method's
    own."""
    clip_high: Annotated[float, Field(gt=0, le=10)] | None = None
    """Upper clip range: ρ above 1 + clip_high gets no gradient if the advantage is positive. Empty: the method's
    own."""
    dual_clip: Annotated[float, Field(gt=1)] | None = None
    """Bound on the loss of negative advantages, as a multiple of the advantage. Empty: off."""
    kl_coefficient: Annotated[float, Field(ge=0)] = 0.0
    """β: weight of the KL penalty."""
    kl_to: Literal["auto", "behaviour", "reference"] = "auto"
    """The policy that the penalty holds π_θ to: the one that generated the group (Eq. 3), or the base model that the
    run started with (Eq. 1), of which the engine then keeps a copy. `auto`: the method's own."""
    kl_estimator: Literal["unbiased", "low_var_kl"] = "unbiased"
    """`low_var_kl`: k3 per token, as in verl; `unbiased`: k3 times ρ, unbiased for tokens of the behaviour policy."""
    entropy_coefficient: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the entropy bonus."""
    aggregation: Literal["auto", "token-mean", "response-mean"] = "auto"
    """Mean over the batch's tokens, or first over each response's tokens. `auto`: the method's own."""
    ratio_level: Literal["auto", "token", "sequence"] = "auto"
    """Ratio of each token, or the geometric mean over its response's tokens. `auto`: the method's own."""
    drops_overlong: bool = False
    """Leave responses that were cut at the token limit out of the loss; they still count as wrong for the advantages of
    their group (DAPO's overlong filtering)."""


class TrackingConfig(Section):
    """A fixed subset of training prompts, sampled separately from training to track difficulty (Figures 7, 13, 15)."""

    num_prompts: Annotated[int, Field(ge=0, le=1_000_000)] = 128
    """Tracked prompts; 0 turns tracking off."""
    interval: Annotated[int, Field(ge=1, le=10_000_000)] = 25
    """Steps between two samplings; step 0 is sampled twice (as the null), the last step once."""


class EvaluationConfig(Section):
    """Held-out problems, answered by the current policy."""

    interval: Annotated[int, Field(ge=1, le=10_000_000)] = 50
    """Steps between two evaluations; also before the first step and after the last."""
    num_samples: Annotated[int, Field(ge=1, le=1024)] = 8
    """k of avg@k and of pass@k: responses per problem."""
    enabled: bool = True
    """Evaluate on the held-out problems."""


class SamplesConfig(Section):
    """Responses written to `samples.jsonl`."""

    groups_per_step: Annotated[int, Field(ge=0, le=1_000_000)] = 4
    """Groups per step whose responses are kept as text, taken from all sources; 0 keeps neither responses nor prompt
    texts."""
