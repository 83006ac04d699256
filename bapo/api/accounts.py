"""Who calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from bapo.api.base import Body

Role = Literal["viewer", "member", "admin"]
"""viewer: see; member: submit runs and change one's own; admin: change everything."""
Scope = Literal["read", "write", "admin"]
"""What a token may do of what its owner may: see; also submit and change; everything."""


class MembershipInfo(Body):
    """A project, and what the caller may do there."""

    id: str
    name: str
    role: Role
    is_archived: bool = False
    """An archived project takes no new runs."""


class UserInfo(Body):
    """The caller."""

    id: str
    name: str
    role: Role
    """The most that the caller may do anywhere."""
    projects: Sequence[MembershipInfo] = ()
    """By name; for administrators all."""
    may_manage_account: bool = True
    """False for a token without the scope `admin`, which changes no passwords and makes no tokens."""


class Login(Body):
    """What a browser or a script logs in with: a one-time code or a token."""

    code: str | None = Field(default=None, max_length=200, examples=["a code from a login link"])
    token: str | None = Field(default=None, max_length=200)
