"""Sweeps: several runs that differ in chosen fields, made and read as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from bapo.api.base import Body, FieldProblem, JsonObject, Page, Text
from bapo.api.configs import ConfigDraft, EstimateRange
from bapo.api.runs import MAX_TAGS, RunStatus, Tag
from bapo.run.control import StopMoment

MAX_SWEEP_RUNS = 500

SweepAction = Literal["start", "stop", "pause", "resume", "hold", "release"]


class SweepPlan(ConfigDraft):
    """Several runs from one config: a grid, or a list of settings."""

    name: Text = Field(min_length=1, max_length=150, examples=["c1 against v"])
    """Each run is named after it and after what it sets."""
    grid: Mapping[Text, Sequence[Any]] = Field(default={}, max_length=20, examples=[{"method.c1": [0.125, 0.25]}])
    """Dotted fields, and the values of each: every combination is a run."""
    points: Sequence[JsonObject] = Field(default=(), max_length=MAX_SWEEP_RUNS)
    """Instead of a grid: the fields that each run sets."""

    @model_validator(mode="after")
    def _grid_or_list(self) -> Self:
        if bool(self.grid) == bool(self.points):
            raise ValueError("give a grid, or a list of points: one of them")
        return self


class SweepCreate(SweepPlan):
    """Make the runs of a plan."""

    tags: Sequence[Tag] = Field(default=(), max_length=MAX_TAGS)
    notes: Text = Field(default="", max_length=100_000)
    priority: int = Field(default=50, ge=0, le=100)
    start: bool = True
    """False leaves drafts."""


class PlannedRun(Body):
    """A run that a plan would make."""

    name: str
    set: dict[str, Any]
    problems: Sequence[FieldProblem] = ()
    """Why it cannot run."""
    warnings: Sequence[FieldProblem] = ()


class SweepPreview(Body):
    """What a plan would make; nothing is made while one run of it cannot be."""

    fields: Sequence[str]
    """What varies."""
    runs: Sequence[PlannedRun]
    num_illegal: int
    rollouts: EstimateRange | None = None
    """Of all legal runs together; None, as all that follows, where nobody knows of one of them."""
    seconds: EstimateRange | None = None
    """Of all runs, one after the other."""
    compute_hours: EstimateRange | None = None
    cost: EstimateRange | None = None
    currency: str = "USD"


class SweepSummary(Body):
    """A row of the list of sweeps."""

    id: str
    name: str
    owner: str
    created_at: datetime
    fields: Sequence[str]
    num_runs: int
    statuses: Mapping[RunStatus, int]
    """Runs in each state; states without any are left out."""
    steps_done: int
    """Of all runs together."""
    steps_planned: int


class SweepPage(Page):
    """The sweeps, newest first."""

    items: Sequence[SweepSummary]


class SweepRun(Body):
    """One run of a sweep and its results."""

    id: str
    name: str
    status: RunStatus
    status_reason: str | None
    set: dict[str, Any]
    step: int
    num_steps: int
    num_rollouts: int
    reward_mean: float | None
    eval_name: str | None
    eval_base: float | None
    eval_latest: float | None
    eval_best: float | None
    eval_best_step: int | None


class SweepSetting(Body):
    """The runs that set the same, seeds aside."""

    set: dict[str, Any]
    run_ids: Sequence[str]
    num_results: int
    """Runs with an evaluation."""
    latest: float | None
    """Mean latest evaluation."""
    latest_low: float | None = None
    """Lower end of the mean's 95 % interval over seeds (Student's t); None with fewer than two results."""
    latest_high: float | None = None
    best: float | None = None
    """Mean best evaluation."""


class SweepDetail(SweepSummary):
    """One sweep."""

    notes: str
    recipe: str | None
    parent_id: str | None
    base: dict[str, Any]
    """Dotted fields that all runs set."""
    runs: Sequence[SweepRun]
    settings: Sequence[SweepSetting]
    """The same runs by setting, in the order in which the plan has them."""
    eval_name: str | None
    """Evaluation that the results are of: that of most runs."""
    actions: Sequence[SweepAction]
    """What can be done to at least one of the runs."""


class SweepActionRequest(Body):
    """Do one thing to all runs of a sweep that allow it."""

    action: SweepAction
    when: StopMoment = "step"
    """For `stop` and `pause`, as for one run."""


class SweepActionAnswer(Body):
    """What became of it."""

    num_done: int
    num_left: int
    """Runs whose state does not allow it, such as ended ones."""
    refused: Mapping[str, str]
    """Run and reason, where one refused that should have allowed it."""
