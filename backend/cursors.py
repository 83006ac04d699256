"""Cursors of lists that are ordered by whole numbers."""

from __future__ import annotations

import base64
import binascii

import orjson

from backend.errors import Problem


def encode(list_name: str, *place: int) -> str:
    """The place after a row, opaque to callers."""
    return base64.urlsafe_b64encode(orjson.dumps([list_name, *place])).decode()


def decode(cursor: str, list_name: str, size: int) -> list[int]:
    """The numbers that were encoded. Raises Problem 422 for anything but a cursor of this list."""
    try:
        content = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, orjson.JSONDecodeError, UnicodeEncodeError):
        content = None
    match content:
        case [str(name), *numbers] if (
            name == list_name
            and len(numbers) == size
            and all(type(number) is int and 0 <= number < 2**63 for number in numbers)
        ):
            return numbers
    raise Problem(
        422, "invalid_request", "take the cursor from `next_cursor` of the page before", field="cursor", value=cursor
    )
