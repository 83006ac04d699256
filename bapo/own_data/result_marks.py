"""Results within whole texts, such as `… = 18 pears.\\n#### 18`: found, and named as columns like `answer####`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bapo.answer_text import after_hashes, last_boxed, last_tagged
from bapo.files.column_paths import has_column, value_at

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
