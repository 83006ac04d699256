"""The three sources of a batch, as every figure names and colours them."""

from __future__ import annotations

from typing import NamedTuple

from bapo.figures.theme import Palette
from bapo.rollout import BatchSource


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
