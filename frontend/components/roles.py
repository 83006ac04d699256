"""Roles on the server and in projects, for selects."""

from __future__ import annotations

from typing import Any

ROLES = (("viewer", "viewer"), ("member", "member"), ("admin", "administrator"))


def role_options() -> list[Any]:
    """For a select."""
    return [{"value": value, "label": label} for value, label in ROLES]
