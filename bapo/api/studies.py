"""Studies: several runs made, steered and read as one; with a question, declared beforehand and ended by a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field, StrictBool, model_validator

from bapo.analysis.fork.results import ForkExperiment
from bapo.api.base import Body, FieldProblem, JsonObject, Name, Page, Text
from bapo.api.configs import ConfigDraft, EstimateRange
from bapo.api.runs import MAX_TAGS, RunStatus, Tag
from bapo.run.control import StopMoment
from bapo.study.results import StudyArm, StudyPower, StudyReport, StudyRunState, StudyStage

__all__ = ["ForkExperiment", "StudyArm", "StudyPower", "StudyReport", "StudyRunState"]

MAX_GRID_RUNS = 500
MAX_CHECKPOINTS = 50
MAX_STEPS = 2**31 - 1

StudyAction = Literal["start", "stop", "pause", "resume", "hold", "release", "retry"]

# ---------------------------------------------------------------- requests


class StudyCheckpoint(Body):
    """A checkpoint that forks begin with."""

    run_id: Text = Field(min_length=1, max_length=100)
    step: int = Field(ge=1, le=MAX_STEPS, examples=[100])


class StudyWrite(ConfigDraft):
    """The runs to make: a study file in `text`; or a `name`, a base config, and a `grid` or a list of `points`.

    With `checkpoints`, each point is an arm of a fork experiment: a run from each of the checkpoints.
    """

    text: Text | None = Field(default=None, min_length=1, max_length=200_000)
    """Study file in TOML, as `bapo study` reads it. It says everything itself: give nothing else but the project."""
    name: Name | None = Field(default=None, min_length=1, max_length=150, examples=["c1 against v"])
    """Each run of a grid or list is named after it and after the fields that it sets."""
    grid: Mapping[Text, Sequence[Any]] = Field(default={}, max_length=20, examples=[{"method.c1": [0.125, 0.25]}])
    """Dotted fields and their values: every combination is a run."""
    points: Sequence[JsonObject] = Field(default=(), max_length=MAX_GRID_RUNS)
    """Instead of a grid: the fields that each run sets."""
    checkpoints: Sequence[StudyCheckpoint] = Field(default=(), max_length=MAX_CHECKPOINTS)
    """Instead of a recipe or parent: every run is a fork, and begins with one of these checkpoints of runs of one
    project. Several repeat the experiment, so that its differences get an interval over them."""
    further_steps: int | None = Field(default=None, ge=1, le=MAX_STEPS, examples=[40])
    """Fork experiments: steps that every run trains after its checkpoint."""
    with_unchanged: StrictBool = True
    """Fork experiments: put an arm that sets nothing before the others. The first arm is the baseline."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.text is not None:
            others = ("recipe", "parent_id", "changes", "name", "grid", "points", "checkpoints", "further_steps")
            given = [field for field in others if getattr(self, field)]
            if given:
                raise ValueError(f"a study file says everything itself: leave out {', '.join(given)}")
        elif self.name is None:
            raise ValueError("give a study file as `text`, or a `name` with a grid or a list of points")
        elif bool(self.grid) == bool(self.points):
            raise ValueError("give a grid, or a list of points: one of them")
        elif bool(self.checkpoints) != (self.further_steps is not None):
            raise ValueError("a fork experiment needs both checkpoints and further_steps; leave both out otherwise")
        elif self.checkpoints and (self.recipe is not None or self.parent_id is not None or self.project is not None):
            raise ValueError(
                "forks have the config and the project of their checkpoints: leave out recipe, parent_id and project"
            )
        return self


class StudyCreate(StudyWrite):
    """Make the runs of a study."""

    tags: Sequence[Tag] = Field(default=(), max_length=MAX_TAGS)
    notes: Text = Field(default="", max_length=100_000)
    """Markdown."""
    priority: int = Field(default=50, ge=0, le=100)
    start: StrictBool = True
    """False leaves drafts."""


class PlannedStudyRun(Body):
    """A run that a study would make."""

    name: str
    set: dict[str, Any]
    """The fields that vary; for a study with a question, those that its arm and tuning set."""
    problems: Sequence[FieldProblem] = ()
    """Why it cannot run."""
    warnings: Sequence[FieldProblem] = ()


class StudyPreview(Body):
    """The runs that a study would make, and their cost; none are made while one of them has a problem."""

    problems: Sequence[FieldProblem]
    """Problems of the study as a whole."""
    warnings: Sequence[FieldProblem] = ()
    title: str = ""
    question: str | None = None
    """Question of a declared study; null for a grid or a list of runs."""
    primary: str | None = None
    """The primary comparison in words."""
    arms: Sequence[StudyArm] = ()
    regimes: Sequence[str] = ()
    seeds: Sequence[int] = ()
    test_sets: Sequence[str] = ()
    digest: str | None = None
    fields: Sequence[str] = ()
    """The fields that vary in a grid or list."""
    runs: Sequence[PlannedStudyRun] = ()
    num_runs: int = 0
    num_tuning_runs: int = 0
    num_illegal: int = 0
    """Runs with a problem."""
    rollouts: EstimateRange | None = None
    """Total for all runs without a problem; null, like the following, if one of them cannot be estimated."""
    seconds: EstimateRange | None = None
    """One run after the other."""
    compute_hours: EstimateRange | None = None
    cost: EstimateRange | None = None
    currency: str = "USD"
    power: StudyPower | None = None
    """Power of the primary comparison, also if the study has other problems; null for a grid or a list, and if the
    seeds or the recipe cannot be parsed."""


