"""People, projects and the audit trail."""

from __future__ import annotations

from urllib.parse import quote

from bapo.api.people import (
    AuditPage,
    MemberInfo,
    MemberPage,
    MemberWrite,
    NewPerson,
    PasswordLink,
    PersonCreate,
    PersonInfo,
    PersonPage,
    PersonUpdate,
    ProjectCreate,
    ProjectInfo,
    ProjectPage,
    ProjectUpdate,
)
from bapo.client.call import Call, Endpoint, answer, get, nothing, post


class PeopleCalls:
    """People, projects and the audit trail."""

    @Endpoint
    def people(self) -> Call[PersonPage]:
        """All users."""
        return get("/people", PersonPage)

    @Endpoint
    def create_person(self, body: PersonCreate) -> Call[NewPerson]:
        """Make a user, and the link with which they set a password."""
        return post("/people", NewPerson, body)

    @Endpoint
    def update_person(self, user_id: str, body: PersonUpdate) -> Call[PersonInfo]:
        """Change a user's role; disable or enable them."""
        return Call("PATCH", _person(user_id), answer(PersonInfo), body=body)

    @Endpoint
    def new_password_link(self, user_id: str) -> Call[PasswordLink]:
        """A link with which a user sets a new password."""
        return post(f"{_person(user_id)}/password-link", PasswordLink)

    @Endpoint
    def projects(self) -> Call[ProjectPage]:
        """The caller's projects."""
        return get("/projects", ProjectPage)

    @Endpoint
    def project(self, project_id: str) -> Call[ProjectInfo]:
        """One project."""
        return get(_project(project_id), ProjectInfo)

    @Endpoint
    def create_project(self, body: ProjectCreate) -> Call[ProjectInfo]:
        """Make a project."""
        return post("/projects", ProjectInfo, body)

    @Endpoint
    def update_project(self, project_id: str, body: ProjectUpdate) -> Call[ProjectInfo]:
        """Rename, describe or archive a project."""
        return Call("PATCH", _project(project_id), answer(ProjectInfo), body=body)

    @Endpoint
    def members(self, project_id: str) -> Call[MemberPage]:
        """Who is what in a project."""
        return get(f"{_project(project_id)}/members", MemberPage)

    @Endpoint
    def set_member(self, project_id: str, body: MemberWrite) -> Call[MemberInfo]:
        """Make somebody a member, or change what they are."""
        return Call("PUT", f"{_project(project_id)}/members", answer(MemberInfo), body=body)

    @Endpoint
    def remove_member(self, project_id: str, user_id: str) -> Call[None]:
        """End a membership."""
        return Call("DELETE", f"{_project(project_id)}/members/{quote(user_id, safe='')}", nothing)

    @Endpoint
    def audit_trail(
        self,
        *,
        author: str | None = None,
        action: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> Call[AuditPage]:
        """Who did what on this server, the newest first."""
        return get("/audit", AuditPage, author=author, action=action, cursor=cursor, limit=limit)


def _person(user_id: str) -> str:
    return f"/people/{quote(user_id, safe='')}"


def _project(project_id: str) -> str:
    return f"/projects/{quote(project_id, safe='')}"
