"""Results within whole texts, such as `… = 18 pears.\\n#### 18`: found, and named as columns like `answer####`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bapo.answer_text import after_hashes, last_boxed, last_tagged
from bapo.files.column_paths import has_column, value_at
from bapo.tasks.mathematics import LONGEST_ANSWER

MARKS: Mapping[str, Callable[[str], str | None]] = {
    "####": after_hashes,
    r"\boxed": last_boxed,
    "<answer>": last_tagged,
}
"""Possible endings of a column's name, each with the function that takes the result from its text; None without a
result.
"""


def marked_result(text: str) -> tuple[str, str] | None:
    """Return the mark that a text has, and the result there; None for a text without."""
    found = ((mark, of(text)) for mark, of in MARKS.items())
    return next(((mark, result) for mark, result in found if result), None)


def mark_of(row: Mapping[str, Any], column: str) -> str | None:
    """Return the mark by which a column names a part of another column's text; None where it is itself a column."""
    if has_column(row, column):
        return None
    return next((mark for mark in MARKS if column.endswith(mark) and len(column) > len(mark)), None)


def column_value(row: Mapping[str, Any], column: str) -> Any:
    """Return the value of a column, within a structure, or marked in a text; None where the row has none."""
    mark = mark_of(row, column)
    if mark is None:
        return value_at(row, column)
    text = value_at(row, column.removesuffix(mark))
    return MARKS[mark](text) if isinstance(text, str) else None


_COMMAND = re.compile(r"\\[a-zA-Z]+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LAST_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?!.*\d)", re.DOTALL)
_SAYS_ANSWER = re.compile(r"\banswer\s*(?:is\b|:|=)", re.IGNORECASE)
MOST_WORDS = 11
"""Most words of an answer that a response may give in the same words."""
MOST_LINE_WORDS = 3
"""Most words of a line of an answer with several lines, such as a grid of numbers or a matrix, or with a number as its
result.
"""
MOST_LETTERS = 80
"""Most letters of several lines in a script without spaces."""


def whole_text(answer: str, judges_right: Callable[[str], bool]) -> str | None:
    """Return why no response can give the answer, in words; None where one can.

    `judges_right`: whether a response with this result would be rewarded. Of a few words with a number it is asked for
    the bare number, which is what a model answers.
    """
    text = answer.strip()
    if len(text) > LONGEST_ANSWER:
        return f"it has {len(text):,} characters, more than the {LONGEST_ANSWER:,} of an answer that is read"
    num_words = len(_WORD.findall(_COMMAND.sub(" ", text)))
    marked = marked_result(text)
    # A mere box around the result is one that `math` sees through; to try that on a long text takes seconds.
    if marked is not None and (num_words > MOST_LINE_WORDS or not judges_right(marked[1])):
        mark, result = marked
        return f"it is a whole text whose result {'follows' if mark == '####' else 'is in'} {mark}: {result[:100]!r}"
    if num_words > MOST_WORDS or _SAYS_ANSWER.search(text):
        return f"it is a whole text ({text[:60]!r}…), not a result"
    if "\n" in text and (num_words > MOST_LINE_WORDS or (num_words and len(text) > MOST_LETTERS)):
        return f"it is a text of {text.count(chr(10)) + 1} lines ({text[:60]!r}…), not a result"
    number = _LAST_NUMBER.search(text)
    if num_words > MOST_LINE_WORDS and number is not None and not judges_right(number[0]):
        return f"it is a text around a result: {number[0]!r} alone is judged wrong, where the answer is {text[:100]!r}"
    return None
