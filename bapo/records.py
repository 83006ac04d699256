"""The journal's lines: every number a run records, named and described once.

A reader accepts all schemas up to its own, and says of a later one that it is. Lines of schema 3 hold everything; lines
of schema 4, which observers of other trainers write, leave out what those do not tell. Schemas 1 and 2, up to version
0.2, are the same but for the prompts of a step: one object for each, where 3 and 4 have one list per field. Two runs
are equal when `comparable` gives the same for all their step, evaluation and tracking records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    TypeAdapter,
)

from bapo.config.descriptions import describe_properties
from bapo.rollout import BatchSource

SCHEMA = 3
"""Of a trainer of ours."""
OBSERVED_SCHEMA = 4
"""Of an observer: fields that may be None may be absent."""

RATIO_BIN_EDGES: tuple[float, ...] = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0)
"""Edges of the ratio histogram: 13 bins, the outer two open, bin i = [edge i-1, edge i)."""


def _known_schema(schema: int) -> int:
    if not 1 <= schema <= OBSERVED_SCHEMA:
        raise ValueError(f"schema {schema} is not known here, only 1 to {OBSERVED_SCHEMA}: update bapo")
    return schema


SchemaNumber = Annotated[int, AfterValidator(_known_schema)]


class Record(BaseModel):
    """Part of a journal line. Unknown fields of a newer minor writer are kept out, not fatal.

    A NaN or an infinity, as a diverging run has them, is written as the string "NaN", "Infinity" or "-Infinity": the
    line stays JSON and reads back as what it was.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, json_schema_extra=describe_properties, ser_json_inf_nan="strings"
    )


# Pydantic checks and writes any sequence and any mapping by Python code, a list and a dictionary without: a quarter of
# what writing a step takes, and a fifth of reading it.
Counts = Annotated[Sequence[int], GetPydanticSchema(lambda _, schema_of: schema_of(list[int]))]
Figures = Annotated[Mapping[str, float], GetPydanticSchema(lambda _, schema_of: schema_of(dict[str, float]))]
BySource = Annotated[
    Mapping[BatchSource, float], GetPydanticSchema(lambda _, schema_of: schema_of(dict[BatchSource, float]))
]


class SourceCounts(Record):
    """Groups of one step by what became of them; None of what an observer cannot see."""

    fresh: int
    """Rolled out by α, in all rounds of the step; more than B groups where a method rolls out several rounds."""
    x1: int
    """Fresh groups kept by the online filter and trained on."""
    reevaluated: int | None = None
    """Difficult prompts answered again by the current policy."""
    improved: int | None = None
    """Re-evaluated with c1 < accuracy < 1: candidates of X2."""
    x2: int | None = None
    """Improved groups that found room in the batch."""
    solved: int | None = None
    """Re-evaluated with accuracy 1; left the difficult buffer."""
    still_difficult: int | None = None
    """Re-evaluated with accuracy ≤ c1; stay in the difficult buffer."""
    surplus_stored: int | None = None
    """Improved groups without room in the batch that entered the high-quality buffer."""
    surplus_dropped: int | None = None
    """Improved groups without room in the batch that were dropped."""
    x3_candidates: int | None = None
    """Stored groups that could have been reused: for BAPO within today's [c2, c3], not in X1 or X2."""
    x3: int | None = None
    """Stored groups trained on again, all of their responses or some."""
    batch: int
    """X1 + X2 + X3; of an observed run, the groups that its trainer trained on."""
    batch_size: int
    """B."""
    fill_rate: float
    """batch / B; above 1 where stored responses join the fresh ones of their prompt."""


@dataclass(slots=True)
class PromptVisit:
    """One prompt's group in one step.

    Neither a `Record` nor frozen: a step makes one per group, and either would be most of what building a batch costs.
    """

    prompt_id: str
    source: BatchSource
    num_correct: int
    policy_version: int | None
    """Version of the policy that generated the group; staleness = step - 1 - policy_version. None where an observed
    trainer did not tell."""
    in_batch: bool
    reason: str | None = None
    """Why it was not trained on: all_wrong, all_correct, filtered, no_room, probed, solved, still_difficult,
    surplus_stored, surplus_dropped."""


