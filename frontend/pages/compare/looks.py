"""Colours of groups that stay when other groups come and go."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import product

from bapo.figures.methods import KNOWN_STYLES, METHOD_NAMES, LineStyle, Look
from bapo.figures.theme import Palette

_DASHES = ("solid", "dash", "dot", "dashdot")
_LOOKS = [Look(colour, dash, "circle") for dash, colour in product(_DASHES, range(7))]


def styles(labels: Sequence[str], palette: Palette) -> dict[str, LineStyle]:
    """A method has its own look; another label one that follows from its text, or the next that is free.

    Labels beyond the 28 looks share them.
    """
    known = {label: KNOWN_STYLES[name] for label in labels if (name := METHOD_NAMES.get(label, label)) in KNOWN_STYLES}
    taken = {(look.colour, look.dash) for look in known.values()}
    found: dict[str, Look] = dict(known)
    # In an order of their own, so that the order of the runs does not matter.
    for label in sorted(set(labels) - set(known)):
        start = zlib.crc32(label.encode()) % len(_LOOKS)
        turned = [*_LOOKS[start:], *_LOOKS[:start]]
        free = [look for look in turned if (look.colour, look.dash) not in taken]
        look = (free or turned)[0]
        taken.add((look.colour, look.dash))
        found[label] = look
    return {label: LineStyle(palette.methods[look.colour], look.dash, look.symbol) for label, look in found.items()}


def shown_name(label: str) -> str:
    """`bapo · c1 0.25` → "BAPO · c1 0.25"."""
    head, separator, rest = label.partition(" · ")
    return METHOD_NAMES.get(head, head) + separator + rest


def shown_names(labels: Sequence[str]) -> Mapping[str, str]:
    """By label."""
    return {label: shown_name(label) for label in labels}
