"""How much of what is drawn at random a run of the tests looks at: see the profiles in `tests/conftest.py`."""

from __future__ import annotations

from hypothesis import settings

THOROUGH = "thorough"
"""Name of the profile of `./test --thorough`."""


def examples(times: float) -> settings:
    """So many times the examples that a test without settings of its own draws, in each profile."""
    return settings(max_examples=round(times * settings().max_examples))


def is_thorough() -> bool:
    """Whether the tests run by the thorough profile."""
    return settings.get_current_profile_name() == THOROUGH
