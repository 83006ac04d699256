"""Users, sessions and tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import Field, StrictBool

from bapo.api.base import Body, Name, Page, Text

MIN_PASSWORD = 12
MAX_PASSWORD = 1_000
"""Characters."""

Role = Literal["viewer", "member", "admin"]
"""viewer: see; member: submit runs and change one's own; admin: change everything."""
RANK: Mapping[Role, int] = {"viewer": 0, "member": 1, "admin": 2}
"""Rank of each role: it includes the rights of the roles below it."""
Scope = Literal["read", "write", "admin"]
"""Part of the owner's rights that a token has: read; also submit and change; everything."""


class MembershipInfo(Body):
    """A project, and the caller's role in it."""

    id: str
    name: str
    role: Role
    is_archived: bool = False
    """An archived project takes no new runs."""


class UserInfo(Body):
    """The calling user."""

    id: str
    name: str
    role: Role
    """The caller's highest role anywhere."""
    projects: Sequence[MembershipInfo] = ()
    """By name; all projects for administrators."""
    may_manage_account: bool = True
    """False for a token without the scope `admin`, which may not change passwords or create tokens."""
    has_password: bool = False
    has_single_sign_on: bool = False
    """True if the caller has signed in by single sign-on."""


class Login(Body):
    """Credentials: name and password, a one-time code, or a token."""

    code: str | None = Field(default=None, max_length=200, examples=["a code from a login link"])
    token: str | None = Field(default=None, max_length=200)
    name: Text | None = Field(default=None, max_length=200)
    password: Text | None = Field(default=None, max_length=MAX_PASSWORD, repr=False)


class LoginMethods(Body):
    """Ways to log in, besides one-time codes and tokens."""

    password: bool
    """True if the server accepts passwords."""
    single_sign_on: str | None
    """Name of the provider of single sign-on; null without one."""


class SignInBegun(Body):
    """A sign-in on its way to the provider."""

    address: str = Field(examples=["https://sso.example.org/authorize?client_id=bapo&response_type=code"])
    """Address of the provider for the browser."""


class SignInReturn(Body):
    """Parameters that the provider added to the address at which the browser returned."""

    state: Text = Field(max_length=200, examples=["the state of that address"], repr=False)
    code: Text | None = Field(default=None, max_length=4_000, repr=False)
    error: Text | None = Field(default=None, max_length=200)
    """Instead of a code, where the provider did not sign anybody in."""
    iss: Text | None = Field(default=None, max_length=2_000)
    """The issuer that answers, where the provider names it."""


class LoggedOut(Body):
    """The end of a session."""

    provider_address: str | None = None
    """Address that also ends the session at the provider of single sign-on; null if there is no such session."""


class PasswordSet(Body):
    """A new password, with the code of a one-time link."""

    code: Text = Field(max_length=200, repr=False)
    password: Text = Field(max_length=MAX_PASSWORD, repr=False)


class PasswordChange(Body):
    """A new password; ends all other sessions."""

    old: Text | None = Field(default=None, max_length=MAX_PASSWORD, repr=False)
    """Required if a password is set."""
    new: Text = Field(max_length=MAX_PASSWORD, repr=False)
    end_tokens: StrictBool = False
    """True to revoke the caller's tokens too."""


class SessionInfo(Body):
    """A browser's login."""

    id: str
    created_at: datetime
    last_seen_at: datetime
    """To the minute."""
    expires_at: datetime
    user_agent: str
    """The browser's own name."""
    is_current: bool
    """True if the request used it."""


class SessionPage(Page):
    """The caller's sessions, latest first."""

    items: Sequence[SessionInfo]


class TokenCreate(Body):
    """A token for scripts."""

    name: Name = Field(min_length=1, max_length=100, examples=["nightly sweep"])
    scopes: Sequence[Scope] = Field(default=("read",), min_length=1, max_length=3)
    """`read`: read only; `write`: also submit runs and change one's own; `admin`: everything the owner may do."""
    expires_in_days: int | None = Field(default=90, ge=1, le=3_650)
    """Null for a token that does not expire."""


class WorkerTokenCreate(Body):
    """A token for workers."""

    name: Name = Field(min_length=1, max_length=100, examples=["rack 3"])
    expires_in_days: int | None = Field(default=None, ge=1, le=3_650)
    """Null for a token that does not expire."""


class TokenInfo(Body):
    """A token without its secret."""

    id: str
    name: str
    prefix: str
    """First characters of the secret."""
    scopes: Sequence[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    is_expired: bool
    is_current: bool = False
    """True if the request used it."""
    workers: Sequence[str] = ()
    """Workers registered with it, of a worker token."""


class TokenPage(Page):
    """Valid tokens, newest first."""

    items: Sequence[TokenInfo]


class NewToken(TokenInfo):
    """A new token."""

    secret: str = Field(repr=False)
    """Returned only once; the server keeps a hash."""
