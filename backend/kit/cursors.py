"""Encodes and checks cursors: the place after a page's last row, opaque to callers."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import orjson

from backend.kit.errors import Problem

Place = Sequence[int | str]


def encode(list_name: str, place: Place) -> str:
    """Return a cursor of the list of this name."""
    return base64.urlsafe_b64encode(orjson.dumps([list_name, *place])).decode()


def _decode(cursor: str, list_name: str) -> Place:
    try:
        content = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, orjson.JSONDecodeError, UnicodeEncodeError):
        content = None
    if isinstance(content, list) and content[:1] == [list_name]:
        return content[1:]
    raise _foreign(cursor)


def _foreign(cursor: str) -> Problem:
    remedy = "use the `next_cursor` of a page of the same list in the same order"
    return Problem(422, "invalid_request", remedy, field="cursor", value=cursor)


def decode_numbers(cursor: str, list_name: str) -> tuple[int, int]:
    """Return two numbers that were encoded. Raises Problem 422 for anything but a cursor of this list."""
    match _decode(cursor, list_name):
        case [int(first), int(second)] if 0 <= first < 2**31 and 0 <= second < 2**63:
            return first, second
    raise _foreign(cursor)


def decode_texts(cursor: str, list_name: str, size: int) -> list[str]:
    """Return the texts that were encoded. Raises Problem 422 for anything but a cursor of this list."""
    texts = [part for part in _decode(cursor, list_name) if isinstance(part, str) and "\x00" not in part]
    if len(texts) != size:
        raise _foreign(cursor)
    return texts