class _VisitColumns(Record):
    """The prompts of a step as its line holds them: one list per field, less than half of an object for each."""

    prompt_id: list[str]
    source: list[BatchSource]
    num_correct: list[int]
    policy_version: list[int | None]
    in_batch: list[bool]
    reason: list[str | None]

    def visits(self) -> list[PromptVisit]:
        """Row by row. Raises ValueError where the lists differ in length."""
        columns = vars(self)
        if len({len(column) for column in columns.values()}) > 1:
            lengths = ", ".join(f"{name} {len(column)}" for name, column in columns.items())
            raise ValueError(f"the lists differ in length: {lengths}")
        return list(map(PromptVisit, *columns.values()))


def visit_columns(visits: Sequence[PromptVisit]) -> dict[str, list[Any]]:
    """The prompts of a step field by field, as plain JSON values: an enumeration's members take far longer to write."""
    return {
        "prompt_id": [visit.prompt_id for visit in visits],
        "source": [visit.source.value for visit in visits],
        "num_correct": [visit.num_correct for visit in visits],
        "policy_version": [visit.policy_version for visit in visits],
        "in_batch": [visit.in_batch for visit in visits],
        "reason": [visit.reason for visit in visits],
    }


def _rows(prompts: Any) -> Any:
    return _VisitColumns.model_validate(prompts).visits() if isinstance(prompts, Mapping) else prompts


PromptVisits = Annotated[Sequence[PromptVisit], BeforeValidator(_rows), PlainSerializer(visit_columns)]


class ThresholdValues(Record):
    """The thresholds in force in this step."""

    c1: float | None
    c2: float | None
    c3: float | None
    r_tot: float
    """Mean fresh reward of the last ten steps, before this one."""
    difficult_max_count: int | None
    """Largest number of correct responses that counts as difficult."""
    reusable_min_count: int | None
    """Smallest reusable number of correct responses."""
    reusable_max_count: int | None
    """Largest; below the smallest where nothing is admitted."""


class BufferState(Record):
    """One buffer after the step."""

    size: int
    capacity: int | None
    age_mean: float | None
    """Steps since the entry's latest evaluation (difficult) or generation (high quality); None when empty."""
    age_max: int | None
    entered: int
    """New prompts in this step."""
    refreshed: int
    """Prompts that were there and were stored again."""
    left_improved: int
    """Left because a fresh or re-evaluated group was above c1 (difficult buffer)."""
    evicted: int
    """Pushed out by capacity."""
    expired: int
    """Removed for their age (high-quality buffer)."""


class CriticValues(Record):
    """Statistics of the critic's update, for methods that have one; means over the tokens of the whole batch."""

    loss: float
    """½·mean of the squared error, clipped; mean over the mini-batches."""
    explained_variance: float | None
    """1 - Var(R - V) / Var(R) before the update: 1 is perfect, 0 no better than one number for all, below 0 worse.
    None where all returns R are equal."""
    value_mean: float
    """V before the update."""
    return_mean: float
    """R, what the values are trained towards."""
    grad_norm: float
    clip_fraction: float
    """Share of tokens whose gradient value clipping took."""
    learning_rate: float


class LogprobGapValues(Record):
    """Distance between the implementation that generates and the one that trains, on the same weights.

    Δ is the difference of their log-probabilities of a token. Measured on tokens that the weights before the update
    generated, so that no staleness is in it.
    """

    mean: float
    """mean|Δ|, nats per token."""
    max: float
    """The largest |Δ|."""
    outside_clip_range: float
    """Share of the tokens whose ratio Δ alone takes out of the clip range."""
    num_tokens: int
    """Tokens it was measured on."""


