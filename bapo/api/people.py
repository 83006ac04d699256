"""Users, projects and members."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import Field, StrictBool

from bapo.api.accounts import MembershipInfo, Role
from bapo.api.base import Body, Name, Page, Text
from bapo.config import patterns

MAX_EMAIL = 320


class MembershipWrite(Body):
    """A role in a project."""

    project: Text = Field(max_length=200, examples=["default"])
    role: Role


class PersonCreate(Body):
    """A new user, who sets a password with a one-time link."""

    name: Name = Field(min_length=1, max_length=100, pattern=patterns.PERSON_NAME, examples=["ada"])
    role: Role = "member"
    """The user's highest role anywhere; an administrator may do everything."""
    email: Text | None = Field(default=None, max_length=MAX_EMAIL, pattern=patterns.EMAIL)
    """With `BAPO_OIDC_LINK_BY_EMAIL`, a first sign-in with this verified address opens this account."""
    projects: Sequence[MembershipWrite] = Field(default=(), max_length=1_000)


class PersonUpdate(Body):
    """Fields to change; omitted fields stay as they are."""

    role: Role | None = None
    disabled: StrictBool | None = None
    """Disabling ends the user's sessions and tokens."""
    email: Text | None = Field(default=None, max_length=MAX_EMAIL, pattern=patterns.EMAIL_OR_NONE)
    """Empty to remove it."""


class IdentityInfo(Body):
    """A user as a provider of single sign-on knows them."""

    issuer: str
    subject: str
    """The user's identifier there."""
    last_login_at: datetime


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
    email: str | None = None
    """E-mail address from an administrator or the provider of single sign-on."""
    identities: Sequence[IdentityInfo] = ()
    """At providers of single sign-on."""
    projects: Sequence[MembershipInfo]


class PersonPage(Page):
    """All users by name."""

    items: Sequence[PersonInfo]


class PasswordLink(Body):
    """A one-time link to set a password."""

    path: str = Field(repr=False)
    """Path on the dashboard's address; returned only once."""
    expires_at: datetime


class NewPerson(PersonInfo):
    """A new user and their password link."""

    link: PasswordLink


class ProjectCreate(Body):
    """A new project."""

    name: Name = Field(min_length=1, max_length=100, pattern=patterns.PERSON_NAME, examples=["planning"])
    description: Text = Field(default="", max_length=10_000)


class ProjectUpdate(Body):
    """Fields to change; omitted fields stay as they are."""

    name: Name | None = Field(default=None, min_length=1, max_length=100, pattern=patterns.PERSON_NAME)
    description: Text | None = Field(default=None, max_length=10_000)
    archived: StrictBool | None = None
    """An archived project keeps its runs and accepts no new ones."""


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
    """The caller's role in it."""
    may_manage: bool
    """True if the caller may change it and its members."""


class ProjectPage(Page):
    """The caller's projects by name."""

    items: Sequence[ProjectInfo]


class MemberWrite(Body):
    """A user and their role in the project."""

    name: Text = Field(min_length=1, max_length=100, examples=["ada"])
    role: Role


class MemberInfo(Body):
    """A member of a project."""

    user_id: str
    name: str
    role: Role
    is_disabled: bool


class MemberPage(Page):
    """All members by name. Administrators of the server may do everything without being members."""

    items: Sequence[MemberInfo]


class AuditRecord(Body):
    """An entry of the audit trail."""

    id: int
    at: datetime
    author: str
    action: str
    run_id: str | None
    detail: dict[str, Any]


class AuditPage(Page):
    """Entries, newest first."""

    items: Sequence[AuditRecord]
