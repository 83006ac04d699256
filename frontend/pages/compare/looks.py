"""Names and looks of compared groups, as in all figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bapo.analysis.comparison import shown_name
from bapo.figures.methods import LineStyle, styles_of
from bapo.figures.theme import Palette


def styles(labels: Sequence[str], palette: Palette) -> dict[str, LineStyle]:
    """Return the style of each group by its label."""
    names = shown_names(labels)
    found = styles_of(list(names.values()), palette)
    return {label: found[name] for label, name in names.items()}


def shown_names(labels: Sequence[str]) -> Mapping[str, str]:
    """Return the shown names by label."""
    return {label: shown_name(label) for label in labels}
