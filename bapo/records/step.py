"""The record of one training step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from bapo.records.base import SCHEMA, Counts, Figures, Record, SchemaNumber
from bapo.records.metric import Metric
from bapo.records.spans import Span
from bapo.records.update import SupervisedStats, UpdateStats
from bapo.records.visits import PromptVisits


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
    fill_rate: Annotated[float, Metric("fill_rate", "Fill rate", "share of B", "Are the batches full?", is_share=True)]
    """batch / B; above 1 where stored responses join the fresh ones of their prompt."""


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


class Cost(Record):
    """Everything generated so far, of an observed run as far as it was reported. Rollouts count responses, dropped ones
    included."""

    num_rollouts: Annotated[int, Metric("num_rollouts", "Rollouts", "responses", "What has training cost?")]
    """Responses of training, fresh and re-evaluated, from the step that generated them: with `rollout.ahead` at
    `window` a synchronisation adds those of all steps up to the next one."""
    num_tokens: int | None = None
    """Response tokens of training."""
    num_rollouts_ahead: Annotated[
        int | None,
        Metric(
            "num_rollouts_ahead",
            "Rollouts ahead",
            "responses",
            "How far is generation ahead of training?",
            tab="system",
            only_recorded=True,
        ),
    ] = None
    """Responses that wait for later steps; also part of the rollouts."""
    num_discarded_rollouts: Annotated[
        int | None,
        Metric(
            "num_discarded_rollouts",
            "Rollouts thrown away",
            "responses",
            "What was generated ahead in vain?",
            tab="system",
            only_recorded=True,
        ),
    ] = None
    """Responses generated ahead that no step used, as after a change of v; also part of the rollouts."""
    num_supervised_steps: Annotated[
        int | None,
        Metric("num_supervised_steps", "Supervised steps", "steps", tab="batch", only_recorded=True),
    ] = None
    """Supervised steps on demonstrations."""
    num_tracking_rollouts: int | None = None
    num_evaluation_rollouts: int | None = None


class SegmentStats(Record):
    """Partial rollouts: what a step generated of fresh responses with `rollout.max_segment_tokens`."""

    num_tokens: Annotated[
        int,
        Metric(
            "num_tokens",
            "Tokens generated per step",
            "tokens",
            "How much does a step generate?",
            tab="system",
            only_recorded=True,
        ),
    ]
    """Tokens of all segments of the step, fresh responses alone."""
    num_continued: Annotated[
        int,
        Metric(
            "num_continued",
            "Responses continued",
            "responses",
            "How many responses were begun in earlier steps?",
            tab="system",
            only_recorded=True,
        ),
    ]
    """Responses of earlier steps that this step continued."""
    num_unfinished: Annotated[
        int,
        Metric(
            "num_unfinished",
            "Unfinished responses",
            "responses",
            "How many responses wait for later steps?",
            tab="system",
            only_recorded=True,
        ),
    ]
    """Responses that later steps continue; none of their group's is part of the rollouts yet."""
    num_dropped: Annotated[
        int,
        Metric(
            "num_dropped",
            "Partial responses thrown away",
            "responses",
            "What was begun in vain?",
            tab="system",
            only_recorded=True,
        ),
    ]
    """Responses of a fork's parent that are not continued, because the fork has another `rollout` section or seed."""
    segments_mean: Annotated[
        float | None,
        Metric(
            "segments_mean",
            "Segments per response",
            "segments",
            "Over how many steps is a response generated?",
            tab="system",
            only_recorded=True,
        ),
    ]
    """Mean over the responses of the groups completed in this step; None if there is none."""
    segments_max: int | None
    """Most segments of one of these responses."""


class Rewards(Record):
    """The rewards of an observed step as its trainer gave them."""

    threshold: float
    """A response counts as correct where its reward is above this."""
    num_constant_groups: int
    """Groups whose rewards are all equal: none of them has a gradient."""
    num_rejected_groups: int
    """Number of reported groups that are not in the record, such as those of another size or with a NaN."""
    missing_ranks: Counts = []
    """Ranks that did not report the step, if several ranks report their parts: their groups are not in the record."""
    values: Sequence[Sequence[float]] | None = None
    """Rewards of each group, in the order of `prompts`; None where all of them are 0 or 1."""


