"""A refusal of the server at the fields of a form that it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dash_mantine_components as dmc
import httpx

from bapo.client import ApiError
from frontend.components.notices import error_text


def at_fields(error: ApiError | httpx.TransportError, fields: Sequence[str]) -> tuple[list[str], Any]:
    """What stands at each field, and an alert for what belongs to none of them."""
    found: dict[str, str] = {}
    if isinstance(error, ApiError):
        found = {problem.field: problem.remedy for problem in error.body.problems}
        found |= {error.body.field: error.body.remedy} if error.body.field else {}
    said = [found.get(field, "") for field in fields]
    return said, "" if any(said) else dmc.Alert(error_text(error), color="red", variant="light", role="alert")
