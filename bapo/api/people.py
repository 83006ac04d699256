"""People and projects, for those who look after them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from bapo.api.accounts import MembershipInfo, Role
from bapo.api.base import Body, Page, Text

NAME_PATTERN = r"^[^\W_]([\w .@+-]*[\w.+-])?$"
"""Letters and digits, with spaces and . @ + - _ in between: a name must not look like another in an audit trail."""


class MembershipWrite(Body):
    """What somebody shall be in a project."""

    project: Text = Field(max_length=200, examples=["default"])
    role: Role


class PersonCreate(Body):
    """A new user, who sets a password with a one-time link."""

    name: Text = Field(min_length=1, max_length=100, pattern=NAME_PATTERN, examples=["ada"])
    role: Role = "member"
    """The most that they may do anywhere; an administrator may do everything."""
    projects: Sequence[MembershipWrite] = Field(default=(), max_length=1_000)


class PersonUpdate(Body):
    """What changes; what is left out stays."""

    role: Role | None = None
    disabled: bool | None = None
    """A disabled user's sessions and tokens end."""


class PersonInfo(Body):
    """A user."""

    id: str
    name: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None
    last_seen_at: datetime | None
    """Latest use of a session or token, to the minute."""
    has_password: bool
    projects: Sequence[MembershipInfo]


class PersonPage(Page):
    """All users by name."""

    items: Sequence[PersonInfo]


class PasswordLink(Body):
    """A one-time link with which somebody sets a password."""

    path: str = Field(repr=False)
    """To be opened on the dashboard's address; shown this once."""
    expires_at: datetime


class NewPerson(PersonInfo):
    """A user who was just made."""

    link: PasswordLink


class ProjectCreate(Body):
    """A new project."""

    name: Text = Field(min_length=1, max_length=100, pattern=NAME_PATTERN, examples=["planning"])
    description: Text = Field(default="", max_length=10_000)


class ProjectUpdate(Body):
    """What changes; what is left out stays."""

    name: Text | None = Field(default=None, min_length=1, max_length=100, pattern=NAME_PATTERN)
    description: Text | None = Field(default=None, max_length=10_000)
    archived: bool | None = None
    """An archived project keeps its runs and takes no new ones."""


class ProjectInfo(Body):
    """A project."""

    id: str
    name: str
    description: str
    created_at: datetime
    archived_at: datetime | None
    num_runs: int
    num_members: int
    role: Role
    """What the caller may do there."""
    may_manage: bool
    """Whether the caller may change it and its members."""


class ProjectPage(Page):
    """The caller's projects by name."""

    items: Sequence[ProjectInfo]


class MemberWrite(Body):
    """Who shall be what in a project."""

    name: Text = Field(min_length=1, max_length=100, examples=["ada"])
    role: Role


class MemberInfo(Body):
    """A member of a project."""

    user_id: str
    name: str
    role: Role
    is_disabled: bool


class MemberPage(Page):
    """All members by name; administrators of the server, who see everything, are none of them by that."""

    items: Sequence[MemberInfo]


class AuditRecord(Body):
    """Who did what, when."""

    id: int
    at: datetime
    author: str
    action: str
    run_id: str | None
    detail: dict[str, Any]


class AuditPage(Page):
    """The newest first."""

    items: Sequence[AuditRecord]
