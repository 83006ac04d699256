"""Moves of a run's prompts between accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bapo.analysis.transition_results import MigrationMatrix, MigrationRate, MigrationSummary
from bapo.api.base import Body

__all__ = ["MigrationMatrix", "MigrationRate", "MigrationSummary"]

MigrationKind = Literal["tracked", "last_seen"]
"""`tracked`: the tracked prompts, each sampled at both steps; `last_seen`: every training prompt as it was last
evaluated by then, each at a different step and by a different policy."""


class Migration(Body):
    """Prompts by accuracy at one step against another."""

    kind: MigrationKind
    group_size: int
    from_step: int
    """The step used: for tracked prompts, the last sampling up to the requested step."""
    to_step: int
    steps: Sequence[int]
    """Steps with samplings of the tracked prompts; empty for `last_seen`, which has any step up to `last_step`."""
    last_step: int
    """Last step that can be requested."""
    matrix: MigrationMatrix
    null: MigrationMatrix | None
    """The base model sampled twice: moves by chance alone. Null until sampled, and for `last_seen`."""


class FlowClass(Body):
    """A class of accuracies."""

    name: str
    """`unsolved` (0/G), `low`, `middle`, `high`, `solved` (G/G) or `not_seen`."""
    lowest: int
    """Smallest number of correct responses, the largest follows; -1 for prompts not seen yet."""
    highest: int


class FlowPath(Body):
    """Prompts with the same sequence of classes."""

    classes: Sequence[int]
    """Index of the class at each step."""
    num_prompts: int


class Flows(Body):
    """Moves of prompts over several steps."""

    kind: MigrationKind
    group_size: int
    steps: Sequence[int]
    """The steps used, one for each requested."""
    classes: Sequence[FlowClass]
    paths: Sequence[FlowPath]
    """Most prompts first; prompts not seen at any of the steps are left out."""
    num_prompts: int
