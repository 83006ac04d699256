"""One figure or table of the paper, made from the selected runs, or what it would need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from bapo.figures.groups import Group
from bapo.figures.recorded import RecordedRun
from bapo.figures.tables import TextTable
from bapo.figures.theme import Palette

Draw = Callable[[Palette], Sequence[go.Figure]]


class Section(NamedTuple):
    """A numbered figure or table with its words."""

    name: str
    """Short and unique, such as `figure-4`."""
    number: str
    """In the paper, such as "Figure 7, 13"."""
    title: str
    """The quantity that it shows."""
    caption: str
    """The question that it answers, and how to read it."""
    paper: str = ""
    """Results that the paper reports there, for comparison."""
    shows: str = ""
    """Selected runs, and their number of seeds."""
    needs: str = ""
    """Missing requirement of the selected runs; else the section has figures or a table."""
    draw: Draw | None = None
    table: TextTable | None = None


class Selection(NamedTuple):
    """The runs that the sections show, and their groups."""

    runs: Sequence[RecordedRun]
    groups: Sequence[Group]
    held_out_note: str | None = None
    """Sentences on held-out sets that differ and are not compared, and on compared sets that are not fully known."""


def shown_runs(groups: Sequence[Group]) -> str:
    """Return groups with their seeds: "BAPO (n = 3), GRPO (n = 1)"."""
    return ", ".join(f"{group.label} (n = {len(group.runs)})" for group in groups)


def shown_counts(counts: Sequence[tuple[str, int]]) -> str:
    """Return labels with the number of runs that a figure used."""
    return ", ".join(f"{label} (n = {n})" for label, n in counts)


def smoothing_note(window: int) -> str:
    """Say that points are means of several steps, where they are."""
    return f" Points are means of {window} steps." if window > 1 else ""


INTERVALS = "Lines are means over seeds, bands their 95 % t intervals; one seed is a line without a band."
