"""Text next to the shares of a result's variance."""

from __future__ import annotations

from bapo.analysis.importance_results import FieldShare, Importance
from bapo.analysis.number_format import counted, percent

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
