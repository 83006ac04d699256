"""All sections in the paper's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bapo.figures.groups import grouped
from bapo.figures.recorded import RecordedRun, with_named_sets
from bapo.report import data_view, policy_view
from bapo.report.section import Section, Selection

_ORDER: tuple[Callable[[Selection], Section], ...] = (
    data_view.counts,
    policy_view.rewards,
    policy_view.results,
    policy_view.group_accuracy,
    policy_view.ablations,
    data_view.bins,
    data_view.unlocks,
    data_view.composition,
    data_view.rollouts,
    policy_view.filters,
    policy_view.dynamics,
    policy_view.accuracy,
    data_view.times,
    data_view.saved,
    data_view.migration,
    data_view.datasets,
    policy_view.critics,
)


def selection_of(runs: Sequence[RecordedRun], by: str) -> Selection:
    """Return the runs in their groups. Raises ValueError where none of them has the field to group by."""
    named, sets = with_named_sets(runs)
    return Selection(named, grouped(named, by), sets.note())


def sections_of(selection: Selection) -> list[Section]:
    """Return the figures and tables of the paper that the runs allow."""
    return [section(selection) for section in _ORDER]


def names_of_sections() -> list[tuple[str, str]]:
    """Return the identifier and the displayed name of every section, in order, whatever runs there are."""
    return [(each.name, f"{each.number}: {each.title}") for each in sections_of(Selection([], []))]
