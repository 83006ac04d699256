"""Roles on the server and in projects."""

from __future__ import annotations

from frontend.components.choices import choices

ROLES = (("viewer", "viewer"), ("member", "member"), ("admin", "administrator"))


def role_options() -> list[dict[str, str]]:
    """Return the roles as a select takes them."""
    return choices(ROLES)
