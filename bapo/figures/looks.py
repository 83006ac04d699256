"""Looks of methods, other groups of runs and sources of a batch: the same colour, dash and name in every figure."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from bapo.config.method import Look, known_looks
from bapo.figures.theme import Palette
from bapo.rollout import BatchSource

_DASHES = ("solid", "dash", "dot", "dashdot")


class LineStyle(NamedTuple):
    """A line's look in one scheme."""

    colour: str
    dash: str
    symbol: str


def styles_of(labels: Sequence[str], palette: Palette) -> dict[str, LineStyle]:
    """Return the look of each label: a method's own; of any other label one that its text decides, or the next free
    one.

    The order of the labels does not matter, so that a group keeps its colour when others are hidden. Where there are
    more labels than looks, some share one.
    """
    known = known_looks()
    looks = {label: known[label] for label in labels if label in known}
    taken = {(look.colour, look.dash) for look in looks.values()}
    all_looks = [Look(colour, dash) for dash, colour in product(_DASHES, range(len(palette.methods)))]
    for label in sorted(set(labels) - set(looks)):
        start = zlib.crc32(label.encode()) % len(all_looks)
        turned = [*all_looks[start:], *all_looks[:start]]
        look = next((look for look in turned if (look.colour, look.dash) not in taken), turned[0])
        taken.add((look.colour, look.dash))
        looks[label] = look
    return {label: LineStyle(palette.methods[look.colour], look.dash, look.symbol) for label, look in looks.items()}


class DrawnSource(NamedTuple):
    """A source with its name and its colour in one scheme."""

    source: BatchSource
    name: str
    colour: str


SOURCE_NAMES = {
    BatchSource.FRESH: "X1 fresh",
    BatchSource.REEVALUATED: "X2 re-evaluated",
    BatchSource.REUSED: "X3 reused",
}


def drawn_sources(palette: Palette) -> list[DrawnSource]:
    """Return X1, X2 and X3, in the order in which they are stacked."""
    colours = (palette.fresh, palette.reevaluated, palette.reused)
    return [DrawnSource(*named, colour) for named, colour in zip(SOURCE_NAMES.items(), colours, strict=True)]
