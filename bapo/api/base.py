"""Bases of all bodies of the API: storable values, pages, errors."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from bapo.config.descriptions import describe_properties
from bapo.config.errors import FieldProblem
from bapo.config.patterns import visible

__all__ = ["FieldProblem"]


_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _storable(value: Any) -> Any:
    """Return the value, if JSON and PostgreSQL can hold it. Raises ValueError."""
    match value:
        case str():
            if _UNSTORABLE.search(value):
                raise ValueError("the text holds a NUL character or half a character: remove it")
        case bool():
            pass
        case int():
            if not -(2**63) <= value < 2**63:
                raise ValueError("the number does not fit into 64 bits: give a smaller one")
        case float():
            if not math.isfinite(value):
                raise ValueError("NaN and infinities are no JSON numbers: give a finite one")
        case dict():
            for key, member in value.items():
                _storable(key)
                _storable(member)
        case list():
            for member in value:
                _storable(member)
    return value


Text = Annotated[str, AfterValidator(_storable)]
"""Text that can be stored."""
Name = Annotated[Text, AfterValidator(visible)]
"""Name or label of something, in which every character can be seen."""
JsonObject = Annotated[dict[str, Any], AfterValidator(_storable)]
"""A JSON object that can be stored."""


class Body(BaseModel):
    """Common base: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=describe_properties)


class Parameters(Body):
    """Common base of what is asked in an address, of which FastAPI describes the fields and never the whole."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ErrorBody(Body):
    """Every error of the API."""

    code: str
    """Stable and machine-readable, such as `invalid_config`, `not_found`, `illegal_transition`."""
    field: str | None = None
    value: Any = None
    remedy: str
    """Sentence with the cause and the remedy."""
    problems: Sequence[FieldProblem] = ()
    """All problems if there are several; the first is repeated above."""
    request_id: str


class Page(Body):
    """One page of a list."""

    next_cursor: str | None = None
    """Cursor of the next page; null on the last."""