class BoundValues(Record):
    """Terms of the policy improvement bound after an update, per source (arXiv:2602.20722, Theorem 3.2).

    Means over the groups with a gradient, estimated over whole responses by their ratios to the policy α that generated
    them.
    """

    improvement: BySource
    """J(π_θ) - J(π_θt), by which the update raised the expected reward."""
    surrogate: BySource
    """L_α(π_θ) = E_α[ρ·Â], the objective without clipping."""
    tv_sequences: BySource
    """TV(π_θ, α); that of the policy before the update is `tv_sequences` of the update."""


class UpdateValues(Record):
    """Statistics of the policy's update; token means."""

    loss: float
    entropy: float
    """Nats per token."""
    grad_norm: float
    kl: float
    """KL(π_θ ‖ behaviour policy), nats per token."""
    reference_kl: float | None = None
    """KL(π_θ ‖ reference policy), nats per token; None where the loss has no penalty on it."""
    clip_fraction: float
    """Share of the tokens whose policy gradient clipping took away; with one ratio per response (GSPO), tokens of
    clipped responses."""
    ratio_mean: float
    """Over the tokens. Where the loss takes one ratio per response (GSPO), each token counts with its response's
    (π_θ(y) / b(y))^(1/|y|), here and in the next two fields; `kl` and `tv_tokens` remain those of the token itself."""
    ratio_max: float
    ratio_histogram: Counts
    """Tokens per bin of RATIO_BIN_EDGES."""
    num_mini_batches: int
    num_tokens: int
    num_groups_skipped: int
    """Groups left out of forward and backward because their gradient is exactly zero."""
    learning_rate: float
    tv_tokens: BySource = {}
    """½·mean|ρ - 1| per source, before the update."""
    tv_sequences: BySource = {}
    """The same over whole responses."""
    critic: CriticValues | None = None
    """None where the method has no critic. In its warm-up the policy stays as it is: `grad_norm` above is 0."""
    logprob_gap: LogprobGapValues | None = None
    """None where no token trained on was generated by the weights before the update."""
    bound: BoundValues | None = None
    """`None` in steps in which it was not measured."""


class Cost(Record):
    """Everything generated so far, of an observed run as far as it was told. Rollouts count responses, dropped ones
    included."""

    num_rollouts: int
    """Responses of training: fresh and re-evaluated."""
    num_tokens: int | None = None
    """Response tokens of training."""
    num_tracking_rollouts: int | None = None
    num_evaluation_rollouts: int | None = None


class Rewards(Record):
    """The rewards of an observed step as its trainer gave them."""

    threshold: float
    """A response counts as correct where its reward is above this."""
    num_constant_groups: int
    """Groups whose rewards are all equal: none of them has a gradient."""
    num_rejected_groups: int
    """Groups that were told and are not in the record, such as those of another size or with a NaN."""
    missing_ranks: Counts = []
    """Ranks that told nothing of the step, where several tell their parts: their groups are not in the record."""
    values: Sequence[Sequence[float]] | None = None
    """Rewards of each group, in the order of `prompts`; None where all of them are 0 or 1."""


