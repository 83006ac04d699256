"""Flags as trainers write them: truth values, 0 and 1, their texts, and words for how a generation ended."""

from __future__ import annotations

from typing import Any

_CUT = frozenset(("length", "max_length", "max_tokens", "max_new_tokens", "model_length", "truncated"))
_WHOLE = frozenset(
    (
        *("stop", "stopped", "stop_sequence", "stop_token", "eos", "eos_token", "end_turn", "matched_token"),
        *("matched_str", "tool_calls", "tool_use", "function_call", "completed", "done"),
        *("content_filter", "abort", "aborted"),
    )
)
_TRUTH = {"true": True, "1": True, "1.0": True, "yes": True, "false": False, "0": False, "0.0": False, "no": False}
_REMEDY = "give true or false, or 0 or 1"


def flag_of(given: Any) -> bool:
    """Return a truth value, also one that is written as a number or as a text.

    Raises ValueError, whose message is the remedy, for anything else: a text must not count as true because it is not
    empty.
    """
    if given is True or given is False:
        return bool(given)
    if getattr(given, "size", 0) == 1 or hasattr(given, "numel"):
        # A scalar of an array or a tensor.
        given = given.item()
    if isinstance(given, bool | int | float) and given in (0, 1):
        return bool(given)
    if isinstance(given, str) and (word := given.strip().casefold()) in _TRUTH:
        return _TRUTH[word]
    raise ValueError(_REMEDY)


def is_cut_of(given: Any) -> bool:
    """Return whether a response was cut at the token limit: a truth value, or how its generation ended.

    Raises ValueError as `flag_of`.
    """
    if isinstance(given, dict) and isinstance(given.get("type"), str):
        # As SGLang has it: {"type": "length", "length": 512}.
        given = given["type"]
    if isinstance(given, str):
        # As an enumeration is written: FinishReason.LENGTH.
        word = given.strip().casefold().rpartition(".")[2].removeprefix("finish_")
        if word in _CUT or word in _WHOLE:
            return word in _CUT
    try:
        return flag_of(given)
    except ValueError:
        words = ", ".join(sorted(_CUT | _WHOLE))
        raise ValueError(f"{_REMEDY}, or how the generation ended: {words}") from None
