"""Training prompts of a run, or across runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from bapo.analysis.stories import Story
from bapo.api.base import Body, Page, Parameters, Text
from bapo.api.runs import RunStatus
from bapo.rollout import BatchSource

__all__ = ["Story"]


PromptOrder = Literal["first_step", "last_step", "last_accuracy", "first_accuracy", "gain", "visits", "variance"]


class PromptFilter(Parameters):
    """Filters and order of prompts; a prompt must match all filters."""

    story: Story | None = None
    """Development of the prompt's accuracy; `GET …/prompts` counts each kind."""
    source: BatchSource | None = None
    """Visited at least once from this source."""
    search: Text | None = Field(default=None, max_length=200)
    """Part of the ID, or of the text if stored."""
    min_first: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses at the first evaluation."""
    max_first: int | None = Field(default=None, ge=0, le=100_000)
    min_last: int | None = Field(default=None, ge=0, le=100_000)
    """Fewest correct responses at the last evaluation."""
    max_last: int | None = Field(default=None, ge=0, le=100_000)
    sort: PromptOrder = "first_step"
    descending: bool = False


class PromptSummary(Body):
    """A training prompt over the whole run."""

    prompt_id: str
    text: str | None
    """Beginning of its text, if stored."""
    num_visits: int
    num_evaluations: int
    first_correct: int
    last_correct: int
    group_size: int
    first_accuracy: float
    last_accuracy: float
    gain: float
    """Last minus first accuracy."""
    variance: float
    """Variance of the accuracy over the evaluations."""
    first_step: int
    last_step: int
    stories: Sequence[Story]
    steps: Sequence[int]
    """Steps of its visits; at most a hundred, evenly spaced, with the first and the last."""
    num_correct: Sequence[int]
    sources: Sequence[BatchSource]


class PromptTotals(Body):
    """Totals over all prompts of a run, regardless of the filter."""

    num_prompts: int
    num_visits: int
    num_evaluations: int
    num_never_solved: int
    """Prompts with 0/G at every evaluation."""
    first_accuracy: float | None
    """Mean over the prompts; null without prompts."""
    last_accuracy: float | None
    last_step: int
    """Last recorded step."""


class PromptPage(Page):
    """Prompts in the requested order."""

    items: Sequence[PromptSummary]
    total: int
    """Number of matching prompts on all pages."""
    stories: dict[Story, int]
    """Number of prompts by story, with all other filters applied."""
    totals: PromptTotals


class PromptVisits(Body):
    """Columns, one row per visit, by step."""

    step: Sequence[int]
    source: Sequence[BatchSource]
    num_correct: Sequence[int]
    policy_version: Sequence[int | None]
    """Policy version of each visit; null if an observed trainer did not record it."""
    staleness: Sequence[int | None]
    """Staleness of the responses: step - 1 - policy version."""
    in_batch: Sequence[bool]
    reason: Sequence[str | None]
    """Why it was not trained on."""


class PromptTrackings(Body):
    """Columns, one row per tracking sample."""

    step: Sequence[int]
    replicate: Sequence[int]
    """1: the base model sampled a second time."""
    num_correct: Sequence[int]
    group_size: Sequence[int]


class PromptNeighbours(Body):
    """Position of the prompt in the filtered list."""

    total: int
    position: int | None
    """From 1; null if the filter does not match it."""
    previous_id: str | None
    next_id: str | None


class PromptDetail(PromptSummary):
    """A training prompt with everything stored about it."""

    answer: dict[str, Any] | None
    """Ground truth used by the verifier, if stored."""
    visits: PromptVisits
    trackings: PromptTrackings
    neighbours: PromptNeighbours


PromptShow = Literal["all", "never_solved", "always_solved", "mixed", "suspected", "disputed"]
PromptAcrossOrder = Literal["accuracy", "num_responses", "num_runs", "num_visits", "num_suspected", "prompt_id"]


class Accuracy(Body):
    """Share of correct responses over runs."""

    num_correct: int
    num_responses: int
    value: float | None
    """Null without responses."""
    low: float | None
    """Lower bound of the central 95 % of the posterior Beta(1 + k, 1 + n - k), which treats all responses as one
    policy's."""
    high: float | None


class ListedIn(Body):
    """A list that holds a prompt now."""

    list_id: str
    name: str
    weight: float
    """0: quarantined."""
    note: str