class StepRecord(Record):
    """The record of one training step."""

    # For the lines of groups, which are dataclasses.
    model_config = ConfigDict(use_attribute_docstrings=True)

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["step"] = "step"
    attempt: int
    step: int
    """From 1."""
    num_steps: int | None = None
    """Steps of the whole run."""
    epoch: int | None = None
    """From 0."""
    group_size: int
    skipped: bool
    """The batch was empty: no optimizer step."""
    rollout_version: int | None = None
    """Policy version of α."""
    trainer_version: int | None = None
    """Policy version of the current weights before the update: step - 1."""
    num_rounds: int = 1
    """Batches of prompts rolled out; more than 1 where the method asked for further ones (DAPO)."""
    counts: SourceCounts
    fresh_histogram: Counts
    """Fresh groups by number of correct responses, 0..G."""
    reevaluated_histogram: Counts
    """Re-evaluated groups by number of correct responses, 0..G."""
    batch_histogram: Counts
    """Groups trained on by number of correct responses, 0..G."""
    prompts: PromptVisits
    thresholds: ThresholdValues | None = None
    difficult_buffer: BufferState | None = None
    high_quality_buffer: BufferState | None = None
    update: UpdateValues | None = None
    """None in a skipped step; of an observed run, its trainer's figures are in `metrics`."""
    metrics: Figures = {}
    """What an observed trainer logged for the step, by its own names."""
    rewards: Rewards | None = None
    """None in a run of our own trainer, whose rewards are 0 and 1."""
    reward_mean: float
    """Over the fresh responses."""
    batch_reward_mean: float | None
    """Over the responses trained on; None for an empty batch."""
    response_length_mean: float | None = None
    """Tokens, fresh responses."""
    response_length_max: int | None = None
    response_clip_ratio: float | None = None
    """Share of fresh responses cut at the token limit."""
    cost: Cost
    timing: Figures
    """Seconds: `gen`, `reevaluation`, `batch` (all that the method does), `update`, `step` (all of it), `step_cpu` (CPU
    time of the trainer process in the step), `journal` (writing the record before this one), `elapsed` since the
    attempt began, and `unix_time` at the end of the step. Within these, under verl's names, what verl did:
    `verl/update_weights` (to vLLM), `verl/gen`, `verl/reward` (within `gen`, of all workers together), `verl/log_prob`,
    `verl/adv`, `verl/values`, `verl/update_critic`, `verl/update_actor`."""
    system: Figures
    """Memory in bytes, CPU and GPU utilisation in percent."""


class Interval(Record):
    """A figure with its 95 % confidence interval."""

    value: float
    low: float
    high: float


class EvaluationRecord(Record):
    """One held-out set answered by the current policy."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["evaluation"] = "evaluation"
    attempt: int
    step: int
    """Completed training steps; 0 is the base model."""
    dataset: str
    """Such as "CD-34"."""
    num_samples: int
    """k of avg@k."""
    num_correct: Counts
    """Correct of k samples, per problem."""
    prompt_ids: Sequence[str]
    avg_at_k: Interval
    greedy: Interval | None = None
    """None where an observed trainer sampled no greedy responses."""
    pass_at: Mapping[int, Interval]
    timing: Figures


class TrackingRecord(Record):
    """The tracked training prompts, sampled G times by the current policy apart from training."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["tracking"] = "tracking"
    attempt: int
    step: int
    replicate: int
    """0, and at step 0 also 1: the base model sampled again, the null of every unlock rate."""
    group_size: int
    prompt_ids: Sequence[str]
    num_correct: Counts
    timing: Figures


class EventRecord(Record):
    """Something that happened between steps."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["event"] = "event"
    attempt: int
    step: int
    """Completed training steps at the time."""
    event: Literal[
        "started",
        "resumed",
        "forked",
        "warning",
        "checkpoint",
        "checkpoint_damaged",
        "parameter_change",
        "parameter_refused",
        "request_withdrawn",
        "stop",
        "finished",
        "failed",
    ]
    message: str
    """One sentence for people."""
    data: Mapping[str, Any] = {}
    """`parameter_*`, `request_withdrawn` and `stop`: id, author, set; `checkpoint`: checkpoint, and best, the step of
    the best one; `resumed`: checkpoint, from_step; `forked`: these and parent."""
    timing: Figures = {}
    """`unix_time`."""


AnyRecord = Annotated[StepRecord | EvaluationRecord | TrackingRecord | EventRecord, Field(discriminator="type")]
_ADAPTER: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord)


class PromptRecord(Record):
    """One line of `samples.jsonl`: what a prompt says, once in an attempt, when a group of it is first there."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["prompt"] = "prompt"
    prompt_id: str
    prompt: str
    answer: Mapping[str, Any]
    """Ground truth that the verifier uses."""


