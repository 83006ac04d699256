"""The recorded stream that findings read: visits, metrics, and the responses that were kept as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from bapo.analysis.visits import SOURCES, Visits, visits_of
from bapo.answer_text import ANSWER_TEXT
from bapo.config import RunConfig
from bapo.config.task import canonical_form
from bapo.methods.observed import ObservedConfig
from bapo.records import AnyRecord, EvaluationRecord, StepRecord, metrics
from bapo.rollout import BatchSource
from bapo.run.journal import SAMPLES_FILE, attempt_folders, complete_lines, merged_records
from bapo.run.run_folder import read_config

Floats = NDArray[np.float64]
HELD_OUT_PREFIX = "val-core/"
IMAGE_MARK = "<image>"
METRICS: tuple[str, ...] = (
    "critic/rewards/mean",
    "response_length/clip_ratio",
    "response_length/max",
    "actor/entropy",
    "actor/pg_clipfrac",
    "actor/ppo_kl",
    "actor/kl_loss",
    "bapo/rewards/constant_groups",
    "bapo/ratio/mean",
    "bapo/cost/num_rollouts",
    "bapo/cost/num_tokens",
    "timing_s/gen",
    "timing_s/update",
    "bapo/batch/batch",
    "bapo/system/memory_peak_bytes",
    "bapo/system/gpu_memory_peak_bytes",
)
"""Metrics of training steps that findings read; besides these, everything under `HELD_OUT_PREFIX`."""
MOST_SAMPLES = 4_000
"""Largest number of response groups that are read, newest first; by default a run of 500 steps keeps 2,000."""


class Curve(NamedTuple):
    """A metric by step."""

    steps: Floats
    values: Floats


class Response(NamedTuple):
    """A response kept as text."""

    text: str
    reward: float
    num_tokens: int | None
    """`None` if an observed trainer did not tell."""
    threshold: float = 0.0
    is_cut: bool | None = None
    """True if the trainer reported that it was cut; `None` if nothing says so, but its length may."""

    @property
    def is_correct(self) -> bool:
        """True if the reward is above the threshold: that of an observed run, else 0."""
        return self.reward > self.threshold

    def is_uncut(self, limit: float | None) -> bool:
        """Return whether it ended by itself: as reported, or else by its length, where a limit in tokens is known."""
        if self.is_cut is not None:
            return not self.is_cut
        return limit is None or self.num_tokens is None or self.num_tokens < limit


class ResponseGroup(NamedTuple):
    """A group whose responses were kept as text."""

    prompt_id: str
    step: int
    policy_version: int
    """Version of the policy that answered; `step - 1` if an observed trainer did not record it."""
    label: str | None
    """The right answer, where the task has one text for it."""
    responses: Sequence[Response]


class HeldOutSet(NamedTuple):
    """The latest answers to a held-out set."""

    prompt_ids: Sequence[str]
    num_correct: Sequence[int]
    num_samples: int


class RunStream(NamedTuple):
    """The records of a run so far."""

    config: RunConfig
    visits: Visits
    metrics: Mapping[str, Curve]
    samples: Sequence[ResponseGroup] = ()
    prompts: Mapping[str, str] = {}
    """Prompt texts by identity, including held-out ones."""
    forms: Mapping[str, str] = {}
    """Canonical forms of problems whose task offers one, by identity."""
    held_out: Mapping[str, HeldOutSet] = {}
    """By the name of the set."""

    @property
    def is_observed(self) -> bool:
        """True if another trainer made the run, so that only its `method` section describes it."""
        return isinstance(self.config.method, ObservedConfig)

    @property
    def token_limit(self) -> float | None:
        """Length at which responses are cut: of an observed run the longest one, where some were cut; else unknown."""
        if not self.is_observed:
            return self.config.rollout.max_response_tokens
        longest = self.curve("response_length/max").values
        is_cut = (self.curve("response_length/clip_ratio").values > 0).any()
        return float(longest.max()) if is_cut and len(longest) else None

    def accuracy(self) -> Curve:
        """Return share of fresh responses that are correct, by step: the mean reward where rewards are 0 and 1."""
        if not self.is_observed:
            return self.curve("critic/rewards/mean")
        rows = self.fresh_rows()
        if not rows.any():
            return Curve(np.empty(0), np.empty(0))
        steps, place = np.unique(self.visits.step[rows], return_inverse=True)
        correct = np.bincount(place, weights=self.visits.num_correct[rows])
        return Curve(steps.astype(np.float64), correct / (np.bincount(place) * self.visits.group_size))

    @property
    def last_step(self) -> int:
        """The newest step; 0 before the first."""
        return int(self.visits.step[-1]) if len(self.visits.step) else 0

    @property
    def num_rollouts(self) -> int:
        """Responses of training so far."""
        return int(self.visits.is_evaluation.sum()) * self.visits.group_size

    def curve(self, key: str) -> Curve:
        """Return a metric; empty where the run has none."""
        return self.metrics.get(key, Curve(np.empty(0), np.empty(0)))

    def first_recent_step(self) -> int:
        """Return where the last part of the run begins, in which the policy is taken as one: half of it, at most 100
        steps."""
        return self.last_step - max(1, min(100, self.last_step // 2)) + 1

    def fresh_rows(self, from_step: int = 1) -> NDArray[np.bool_]:
        """Return visits of fresh groups from a step on."""
        is_fresh = np.equal(self.visits.source, SOURCES.index(BatchSource.FRESH))
        return np.logical_and(is_fresh, np.greater_equal(self.visits.step, from_step))


def stream_of(
    config: RunConfig,
    records: Iterable[AnyRecord],
    samples: Sequence[ResponseGroup] = (),
    prompts: Mapping[str, str] | None = None,
    forms: Mapping[str, str] | None = None,
) -> RunStream:
    """Return the stream of a journal's records, which are in the order of their steps."""
    records = list(records)
    held_out = {
        record.dataset: HeldOutSet(record.prompt_ids, record.num_correct, record.num_samples)
        for record in records
        if isinstance(record, EvaluationRecord)
    }
    points: dict[str, tuple[list[int], list[float]]] = {}
    for record in records:
        for key, value in metrics(record).items():
            if key in METRICS or key.startswith(HELD_OUT_PREFIX):
                steps, values = points.setdefault(key, ([], []))
                steps.append(record.step)
                values.append(value)
    visits = visits_of((record for record in records if isinstance(record, StepRecord)), config.rollout.group_size)
    curves = {key: Curve(np.array(steps, np.float64), np.array(values)) for key, (steps, values) in points.items()}
    return RunStream(config, visits, curves, samples, prompts or {}, forms or {}, held_out)


