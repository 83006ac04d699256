"""`bapo users`: accounts on the server; `bapo audit`: what they did. For administrators."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

import typer

from bapo.api.people import (
    AuditPage,
    AuditRecord,
    MembershipWrite,
    PasswordLink,
    PersonCreate,
    PersonInfo,
    PersonPage,
    PersonUpdate,
)
from bapo.cli.connection import Answer, answering, online
from bapo.cli.failures import RefusedError
from bapo.cli.lazy import group
from bapo.cli.listing import LimitOption, Listing, listed
from bapo.cli.output import NOTHING, JsonOption, print_json, say
from bapo.client import Client
from bapo.client.core import address_of

app = group("Manage users; for administrators.")


class RoleName(StrEnum):
    """Roles of a user."""

    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"


def _logins(user: PersonInfo) -> str:
    ways = {"password": user.has_password, "single sign-on": bool(user.identities)}
    return ", ".join(way for way, is_set_up in ways.items() if is_set_up) or NOTHING


NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="User name.")]
USERS = Listing[PersonInfo](
    {
        "name": lambda user: user.name,
        "role": lambda user: user.role,
        "projects": lambda user: ", ".join(f"{each.name} ({each.role})" for each in user.projects) or NOTHING,
        "seen": lambda user: user.last_seen_at,
        "logs in by": _logins,
        "state": lambda user: "disabled" if user.disabled_at else "",
    },
    cut=("name", "projects"),
)


def find_user(client: Client, name: str) -> PersonInfo:
    """Return the user with this name or id. Raises RefusedError."""
    for person in client.people().items:
        if name in (person.name, person.id):
            return person
    raise RefusedError(f"no user is called {name!r}: `bapo users list` shows all")


@app.command("list")
@listed(USERS)
def list_users(client: Client) -> PersonPage:
    """List users with their roles and projects."""
    return client.people()


@app.command("add")
@online
def add(
    client: Client,
    name: NameArgument,
    role: Annotated[RoleName, typer.Option(help="Highest role they can have in any project.")] = RoleName.MEMBER,
    projects: Annotated[
        list[str] | None,
        typer.Option(
            "--project", metavar="PROJECT[:ROLE]", help="Add to this project, by default as member; repeatable."
        ),
    ] = None,
    email: Annotated[str | None, typer.Option(help="E-mail address, for single sign-on.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a user and print the link with which they set a password. The link is shown only once.

    [bold]bapo users add ada --project planning --project default:viewer[/bold]
    """
    body = PersonCreate.model_construct(name=name, role=role.value, email=email, projects=_memberships(projects or ()))
    made = client.create_person(body)
    if as_json:
        print_json(made)
        return
    say(f"{made.name} ({made.role}): created")
    _print_link(client, made.link)


def _memberships(texts: Sequence[str]) -> list[MembershipWrite]:
    found = []
    for text in texts:
        project, _, role = text.rpartition(":")
        if not project:
            project, role = text, "member"
        if role not in set(RoleName):
            raise RefusedError(f"--project = {text!r}: write PROJECT, or PROJECT:viewer, PROJECT:member, PROJECT:admin")
        found.append(MembershipWrite.model_validate({"project": project, "role": role}))
    return found


@app.command("link")
@online
def link(client: Client, name: NameArgument, as_json: JsonOption = False) -> None:
    """Print a link with which a user sets a new password."""
    made = client.new_password_link(find_user(client, name).id)
    if as_json:
        print_json(made)
    else:
        _print_link(client, made)


def _print_link(client: Client, made: PasswordLink) -> None:
    say(f"valid for one use, until {made.expires_at:%Y-%m-%d %H:%M} UTC:")
    print(address_of(client.http) + made.path)


@app.command("role")
@answering
def change_role(
    client: Client, name: NameArgument, role: Annotated[RoleName, typer.Argument(help="New role.")]
) -> Answer:
    """Change a user's highest role."""
    return _updated(client, name, PersonUpdate(role=role.value))


@app.command("email")
@answering
def change_email(
    client: Client,
    name: NameArgument,
    email: Annotated[str, typer.Argument(help="E-mail address; empty to remove it.")],
) -> Answer:
    """Set a user's e-mail address, by which a first single sign-on can find the account."""
    now = client.update_person(find_user(client, name).id, PersonUpdate.model_construct(email=email))
    return now, f"{now.name}: {now.email or 'no e-mail address'}"


@app.command("disable")
@answering
def disable(client: Client, name: NameArgument) -> Answer:
    """Lock a user out: their sessions and tokens end, their runs stay."""
    return _updated(client, name, PersonUpdate(disabled=True))


@app.command("enable")
@answering
def enable(client: Client, name: NameArgument) -> Answer:
    """Let a disabled user log in again."""
    return _updated(client, name, PersonUpdate(disabled=False))


def _updated(client: Client, name: str, change: PersonUpdate) -> Answer:
    now = client.update_person(find_user(client, name).id, change)
    return now, f"{now.name}: {now.role}{', disabled' if now.disabled_at else ''}"


def _detail(entry: AuditRecord) -> str:
    return ", ".join(f"{key} {json.dumps(value, ensure_ascii=False)}" for key, value in entry.detail.items())


AUDIT = Listing[AuditRecord](
    {
        "time": lambda entry: f"{entry.at:%Y-%m-%d %H:%M:%S}",
        "user": lambda entry: entry.author,
        "action": lambda entry: entry.action,
        "run": lambda entry: entry.run_id,
        "detail": _detail,
    },
    cut=("user", "detail"),
)


@listed(AUDIT)
def audit(
    client: Client,
    author: Annotated[str | None, typer.Option(help="Only actions of this user.")] = None,
    action: Annotated[str | None, typer.Option(help="Only actions of this name.")] = None,
    limit: LimitOption = 50,
) -> AuditPage:
    """List what users did, newest first; for administrators."""
    return client.audit_trail(author=author, action=action, limit=limit)
