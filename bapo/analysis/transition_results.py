"""A matrix of accuracies before and after, with the rates that are read from it."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.analysis.result import Result


class MigrationRate(Result):
    """A share of prompts that moved, with its 95 % interval."""

    value: float
    low: float
    high: float
    num_moved: int
    num_prompts: int
    """Prompts that could have moved so."""


class MigrationSummary(Result):
    """Moves between two steps; None where no prompt could move so."""

    unlocked: MigrationRate | None
    """Share of the prompts at 0/G that are now above."""
    strictly_unlocked: MigrationRate | None
    """Share of the prompts at 0/G that are now at 1/2 or more."""
    lost: MigrationRate | None
    """Share of the prompts above 0/G that are now at 0/G."""


class MigrationMatrix(Result):
    """Prompts by accuracy before and after."""

    counts: Sequence[Sequence[int]]
    """`counts[i][j]`: prompts with i of G correct before and j after; index G + 1 is "not seen"."""
    before: Sequence[int]
    """Prompts per accuracy before: the sums of the rows."""
    after: Sequence[int]
    """Prompts per accuracy after: the sums of the columns."""
    num_prompts: int
    """Prompts seen both times, over which the rates are taken."""
    rates: MigrationSummary