class ShippedStudy(Body):
    """A study file that comes with the server."""

    name: str
    title: str
    question: str
    num_runs: int
    text: str


class ShippedStudies(Body):
    """The studies that come with the server."""

    items: Sequence[ShippedStudy]


# ---------------------------------------------------------------- answers


class StudyRun(Body):
    """A run of a study and its results."""

    name: str
    """The run's own name; its name in the study before it is submitted and after it is deleted."""
    run_id: str | None
    """Identifier of the run; null before it is submitted and after it is deleted."""
    set: dict[str, Any]
    """The fields that vary; for a study with a question, those that tuning sets."""
    stage: StudyStage | None = None
    """Stage of the run; null, like regime, arm and seed, in a study without a question."""
    regime: str | None = None
    arm: str | None = None
    seed: int | None = None
    state: StudyRunState
    status: RunStatus | None
    reason: str | None
    """Why it failed or was stopped."""
    step: int
    num_steps: int | None
    num_rollouts: int = 0
    reward_mean: float | None = None
    eval_name: str | None = None
    eval_base: float | None = None
    eval_latest: float | None = None
    eval_best: float | None = None
    eval_best_step: int | None = None
    continued_as: Sequence[str] = ()
    """Fork experiments: forks that continue the run after its last step."""


class StudySetting(Body):
    """The runs that set the same fields to the same values, seeds aside."""

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


class ForkedFrom(Body):
    """A checkpoint that an experiment's runs began with."""

    run_id: str
    run_name: str
    """When the experiment was made."""
    step: int
    seed: int | None
    """Seed of that run."""
    num_steps: int
    """Planned steps of that run; an arm that continues trains up to there."""


class StudySummary(Body):
    """A row of the list of studies."""

    id: str
    title: str
    question: str | None
    """Question of a declared study; null for a grid or a list of runs, which has no report."""
    owner: str
    project: str
    created_at: datetime
    num_arms: int = 0
    """0, like the numbers of regimes and seeds, without a question."""
    num_regimes: int = 0
    num_seeds: int = 0
    fields: Sequence[str] = ()
    """The fields that vary in a grid or list."""
    checkpoints: Sequence[ForkedFrom] = ()
    """Checkpoints from which the runs of a fork experiment start; empty for any other study."""
    further_steps: int | None = None
    """Steps that they train after that."""
    num_runs: int
    states: Mapping[StudyRunState, int]
    """Number of runs in each state that occurs."""
    statuses: Mapping[RunStatus, int]
    """Number of submitted runs by their own status."""
    steps_done: int
    """Completed steps of all runs together."""
    steps_planned: int


class StudyPage(Page):
    """The studies, newest first."""

    items: Sequence[StudySummary]


class StudyDetail(StudySummary):
    """One study."""

    notes: str
    text: str | None = None
    """The study file."""
    digest: str | None = None
    primary: str | None = None
    arms: Sequence[StudyArm] = ()
    regimes: Sequence[str] = ()
    seeds: Sequence[int] = ()
    test_sets: Sequence[str] = ()
    recipe: str | None
    parent_id: str | None
    """Run whose config all runs of the grid or list start from."""
    base: dict[str, Any]
    """Dotted fields that all runs set."""
    runs: Sequence[StudyRun]
    settings: Sequence[StudySetting] = ()
    """The runs of a grid or list by setting, in the order of the plan."""
    eval_name: str | None = None
    """Evaluation that these results are of: the one that most runs have."""
    actions: Sequence[StudyAction]
    """Actions that at least one of the runs allows."""


class StudyActionRequest(Body):
    """Apply an action to all runs of a study that allow it."""

    action: StudyAction
    when: StopMoment = "step"
    """For `stop` and `pause`, as for one run."""


class StudyActionAnswer(Body):
    """The outcome of an action."""

    num_done: int
    num_left: int
    """Runs whose state does not allow it, such as ended ones."""
    refused: Mapping[str, str]
    """Run and reason, for runs that refused although their state allows it."""


class StudyContinuation(Body):
    """Let an arm of a fork experiment train on, as forks of its runs' last checkpoints."""

    arm: int = Field(ge=0, le=MAX_GRID_RUNS)
    """Number of the arm, from 0."""
    steps: int | None = Field(default=None, ge=1, le=MAX_STEPS)
    """Training steps of the runs in all; by default those of their first parent, or as many further steps as the
    experiment had where it has done all of these."""


class ContinuedRun(Body):
    """A run that continues an arm."""

    id: str
    name: str
    continues: str
    """The run of the arm."""
    num_steps: int


class StudyContinued(Body):
    """The runs that continue an arm, one for each checkpoint of the experiment."""

    runs: Sequence[ContinuedRun]
