"""Patterns of short texts, and in words what each allows."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
"""Pattern of the names that configs write as @name."""
PERSON_NAME = r"^[^\W_]([\w .@+-]*[\w.+-])?$"
"""Also of projects: a name must not look like another in an audit trail."""
EMAIL = r"^[^@\s]+@[^@\s]+$"
EMAIL_OR_NONE = r"^([^@\s]+@[^@\s]+)?$"
PROMPT_LIST = r"^@[A-Za-z0-9][A-Za-z0-9._-]*(:[1-9][0-9]{0,8})?$"
SMOOTHING = r"^(mean|ema):[1-9]\d{0,2}$"
SHA256 = r"^[0-9a-f]{64}$"
CURRENCY = r"^[A-Z]{3}$"
PANEL_ID = r"^[A-Za-z0-9_-]{1,40}$"
CHART_X = r"^(step|rollouts|time|metric\..+)$"

IN_WORDS: Mapping[str, str] = {
    NAME: "must begin with a letter or digit and hold only letters, digits, dots, - and _",
    PERSON_NAME: "must begin with a letter or digit and hold only letters, digits, spaces and . @ + - _",
    EMAIL: "must be an email address, such as ada@example.org",
    EMAIL_OR_NONE: "must be empty or an email address, such as ada@example.org",
    PROMPT_LIST: "must be @name or @name:version",
    SMOOTHING: "must be mean:STEPS or ema:STEPS with 1 to 999 steps, such as mean:10",
    SHA256: "must be 64 digits of 0-9 and a-f",
    CURRENCY: "must be three capital letters, such as EUR",
    PANEL_ID: "must be 1 to 40 letters, digits, - and _",
    CHART_X: "must be step, rollouts, time, or metric. with a metric's name behind it",
}

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters, of those that are zero wide or change the order of letters, and of ends of
lines."""
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols without ink."""


def visible(name: str) -> str:
    """Return the name. Raises ValueError that names a character in it that cannot be seen.

    Such a name may look like another, or change how the text around it reads.
    """
    for character in name:
        if unicodedata.category(character) in _INVISIBLE or character in _BLANK:
            called = unicodedata.name(character, "control character")
            raise ValueError(f"the character U+{ord(character):04X} ({called}) cannot be seen in a name: remove it")
    return name
