"""Who calls."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bapo.api.base import Body


class UserInfo(Body):
    """The caller."""

    id: str
    name: str
    role: Literal["viewer", "member", "admin"]


class Login(Body):
    """What a browser or a script logs in with: a one-time code or a token."""

    code: str | None = Field(default=None, max_length=200, examples=["a code from a login link"])
    token: str | None = Field(default=None, max_length=200)
