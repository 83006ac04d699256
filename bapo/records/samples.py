"""Lines of `samples.jsonl`: prompts, and groups with their responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from bapo.records.base import SCHEMA, Record, SchemaNumber
from bapo.rollout import BatchSource


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
    """True if the reward of an observed run is above its threshold; None where a reward is 0 or 1."""
    num_tokens: int | None = None
    is_cut: bool | None = None
    """True if an observed run reports that the response was cut at the token limit; None where nothing says so."""
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