def read_stream(run_folder: Path) -> RunStream:
    """Return the run in a folder. Raises ConfigError where it holds none."""
    config = read_config(run_folder)
    groups: dict[int, list[ResponseGroup]] = {}
    prompts: dict[str, str] = {}
    forms: dict[str, str] = {}
    # A later attempt repeats the steps after its checkpoint.
    for folder in attempt_folders(run_folder):
        of_attempt: dict[int, list[ResponseGroup]] = defaultdict(list)
        for line in complete_lines(folder / SAMPLES_FILE):
            content = orjson.loads(line)
            if "prompt" in content:
                prompts[content["prompt_id"]] = content["prompt"]
                if (form := canonical_form(content["answer"])) is not None:
                    forms[content["prompt_id"]] = form
            if content["type"] == "sample":
                of_attempt[content["step"]].append(response_group(content, reward_threshold(config)))
        groups |= of_attempt
    newest = [group for step in sorted(groups) for group in groups[step]][-MOST_SAMPLES:]
    return stream_of(config, merged_records(run_folder), newest, prompts, forms)


def reward_threshold(config: RunConfig) -> float:
    """Return the reward above which a response is correct."""
    return config.method.reward_threshold if isinstance(config.method, ObservedConfig) else 0.0


def response_group(content: Mapping[str, Any], threshold: float = 0.0) -> ResponseGroup:
    """Return a line of `samples.jsonl` that is a group."""
    label = content["answer"].get(ANSWER_TEXT)
    version = content["policy_version"]
    return ResponseGroup(
        content["prompt_id"],
        content["step"],
        content["step"] - 1 if version is None else version,
        None if label is None else str(label),
        [
            Response(each["text"], each["reward"], each["num_tokens"], threshold, each.get("is_cut"))
            for each in content["responses"]
        ],
    )
