"""Runs that a study would make, and how they are named."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bapo.api.studies import MAX_GRID_RUNS, ForkedFrom, StudyWrite
from bapo.config import ConfigError, ConfigProblem, RunConfig
from bapo.study.declaration import Declaration

NAME_CHARACTERS = 200
"""Longest name of a run."""


@dataclass(frozen=True)
class Candidate:
    """A run that a study would make."""

    name: str
    """Unique in the study."""
    run_name: str
    point: Mapping[str, Any]
    """The fields that set it apart."""
    changes: Mapping[str, Any]
    """All fields that it sets on top of the plan's base."""
    config: RunConfig | None = None
    """`None` if it cannot run, and for a declared run, which is checked with its study."""
    problems: Sequence[ConfigProblem] = ()
    origin: ForkedFrom | None = None
    """Checkpoint of a fork; `None` for other runs."""


@dataclass(frozen=True)
class Plan:
    """A study that can be made unless one of its runs has a problem."""

    title: str
    recipe: str | None
    parent_id: str | None
    base: Mapping[str, Any]
    """Fields that all runs of a grid or list set."""
    runs: Sequence[Candidate]
    """In their order: the last field of a grid changes fastest."""
    declaration: Declaration | None = None
    """`None` for a grid or a list of runs."""
    origins: Sequence[ForkedFrom] = ()
    """Checkpoints of a fork experiment: runs are ordered by checkpoint, with the arms of each in the same order."""
    warnings: Sequence[ConfigProblem] = ()

    @property
    def fields(self) -> list[str]:
        """The fields that a grid or list varies, in the order of their first appearance."""
        return [] if self.declaration else varied_fields([run.point for run in self.runs])

    @property
    def first_runs(self) -> Sequence[Candidate]:
        """The runs that can be submitted at once: all, or those that tune."""
        tuning = self.declaration.num_tuning_runs if self.declaration else 0
        return self.runs[:tuning] if tuning else self.runs


def varied_fields(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return all fields that any of the points sets, in the order of their first appearance."""
    return list(dict.fromkeys(field for point in points for field in point))


def points_of(asked: StudyWrite) -> list[dict[str, Any]]:
    """Return the fields that each run of a grid or list sets. Raises ConfigError for none, too many, or two that are
    equal."""
    part = "grid" if asked.grid else "points"
    empty = [field for field, values in asked.grid.items() if not values]
    if empty:
        raise bad_plan(part, f"{empty[0]} has no value: give at least one, or leave the field out", empty[0])
    number = math.prod(len(values) for values in asked.grid.values()) if asked.grid else len(asked.points)
    if number > MAX_GRID_RUNS:
        raise bad_plan(part, f"these are {number:,} runs: a grid or list has at most {MAX_GRID_RUNS}", number)
    if asked.grid:
        found = [dict(zip(asked.grid, values, strict=True)) for values in itertools.product(*asked.grid.values())]
    else:
        found = [dict(point) for point in asked.points]
    counts = Counter(json.dumps(point, sort_keys=True) for point in found)
    twice = next((point for point in found if counts[json.dumps(point, sort_keys=True)] > 1), None)
    if twice is not None:
        raise bad_plan(part, "two runs would set the same: remove one, or give them different seeds", twice)
    return found


def bad_plan(field: str, remedy: str, value: Any) -> ConfigError:
    """Return a plan as a whole cannot be made."""
    return ConfigError([ConfigProblem(field, value, remedy)])


def labels_of(fields: Sequence[str]) -> dict[str, str]:
    """Return the last part of each field's path if it is unique among them, else the path."""
    last = Counter(field.rpartition(".")[2] for field in fields)
    return {field: name if last[name := field.rpartition(".")[2]] == 1 else field for field in fields}


def settings_text(point: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return a text such as `c1=0.25 seed=2`."""
    return " ".join(f"{labels[field]}={_short(value)}" for field, value in point.items())


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "–".join(_short(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
