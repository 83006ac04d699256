"""Password, sessions and tokens of the caller; users, projects and the audit trail."""

from __future__ import annotations

from bapo.api.accounts import (
    LoggedOut,
    LoginMethods,
    NewToken,
    PasswordChange,
    PasswordSet,
    SessionPage,
    TokenCreate,
    TokenPage,
    UserInfo,
    WorkerTokenCreate,
)
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
from bapo.client.call import route


class AccountCalls:
    """Password, sessions and tokens of the caller; users, projects and the audit trail."""

    @route("GET /me")
    def me(self) -> UserInfo:
        """Return the caller."""

    @route("POST /auth/logout")
    def logout(self) -> LoggedOut:
        """End the session of the client's cookie."""

    @route("GET /auth/methods")
    def login_methods(self) -> LoginMethods:
        """Return the ways to log in."""

    @route("POST /auth/password")
    def set_password(self, body: PasswordSet) -> UserInfo:
        """Set a password with the code of a one-time link."""

    @route("PUT /me/password")
    def change_password(self, body: PasswordChange) -> None:
        """Change the caller's password; all other sessions end."""

    @route("GET /me/sessions")
    def sessions(self) -> SessionPage:
        """Return the caller's logins."""

    @route("DELETE /me/sessions/{session_id}")
    def end_session(self, session_id: str) -> None:
        """End one of the caller's logins."""

    @route("DELETE /me/sessions")
    def end_other_sessions(self) -> None:
        """End all of the caller's logins but this one."""

    @route("GET /me/tokens")
    def tokens(self) -> TokenPage:
        """Return the caller's tokens."""

    @route("POST /me/tokens")
    def create_token(self, body: TokenCreate) -> NewToken:
        """Create a token; only this answer contains its secret."""

    @route("DELETE /me/tokens/{token_id}")
    def revoke_token(self, token_id: str) -> None:
        """Revoke one of the caller's tokens."""

    @route("GET /worker-tokens")
    def worker_tokens(self) -> TokenPage:
        """Return the workers' tokens."""

    @route("POST /worker-tokens")
    def create_worker_token(self, body: WorkerTokenCreate) -> NewToken:
        """Create a token for workers; only this answer contains its secret."""

    @route("DELETE /worker-tokens/{token_id}")
    def revoke_worker_token(self, token_id: str) -> None:
        """Revoke a workers' token."""

    @route("GET /people")
    def people(self) -> PersonPage:
        """Return all users."""

    @route("POST /people")
    def create_person(self, body: PersonCreate) -> NewPerson:
        """Create a user, and the link with which they set a password."""

    @route("PATCH /people/{user_id}")
    def update_person(self, user_id: str, body: PersonUpdate) -> PersonInfo:
        """Change a user's role; disable or enable them."""

    @route("POST /people/{user_id}/password-link")
    def new_password_link(self, user_id: str) -> PasswordLink:
        """Return a link with which a user sets a new password."""

    @route("GET /projects")
    def projects(self) -> ProjectPage:
        """Return the caller's projects."""

    @route("GET /projects/{project_id}")
    def project(self, project_id: str) -> ProjectInfo:
        """Return one project."""

    @route("POST /projects")
    def create_project(self, body: ProjectCreate) -> ProjectInfo:
        """Create a project."""

    @route("PATCH /projects/{project_id}")
    def update_project(self, project_id: str, body: ProjectUpdate) -> ProjectInfo:
        """Rename, describe or archive a project."""

    @route("GET /projects/{project_id}/members")
    def members(self, project_id: str) -> MemberPage:
        """Return the members of a project with their roles."""

    @route("PUT /projects/{project_id}/members")
    def set_member(self, project_id: str, body: MemberWrite) -> MemberInfo:
        """Add a user to a project, or change their role."""

    @route("DELETE /projects/{project_id}/members/{user_id}")
    def remove_member(self, project_id: str, user_id: str) -> None:
        """Remove a user from a project."""

    @route("GET /audit")
    def audit_trail(
        self,
        *,
        author: str | None = None,
        action: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AuditPage:
        """Return the audit trail, newest first."""
