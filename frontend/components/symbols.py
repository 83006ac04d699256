"""The paper's symbols with their plain names, a sentence, the equation and the legal range."""

from __future__ import annotations

from typing import NamedTuple


class Symbol(NamedTuple):
    """A config field's symbol in the paper, and its plain name."""

    symbol: str
    """Symbol as printed in the paper; empty if it has none."""
    name: str
    explanation: str
    """One sentence, with the equation or section."""
    legal: str
    """Legal range in words."""


SYMBOLS: dict[str, Symbol] = {
    "method.type": Symbol("", "Method", "The algorithm that decides what to roll out and what to train on.", ""),
    "method.c1": Symbol(
        "c1",
        "difficulty threshold",
        "A prompt whose accuracy is at most c1 enters the difficult buffer, to be re-evaluated later (Eq. 6).",
        "0 ≤ c1 < 1, such as 1/8",
    ),
    "method.c2": Symbol(
        "c2",
        "lower reuse threshold",
        "Groups with an accuracy of at least c2 may be reused; c2 moves from its first value, at r_tot = 0, to its "
        "second, at r_tot = 1 (Eq. 8).",
        "0 ≤ c2 ≤ c3 < 1 at both ends",
    ),
    "method.c3": Symbol(
        "c3",
        "upper reuse threshold",
        "Groups with an accuracy of at most c3 may be reused; c3 moves from its first value, at r_tot = 0, to its "
        "second, at r_tot = 1 (Eq. 8).",
        "c2 ≤ c3 < 1 at both ends",
    ),
    "method.v": Symbol(
        "v",
        "sync interval",
        "The rollout policy α takes over the trained weights every v steps (Alg. 1).",
        "whole number ≥ 1; 1 is on-policy",
    ),
    "method.m": Symbol(
        "m",
        "re-evaluate every",
        "Difficult prompts are re-evaluated by the current policy every m steps (Alg. 1, Eq. 6).",
        "whole number ≥ 1",
    ),
    "method.max_reevaluated_prompts": Symbol(
        "",
        "Most re-evaluated",
        "Most difficult prompts in one re-evaluation; each costs G responses.",
        "whole number ≥ 0",
    ),
    "rollout.group_size": Symbol(
        "G", "group size", "Responses per prompt; accuracies are multiples of 1/G (Eq. 2).", "2 to 1,024"
    ),
    "rollout.batch_size": Symbol("", "Fresh prompts", "Fresh prompts rolled out in each step.", "whole number ≥ 1"),
    "training.batch_size": Symbol(
        "B", "batch size", "Most groups trained on in a step: X1 ∪ X2 ∪ X3 (Eq. 7).", "whole number ≥ 1"
    ),
    "training.steps": Symbol(
        "", "training steps", "Length of the run; give either this or epochs.", "whole number ≥ 1"
    ),
    "training.learning_rate": Symbol("", "learning rate", "Adam's step size.", "above 0, at most 1"),
    "training.seed": Symbol("", "seed", "Determines every random draw: the same seed repeats the run.", "0 to 2³² − 1"),
}


def short_name(path: str) -> str:
    """Return the symbol of a config field, or its name within its section.

    `method.c1` → `c1`, `training.steps` → `steps`, `method.filter.type` → `filter.type`.
    """
    symbol = SYMBOLS.get(path)
    return symbol.symbol if symbol and symbol.symbol else path.split(".", 1)[-1]
