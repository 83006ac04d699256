"""Analysis of a sweep: each varied field's share of the variance of a result, compared with chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bapo.analysis.number_format import counted, percent
from bapo.analysis.result import Result

Decomposition = Literal["grid", "ranks"]
"""The exact decomposition of a whole grid; or, of any other runs, each field alone, on ranks of the result."""


class FieldShare(Result):
    """The share of the variance that one field explains, or two together beyond what each does alone."""

    fields: Sequence[str]
    """One, or the two of an interaction."""
    together_with: Sequence[str] = ()
    """Fields that change whenever this one does, so that the share is of all of them."""
    entangled_with: Sequence[str] = ()
    """Fields that mostly change with this one: their shares cannot be separated."""
    num_values: int
    """Values, or classes of values, that were compared; of an interaction, combinations."""
    value: float
    """Share beyond what the noise explains by chance; at least 0."""
    low: float
    """95 % interval."""
    high: float
    null: float
    """Above it, chance alone brings none of the shares in 95 of 100 sweeps in which no field matters."""
    is_shown: bool
    """True if the share is above `null`: otherwise it is no evidence that the field matters."""


class Importance(Result):
    """Share of the variance of a result that each varied field explains."""

    decomposition: Decomposition | None
    """`None` if nothing can be said, for `reason`."""
    reason: str = ""
    """Why nothing is said, or why the runs are not read as a grid."""
    num_runs: int
    """Runs with a result."""
    num_seeds: int = 0
    """Repetitions of each combination of a grid."""
    shares: Sequence[FieldShare] = ()
    """The largest first."""
    noise: float | None = None
    """Share that no field explains. None for `ranks`, whose shares overlap."""
    noise_source: Literal["seeds", "interactions"] | None = None
    """Source of the noise estimate: runs that repeat a combination or, if none does, interactions that are not listed.
    """
    higher: float | None = None
    """Share of interactions of three fields and more; None where there are none, or where they are the noise."""


CHANCE = "In 95 of 100 sweeps in which no field matters, no share is above its level of chance."


def share_note(share: FieldShare) -> str:
    """Name the fields from which a share cannot be separated; empty if there are none."""
    notes = []
    if share.together_with:
        notes.append(f"always changes with {', '.join(share.together_with)}: the share is of all of them")
    if share.entangled_with:
        notes.append(f"mostly changes with {', '.join(share.entangled_with)}: their shares cannot be separated")
    return "; ".join(notes)


def importance_notes(found: Importance) -> list[str]:
    """Return how the shares came about and what they mean, or why there are none."""
    if found.decomposition is None:
        return [f"Nothing can be said: {found.reason}."]
    if found.decomposition == "ranks":
        return [
            f"Each field alone, on ranks of the result, over {counted(found.num_runs, 'run')}, because {found.reason}. "
            "Shares may overlap and need not add up; level of chance from 5,000 permutations.",
            CHANCE,
        ]
    source = (
        f"measured by {counted(found.num_seeds, 'seed')} of each combination"
        if found.noise_source == "seeds"
        else "taken from the interactions that are not listed, for no combination is repeated: add seeds"
    )
    higher = "" if found.higher is None else f" Three fields and more together: {percent(found.higher)}."
    return [
        f"The whole grid over {counted(found.num_runs, 'run')}; noise {percent(found.noise)}, {source}.{higher}",
        CHANCE,
    ]
