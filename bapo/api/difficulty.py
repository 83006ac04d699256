"""How a run's prompts move between accuracies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bapo.analysis.transition_results import MigrationMatrix, MigrationRate, MigrationSummary
from bapo.api.base import Body

__all__ = ["MigrationMatrix", "MigrationRate", "MigrationSummary"]

MigrationKind = Literal["tracked", "last_seen"]
"""`tracked`: the tracked prompts, each sampled at both steps; `last_seen`: every training prompt as it was last
evaluated by then, each at a step and by a policy of its own."""


class Migration(Body):
    """Accuracy of prompts at one step against another."""

    kind: MigrationKind
    group_size: int
    from_step: int
    """The step really used: of tracked prompts the last sampling up to the step asked for."""
    to_step: int
    steps: Sequence[int]
    """Steps at which the prompts were tracked; empty for `last_seen`, which any step from 0 to `last_step` has."""
    last_step: int
    """The last step that could be asked for."""
    matrix: MigrationMatrix
    null: MigrationMatrix | None
    """The base model sampled twice, which is what chance alone moves; None until it was, and for `last_seen`, for which
    there is no such measurement."""


class FlowClass(Body):
    """Accuracies that flows do not tell apart."""

    name: str
    """`unsolved` (0/G), `low`, `middle`, `high`, `solved` (G/G) or `not_seen`."""
    lowest: int
    """Smallest number of correct responses, the largest follows; -1 for prompts that were not seen yet."""
    highest: int


class FlowPath(Body):
    """Prompts that went the same way."""

    classes: Sequence[int]
    """Index of the class at each step."""
    num_prompts: int


class Flows(Body):
    """How prompts moved over some steps."""

    kind: MigrationKind
    group_size: int
    steps: Sequence[int]
    """The steps really used, one for each step asked for."""
    classes: Sequence[FlowClass]
    paths: Sequence[FlowPath]
    """Most prompts first; prompts that were not seen at any of the steps are left out."""
    num_prompts: int