class SampledResponse(Record):
    """One response of a sampled group."""

    text: str
    reward: float
    is_correct: bool | None = None
    """Whether the reward of an observed run is above its threshold; None where a reward is 0 or 1."""
    num_tokens: int | None = None
    logprob_sum: float | None = None


class SampleRecord(Record):
    """One line of `samples.jsonl`: a group of the step with its responses."""

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["sample"] = "sample"
    attempt: int
    step: int
    prompt_id: str
    prompt: str
    answer: Mapping[str, Any]
    """Ground truth that the verifier used."""
    source: BatchSource
    num_correct: int
    group_size: int
    policy_version: int | None = None
    in_batch: bool
    responses: Sequence[SampledResponse]


def parse_record(line: str | bytes) -> AnyRecord:
    """One journal line. Raises pydantic.ValidationError where it is not a record of a known schema."""
    return _ADAPTER.validate_json(line)


def read_record(content: Any) -> AnyRecord:
    """A journal line that is parsed already. Raises pydantic.ValidationError as `parse_record`."""
    return _ADAPTER.validate_python(content)


def dump_record(record: Record) -> bytes:
    """One journal line, newline included."""
    return record.model_dump_json(by_alias=True).encode() + b"\n"


def comparable(record: AnyRecord) -> dict[str, Any]:
    """The record without what may differ between equal runs: `timing`, `system` and `attempt`."""
    # By way of JSON text, in which a NaN equals a NaN.
    content: dict[str, Any] = json.loads(dump_record(record))
    return {name: value for name, value in content.items() if name not in ("timing", "system", "attempt")}


def metrics(record: AnyRecord) -> dict[str, float]:
    """A record's finite scalars by metric name: verl's names where verl has one, else `bapo/…`. Events have none."""
    match record:
        case StepRecord():
            return _step_metrics(record)
        case EvaluationRecord():
            prefix = f"val-core/{record.dataset}/acc"
            return {
                f"{prefix}/mean@{record.num_samples}": record.avg_at_k.value,
                f"{prefix}/mean@{record.num_samples}/low": record.avg_at_k.low,
                f"{prefix}/mean@{record.num_samples}/high": record.avg_at_k.high,
                **({} if record.greedy is None else {f"{prefix}/greedy": record.greedy.value}),
                **{f"{prefix}/pass@{k}": interval.value for k, interval in record.pass_at.items()},
            }
        case TrackingRecord():
            if record.replicate:
                return {}
            responses = record.group_size * len(record.num_correct)
            return {"bapo/tracking/accuracy": sum(record.num_correct) / responses} if responses else {}
        case EventRecord():
            return {}


def _step_metrics(record: StepRecord) -> dict[str, float]:
    # Named and checked all at once: a server does this with every step that it is sent.
    parts = [(prefix, _known(fields)) for prefix, fields in _step_parts(record)]
    names = _names(tuple([(prefix, tuple(fields)) for prefix, fields in parts]))
    values = map(float, chain.from_iterable([fields.values() for _, fields in parts]))
    found = dict(zip(names, values, strict=True))
    return found if isfinite(sum(found.values())) else {name: each for name, each in found.items() if isfinite(each)}


def _known(fields: Mapping[Any, float | None]) -> Mapping[Any, float]:
    if None in fields.values():
        return {name: value for name, value in fields.items() if value is not None}
    return fields  # type: ignore[return-value] # no value is None


_Named = tuple[tuple[str, tuple[str, ...]], ...]
_known_names: dict[_Named, tuple[str, ...]] = {}
_MOST_NAMINGS, _MOST_CHARACTERS = 256, 50_000
"""The steps of a run name the same few hundred metrics; names that somebody makes up without end are not kept."""


