"""Studies: arms × regimes × seeds that are declared before the first run, made whole, and read as one report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field

from bapo.api.base import Body, FieldProblem, Page, Text
from bapo.api.configs import EstimateRange
from bapo.run.control import StopMoment
from bapo.study.results import StudyArm, StudyReport, StudyRunInfo, StudyRunState

__all__ = ["StudyArm", "StudyReport", "StudyRunInfo", "StudyRunState"]


StudyAction = Literal["start", "stop", "pause", "resume", "hold", "release", "retry"]

# ---------------------------------------------------------------- what is asked


class StudyWrite(Body):
    """A study file."""

    text: Text = Field(min_length=1, max_length=200_000)
    """TOML, as `bapo study` reads it."""
    project: Text | None = Field(default=None, max_length=200)
    """Empty: the caller's own, where there is one only."""


class StudyCreate(StudyWrite):
    """Make the runs of a study."""

    priority: int = Field(default=50, ge=0, le=100)


class StudyPreview(Body):
    """What a study file says; nothing is made."""

    problems: Sequence[FieldProblem]
    """Why it cannot be made."""
    warnings: Sequence[FieldProblem] = ()
    title: str = ""
    question: str = ""
    primary: str = ""
    """The primary comparison in words."""
    arms: Sequence[StudyArm] = ()
    regimes: Sequence[str] = ()
    seeds: Sequence[int] = ()
    test_sets: Sequence[str] = ()
    num_runs: int = 0
    num_tuning_runs: int = 0
    seconds: EstimateRange | None = None
    """Of all runs, one after the other; None where nobody knows."""
    digest: str = ""


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


# ---------------------------------------------------------------- what became of it


class StudySummary(Body):
    """A row of the list of studies."""

    id: str
    title: str
    question: str
    owner: str
    project: str
    created_at: datetime
    num_arms: int
    num_regimes: int
    num_seeds: int
    states: Mapping[StudyRunState, int]
    """Runs in each state; states without any are left out."""
    steps_done: int
    steps_planned: int


class StudyPage(Page):
    """The studies, newest first."""

    items: Sequence[StudySummary]


class StudyDetail(StudySummary):
    """One study."""

    text: str
    """The file."""
    digest: str
    primary: str
    arms: Sequence[StudyArm]
    regimes: Sequence[str]
    seeds: Sequence[int]
    test_sets: Sequence[str]
    runs: Sequence[StudyRunInfo]
    actions: Sequence[StudyAction]
    """What can be done to at least one of the runs."""


class StudyActionRequest(Body):
    """Do one thing to all runs of a study that allow it."""

    action: StudyAction
    when: StopMoment = "step"
    """For `stop` and `pause`, as for one run."""


class StudyActionAnswer(Body):
    """What became of it."""

    num_done: int
    num_left: int
    """Runs whose state does not allow it, such as ended ones."""
    refused: Mapping[str, str]
    """Run and reason, where one refused that should have allowed it."""


# ---------------------------------------------------------------- the report
