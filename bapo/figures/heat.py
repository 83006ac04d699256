"""Heat maps whose cells are shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from bapo.figures.theme import Palette, translucent


def heat_map(palette: Palette, title: str, ticks: Mapping[str, Any], **cells: Any) -> go.Heatmap:
    """Return cells from nearly the card's colour to the full accent, more is stronger in both schemes; the bar's title
    and ticks are next to it.
    """
    small = {"size": 11, "color": palette.muted}
    bar = {"title": {"text": title, "side": "right", "font": small}, "tickfont": small, **ticks}
    return go.Heatmap(
        colorscale=[(place, translucent(palette.accent, 0.08 + 0.92 * place)) for place in (0.0, 0.25, 0.5, 0.75, 1.0)],
        colorbar={"thickness": 10, "outlinewidth": 0, **bar},
        hoverongaps=False,
        **cells,
    )