def _names(parts: _Named) -> tuple[str, ...]:
    names = _known_names.get(parts)
    if names is None:
        names = tuple(prefix + name for prefix, fields in parts for name in fields)
        if sum(map(len, names)) <= _MOST_CHARACTERS:
            if len(_known_names) >= _MOST_NAMINGS:
                _known_names.clear()
            _known_names[parts] = names
    return names


def _step_parts(record: StepRecord) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """A step's scalars, with what goes before their names; of two with the same name the later counts."""
    # A trainer's own figures first: what is counted here wins.
    yield "", record.metrics
    yield (
        "",
        {
            "training/global_step": record.step,
            "training/epoch": record.epoch,
            "critic/rewards/mean": record.reward_mean,
            "bapo/batch/reward_mean": record.batch_reward_mean,
            "response_length/mean": record.response_length_mean,
            "response_length/max": record.response_length_max,
            "response_length/clip_ratio": record.response_clip_ratio,
            "bapo/policy/rollout_version": record.rollout_version,
            "bapo/batch/num_rounds": record.num_rounds,
        },
    )
    if record.trainer_version is not None and record.rollout_version is not None:
        yield "bapo/policy/", {"rollout_staleness": record.trainer_version - record.rollout_version}
    yield "bapo/batch/", vars(record.counts)
    if record.thresholds is not None:
        yield "bapo/thresholds/", vars(record.thresholds)
    if record.difficult_buffer is not None:
        yield "bapo/buffer/difficult/", vars(record.difficult_buffer)
    if record.high_quality_buffer is not None:
        yield "bapo/buffer/high_quality/", vars(record.high_quality_buffer)
    yield "bapo/cost/", vars(record.cost)
    if record.update is not None:
        yield from _update_parts(record.update)
    if record.rewards is not None:
        yield "bapo/rewards/", _reward_metrics(record.rewards, record.counts.fresh)
    yield "timing_s/", record.timing
    yield "bapo/system/", record.system


def _update_parts(update: UpdateValues) -> Iterator[tuple[str, Mapping[Any, Any]]]:
    yield (
        "",
        {
            "actor/pg_loss": update.loss,
            "actor/entropy": update.entropy,
            "actor/grad_norm": update.grad_norm,
            "actor/ppo_kl": update.kl,
            "actor/kl_loss": update.reference_kl,
            "actor/pg_clipfrac": update.clip_fraction,
            "actor/lr": update.learning_rate,
            "bapo/ratio/mean": update.ratio_mean,
            "bapo/ratio/max": update.ratio_max,
            "bapo/update/num_mini_batches": update.num_mini_batches,
            "bapo/update/num_tokens": update.num_tokens,
            "bapo/update/num_groups_skipped": update.num_groups_skipped,
        },
    )
    if update.critic is not None:
        yield "critic/", _critic_metrics(update.critic)
    if update.logprob_gap is not None:
        yield "bapo/logprob_gap/", vars(update.logprob_gap)
    yield "bapo/tv/tokens/", update.tv_tokens
    yield "bapo/tv/sequences/", update.tv_sequences
    if update.bound is not None:
        yield "bapo/bound/improvement/", update.bound.improvement
        yield "bapo/bound/surrogate/", update.bound.surrogate
        yield "bapo/bound/tv/", update.bound.tv_sequences


def _reward_metrics(rewards: Rewards, num_groups: int) -> dict[str, float | None]:
    return {
        "constant_groups": rewards.num_constant_groups / num_groups if num_groups else None,
        "rejected_groups": rewards.num_rejected_groups,
        "missing_ranks": len(rewards.missing_ranks) or None,
    }


def _critic_metrics(critic: CriticValues) -> dict[str, float | None]:
    return {
        "vf_loss": critic.loss,
        "vf_explained_var": critic.explained_variance,
        "values/mean": critic.value_mean,
        "returns/mean": critic.return_mean,
        "grad_norm": critic.grad_norm,
        "vf_clipfrac": critic.clip_fraction,
        "lr": critic.learning_rate,
    }