class StepRecord(Record):
    """The record of one training step."""

    # For the lines of groups, which are dataclasses.
    model_config = ConfigDict(use_attribute_docstrings=True)

    schema_: SchemaNumber = Field(default=SCHEMA, alias="schema")
    type: Literal["step"] = "step"
    attempt: int
    step: Annotated[int, Metric("training/global_step")]
    """From 1."""
    num_steps: int | None = None
    """Steps of the whole run."""
    epoch: Annotated[int | None, Metric("training/epoch")] = None
    """From 0."""
    group_size: int
    skipped: bool
    """The batch was empty: no optimizer step."""
    rollout_version: Annotated[int | None, Metric("bapo/policy/rollout_version")] = None
    """Policy version of α."""
    trainer_version: int | None = None
    """Policy version of the current weights before the update: step - 1."""
    num_rounds: Annotated[
        int, Metric("bapo/batch/num_rounds", "Rounds per batch", "rounds", tab="batch", only="has_rounds")
    ] = 1
    """Batches of prompts rolled out in one step until B groups have mixed rewards, at most method.max_rounds. All their
    responses count as rollouts; a batch that is not full has used up its rounds."""
    counts: Annotated[SourceCounts, Metric("bapo/batch/")]
    fresh_histogram: Counts
    """Fresh groups by number of correct responses, 0..G."""
    reevaluated_histogram: Counts
    """Re-evaluated groups by number of correct responses, 0..G."""
    batch_histogram: Counts
    """Groups trained on by number of correct responses, 0..G."""
    prompts: PromptVisits
    thresholds: Annotated[ThresholdValues | None, Metric("bapo/thresholds/")] = None
    difficult_buffer: Annotated[BufferState | None, Metric("bapo/buffer/difficult/")] = None
    high_quality_buffer: Annotated[BufferState | None, Metric("bapo/buffer/high_quality/")] = None
    update: Annotated[UpdateStats | None, Metric("")] = None
    """`None` in a skipped step; of an observed run, its trainer's figures are in `metrics`."""
    supervised: Annotated[SupervisedStats | None, Metric("bapo/supervised/")] = None
    """`None` in a step without a supervised step."""
    metrics: Figures = {}
    """Figures that an observed trainer logged for the step, by its own names."""
    rewards: Rewards | None = None
    """`None` in a run of our own trainer, whose rewards are 0 and 1."""
    reward_mean: Annotated[
        float | None,
        Metric(
            "critic/rewards/mean",
            "Training reward",
            "mean reward of fresh responses",
            "Is it learning?",
            is_share=True,
            is_mean_reward=True,
        ),
    ]
    """Over the fresh responses; None if no group was completed in the step, as partial rollouts allow."""
    batch_reward_mean: Annotated[float | None, Metric("bapo/batch/reward_mean")]
    """Over the responses trained on; None for an empty batch."""
    response_length_mean: Annotated[float | None, Metric("response_length/mean", "Response length", "tokens")] = None
    """Tokens, fresh responses."""
    response_length_max: Annotated[int | None, Metric("response_length/max")] = None
    response_clip_ratio: Annotated[float | None, Metric("response_length/clip_ratio")] = None
    """Share of fresh responses cut, at the token limit or because they repeated themselves."""
    response_repetition_ratio: Annotated[
        float | None,
        Metric(
            "response_length/repetition_ratio",
            "Responses that repeat themselves",
            "share of fresh responses",
            "How many responses does the repetition stop end?",
            tab="system",
            is_share=True,
            only_recorded=True,
        ),
    ] = None
    """Share of fresh responses that `rollout.repetition_tokens` ended; part of the share that was cut."""
    segments: Annotated[SegmentStats | None, Metric("bapo/segments/")] = None
    """`None` without partial rollouts."""
    cost: Annotated[Cost, Metric("bapo/cost/")]
    timing: Annotated[Figures, Metric("timing_s/")]
    """Seconds: `sync` (hand-over of weights to α), `gen`, `wait` (within `gen`, for the generating process),
    `generator` (what that process took for the step's responses, earlier), `reevaluation`, `batch` (all that the method
    does), `update` (with the supervised step), `step` (all of it), `step_cpu` (CPU time of the trainer process in the
    step), `journal` (writing the record before this one), `elapsed` since the attempt began, and `unix_time` at the end
    of the step. Within these, under verl's names, what verl did: `verl/update_weights` (to vLLM), `verl/gen`,
    `verl/reward` (within `gen`, of all workers together), `verl/log_prob`, `verl/adv`, `verl/values`,
    `verl/update_critic`, `verl/update_actor`."""
    spans: Sequence[Span] = []
    """When the phases since the record before this one ran, those after that step included; empty in records of an
    observed run, and from before there were spans."""
    system: Annotated[Figures, Metric("bapo/system/")]
    """Memory in bytes, CPU and GPU utilisation in percent."""
