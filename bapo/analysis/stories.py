"""The stories by which prompts are found, with their labels and definitions for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Story(StrEnum):
    """A course that many prompts take; one prompt may have several. `bapo.analysis.prompt_outcomes` defines each."""

    UNLOCKED = "unlocked"
    SOLVED_LATER = "solved_later"
    FORGOTTEN = "forgotten"
    STUCK = "stuck"
    OSCILLATING = "oscillating"
    MASTERED = "mastered"
    NEVER_SEEN_AGAIN = "never_seen_again"


class StoryText(NamedTuple):
    """Label and definition of a story, as pages show them."""

    label: str
    definition: str


STORY_TEXTS: Mapping[Story, StoryText] = {
    Story.UNLOCKED: StoryText(
        "Unlocked",
        "0/G at the first evaluation, above 0 at the last. Chance alone unlocks many: compare with the null rate on "
        "the Difficulty tab.",
    ),
    Story.SOLVED_LATER: StoryText(
        "0/G first, solved later",
        "0/G at the first evaluation, at least half correct at the last. Chance alone does this to few prompts.",
    ),
    Story.FORGOTTEN: StoryText(
        "Forgotten",
        "At least half correct at some evaluation, 0/G at the last one. Chance alone does this to few prompts.",
    ),
    Story.STUCK: StoryText("Stuck", "Evaluated at least three times, 0/G every time."),
    Story.OSCILLATING: StoryText(
        "Oscillating",
        "Swung at least twice between a quarter correct or less and three quarters correct or more.",
    ),
    Story.MASTERED: StoryText("Mastered", "Evaluated at least twice, G/G at the first and at the last evaluation."),
    Story.NEVER_SEEN_AGAIN: StoryText(
        "Never seen again", "Visited in one step only, and that in the first half of the steps recorded so far."
    ),
}
