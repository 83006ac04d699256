"""Fields that say which runs a board or a panel is about."""

from __future__ import annotations

from typing import Any

import dash_mantine_components as dmc

_EXAMPLES = "method = bapo, grpo · config.method.c1 >= 0.25 · name ~ wide · tags ~ paper · group = sweep-3"


def conditions_field(identifier: Any, label: str) -> dmc.TagsInput:
    """Return the conditions, each as the run list writes it after `where=`."""
    return dmc.TagsInput(
        id=identifier,
        label=label,
        description="Conditions that all hold, each ended with Enter, as the run list writes them; empty: all runs",
        placeholder=_EXAMPLES,
        value=[],
        # A condition may hold commas.
        splitChars=[],
        acceptValueOnBlur=True,
    )
