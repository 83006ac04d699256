"""`bapo projects`: projects and their members."""

from __future__ import annotations

from typing import Annotated

import typer

from bapo.api.people import MemberInfo, MemberPage, MemberWrite, ProjectCreate, ProjectInfo, ProjectPage, ProjectUpdate
from bapo.cli.connection import Answer, answering
from bapo.cli.failures import RefusedError
from bapo.cli.lazy import group
from bapo.cli.listing import Listing, listed
from bapo.cli.users import RoleName
from bapo.client import Client

app = group("Manage projects and their members.")

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="Project name.")]
MemberArgument = Annotated[str, typer.Argument(metavar="USER", help="User name.")]


def find_project(client: Client, name: str) -> ProjectInfo:
    """Return the project with this name or id. Raises RefusedError."""
    for project in client.projects().items:
        if name in (project.name, project.id):
            return project
    raise RefusedError(f"no project of yours is called {name!r}: `bapo projects list` shows yours")


PROJECTS = Listing[ProjectInfo](
    {
        "name": lambda project: project.name,
        "your role": lambda project: project.role,
        "runs": lambda project: project.num_runs,
        "members": lambda project: project.num_members,
        "state": lambda project: "archived" if project.archived_at else "active",
        "description": lambda project: project.description,
    },
    cut=("name", "description"),
)
MEMBERS = Listing[MemberInfo](
    {
        "name": lambda member: member.name,
        "role": lambda member: member.role,
        "state": lambda member: "disabled" if member.is_disabled else "active",
    }
)


@app.command("list")
@listed(PROJECTS)
def list_projects(client: Client) -> ProjectPage:
    """List your projects."""
    return client.projects()


@app.command("create")
@answering
def create(
    client: Client,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, and . @ + - _ or spaces in between.")],
    description: Annotated[str, typer.Option(help="Description.")] = "",
) -> Answer:
    """Create a project.

    [bold]bapo projects create planning && bapo projects add planning ada --role admin[/bold]
    """
    made = client.create_project(ProjectCreate.model_construct(name=name, description=description))
    return made, f"{made.name}: created"


@app.command("rename")
@answering
def rename(
    client: Client,
    project: ProjectArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="New name.")],
) -> Answer:
    """Rename a project."""
    now = client.update_project(find_project(client, project).id, ProjectUpdate.model_construct({"name"}, name=name))
    return now, f"{now.name}: renamed"


@app.command("archive")
@answering
def archive(client: Client, project: ProjectArgument) -> Answer:
    """Archive a project: its runs stay, new ones are refused."""
    now = client.update_project(find_project(client, project).id, ProjectUpdate(archived=True))
    return now, f"{now.name}: archived"


@app.command("unarchive")
@answering
def unarchive(client: Client, project: ProjectArgument) -> Answer:
    """Reopen an archived project for new runs."""
    now = client.update_project(find_project(client, project).id, ProjectUpdate(archived=False))
    return now, f"{now.name}: open"


@app.command("members")
@listed(MEMBERS)
def members(client: Client, project: ProjectArgument) -> MemberPage:
    """List a project's members and their roles."""
    return client.members(find_project(client, project).id)


@app.command("add")
@answering
def add(
    client: Client,
    project: ProjectArgument,
    user: MemberArgument,
    role: Annotated[
        RoleName, typer.Option(help="viewer: view; member: submit; admin: change everything.")
    ] = RoleName.MEMBER,
) -> Answer:
    """Add a user to a project, or change their role in it."""
    found = find_project(client, project)
    member = client.set_member(found.id, MemberWrite(name=user, role=role.value))
    return member, f"{found.name}: {member.name} is {member.role}"


@app.command("remove")
@answering
def remove(client: Client, project: ProjectArgument, user: MemberArgument) -> Answer:
    """Remove a user from a project: they no longer see its runs."""
    found = find_project(client, project)
    for member in client.members(found.id).items:
        if user in (member.name, member.user_id):
            client.remove_member(found.id, member.user_id)
            line = f"{found.name}: {member.name} is no longer a member"
            return {"id": member.user_id, "done": "removed"}, line
    raise RefusedError(f"{user!r} is not a member of {found.name!r}")
