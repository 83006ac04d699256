"""Exports as files: CSV for spreadsheets, and JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fastapi import Response

CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "A table with a header."}
}
"""A CSV export in the description of the API."""
JSON_LINES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "One JSON object a line."}
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet would take a text that begins so for a formula."""


def attachment(content: str | bytes, media_type: str, name: str) -> Response:
    """Return a file that a browser saves under this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def csv_file(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Response:
    """Return a table as a CSV file."""
    return attachment(csv_lines([header, *rows]), "text/csv", name)


def csv_lines(rows: Sequence[Sequence[Any]]) -> str:
    """Return the rows as CSV that spreadsheets read as plain values."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return value.isoformat(timespec="seconds")
        case list() | tuple():
            return _text(", ".join(map(str, value)))
        case str():
            return _text(value)
        case _:
            return str(value)


def _text(value: str) -> str:
    return f"'{value}" if value.startswith(_FORMULA) else value
