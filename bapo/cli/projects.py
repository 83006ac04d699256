"""`bapo projects`: what runs belong to, and who may see them."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.api.people import MemberWrite, ProjectCreate, ProjectInfo, ProjectUpdate
from bapo.cli.connection import online
from bapo.cli.failures import RefusedError
from bapo.cli.lazy import group
from bapo.cli.output import JsonOption, print_json, print_table, table, tell, user_text
from bapo.cli.users import RoleName
from bapo.client import Client

app = group("What runs belong to, and who may see them.")

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Its name.")]
MemberArgument = Annotated[str, typer.Argument(metavar="USER", help="Name of a user.")]


def find_project(client: Client, name: str) -> ProjectInfo:
    """By name or id. Raises RefusedError."""
    for project in client.projects().items:
        if name in (project.name, project.id):
            return project
    raise RefusedError(f"no project of yours is called {name!r}: `bapo projects list` shows them")


@app.command("list")
@online
def list_projects(client: Client, as_json: JsonOption = False) -> None:
    """List your projects."""
    page = client.projects()
    if as_json:
        print_json(page)
        return
    made = table("name", "you are", "runs", "members", "", "description", right=("runs", "members"))
    for project in page.items:
        made.add_row(
            user_text(project.name),
            project.role,
            f"{project.num_runs:,}",
            f"{project.num_members}",
            "archived" if project.archived_at else "",
            user_text(project.description),
        )
    print_table(made, cut=("name", "description"))


@app.command("create")
@online
def create(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, and . @ + - _ or blanks in between.")],
    description: Annotated[str, typer.Option(help="What it is about.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a project.

    [bold]bapo projects create planning && bapo projects add planning ada --role admin[/bold]
    """
    made = client.create_project(ProjectCreate.model_construct(name=name, description=description))
    tell(made, f"{made.name}: made", as_json=as_json)


@app.command("rename")
@online
def rename(
    client: Client,
    project: ProjectArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    as_json: JsonOption = False,
) -> None:
    """Give a project another name."""
    now = client.update_project(find_project(client, project).id, ProjectUpdate.model_construct({"name"}, name=name))
    tell(now, f"{now.name}: renamed", as_json=as_json)


@app.command("archive")
@online
def archive(client: Client, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """Let a project take no new runs; those that it has stay."""
    now = client.update_project(find_project(client, project).id, ProjectUpdate(archived=True))
    tell(now, f"{now.name}: archived", as_json=as_json)


@app.command("unarchive")
@online
def unarchive(client: Client, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """Let a project take new runs again."""
    now = client.update_project(find_project(client, project).id, ProjectUpdate(archived=False))
    tell(now, f"{now.name}: open", as_json=as_json)


@app.command("members")
@online
def members(client: Client, project: ProjectArgument, as_json: JsonOption = False) -> None:
    """List who is what in a project."""
    page = client.members(find_project(client, project).id)
    if as_json:
        print_json(page)
        return
    made = table("name", "role", "")
    for member in page.items:
        made.add_row(user_text(member.name), member.role, "disabled" if member.is_disabled else "")
    print_table(made)


@app.command("add")
@online
def add(
    client: Client,
    project: ProjectArgument,
    user: MemberArgument,
    role: Annotated[RoleName, typer.Option(help="viewer: see; member: submit; admin: change all.")] = RoleName.MEMBER,
    as_json: JsonOption = False,
) -> None:
    """Make somebody a member of a project, or change what they are there."""
    found = find_project(client, project)
    member = client.set_member(found.id, MemberWrite(name=user, role=role.value))
    tell(member, f"{found.name}: {member.name} is {member.role}", as_json=as_json)


@app.command("remove")
@online
def remove(client: Client, project: ProjectArgument, user: MemberArgument, as_json: JsonOption = False) -> None:
    """End a membership: the project's runs do not exist for them any more."""
    found = find_project(client, project)
    for member in client.members(found.id).items:
        if user in (member.name, member.user_id):
            client.remove_member(found.id, member.user_id)
            line = f"{found.name}: {member.name} is no member any more"
            tell({"id": member.user_id, "done": "removed"}, line, as_json=as_json)
            return
    raise RefusedError(f"{user!r} is no member of {found.name!r}")