class ProjectPromptFilter(Parameters):
    """Filters and order of a project's prompts; a prompt must match all filters."""

    project: Text | None = Field(default=None, max_length=200)
    """Project; empty: the caller's only or first one."""
    search: Text | None = Field(default=None, max_length=200)
    """Part of the ID, or of the text's beginning if stored."""
    show: PromptShow = "all"
    """Never solved, always solved, neither, suspected by the findings of a run, or disputed: never solved in one run
    and always in another."""
    min_runs: int = Field(default=1, ge=1, le=1_000_000)
    sort: PromptAcrossOrder = "accuracy"
    """By accuracy, of equal ones those with the most responses come first."""
    descending: bool = False


class PromptTotalsAcross(Body):
    """A prompt over all runs of a project that answered it.

    Answers that several runs hold count once, in the oldest: a fork inherits its parent's.
    """

    prompt_id: str
    text: str | None
    """Beginning of its text, if a run stored it."""
    num_runs: int
    """Runs with answers that are not inherited."""
    num_visits: int
    accuracy: Accuracy
    """Over all evaluations of all runs."""
    num_never_solved: int
    """Runs in which no response was correct."""
    num_always_solved: int
    num_suspected: int
    """Runs whose findings suspect its label, or that right answers are judged wrong."""
    lists: Sequence[ListedIn]


class ProjectPromptPage(Page):
    """Prompts of a project in the requested order."""

    items: Sequence[PromptTotalsAcross]
    total: int
    """Number of matching prompts on all pages."""
    project: str
    num_waiting: int
    """Runs whose visits are not counted yet."""


class PromptInRun(Body):
    """A prompt in one run, with what the run inherited."""

    run_id: str
    run_name: str
    status: RunStatus
    method: str
    model: str
    created_at: datetime
    num_visits: int
    num_inherited_visits: int
    """Visits among these in steps that count in an older run."""
    accuracy: Accuracy
    first_correct: int
    last_correct: int
    group_size: int
    last_step: int
    is_suspected: bool


class PromptInRuns(Page):
    """A prompt over all runs of a project, and in some of them, newest first."""

    items: Sequence[PromptInRun]
    total: int
    """Runs that visited it or inherited visits; more than the totals' `num_runs` where runs inherited all answers."""
    project: str
    whole_text: str | None
    answer: dict[str, Any] | None
    """Ground truth of the newest run that stored it."""
    totals: PromptTotalsAcross | None
    """Null where no counted run visited it."""


class PromptCurve(Body):
    """Columns, one row per evaluation of a prompt in a run, by step, without those that count in an older run."""

    run_id: str
    run_name: str
    method: str
    model: str
    group_size: int
    step: Sequence[int]
    num_correct: Sequence[int]
    policy_version: Sequence[int | None]
    source: Sequence[BatchSource]


class PromptCurves(Page):
    """A prompt's accuracy by run."""

    items: Sequence[PromptCurve]


class PooledAnswer(Body):
    """An answer that responses give, in whatever form."""

    text: str
    num_responses: int
    num_correct: int
    """Number of these judged right."""
    is_label: bool
    """True if it equals the label except for its format."""
    by_model: dict[str, int]


class SampledText(Body):
    """A response."""

    text: str
    """Text of the response; of a long one, the end."""
    reward: float
    is_correct: bool
    answer: str | None


class SampledIn(Body):
    """The newest stored group of a prompt in a run."""

    run_id: str
    run_name: str
    method: str
    model: str
    step: int
    num_correct: int
    responses: Sequence[SampledText]


class PromptAnswers(Body):
    """Answers to a prompt in the stored responses of the newest runs."""

    num_runs: int
    """Runs that stored responses, of at most twenty."""
    num_responses: int
    num_correct: int
    num_without_answer: int
    num_label_refused: int
    """Give the label in another form and are judged wrong."""
    label: str | None
    answers: Sequence[PooledAnswer]
    """The most frequent first, at most twenty."""
    num_answers: int
    suspected: str | None
    """The wrong answer on which 60 % of the responses agree; null where there is none."""
    share: float
    """Share of responses that give the most frequent wrong answer."""
    newest: Sequence[SampledIn]
    """The newest group of each of the six newest runs."""
