"""The colour scale that heat maps share."""

from __future__ import annotations

from bapo.figures.theme import Palette, translucent


def colour_scale(palette: Palette) -> list[tuple[float, str]]:
    """Returns the scale from nearly the card's colour to the full accent: more is stronger, in both schemes."""
    return [(position, translucent(palette.accent, 0.08 + 0.92 * position)) for position in (0.0, 0.25, 0.5, 0.75, 1.0)]
