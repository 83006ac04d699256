"""Who calls: password, sessions, tokens."""

from __future__ import annotations

from bapo.api.accounts import (
    NewToken,
    PasswordChange,
    PasswordSet,
    SessionPage,
    TokenCreate,
    TokenPage,
    UserInfo,
    WorkerTokenCreate,
)
from bapo.client.call import route


class AccountCalls:
    """Who calls: password, sessions, tokens."""

    @route("GET /me")
    def me(self) -> UserInfo:
        """The caller."""

    @route("POST /auth/logout")
    def logout(self) -> None:
        """End the session that the client's cookie stands for."""

    @route("POST /auth/password")
    def set_password(self, body: PasswordSet) -> UserInfo:
        """Set a password with the code of a one-time link."""

    @route("PUT /me/password")
    def change_password(self, body: PasswordChange) -> None:
        """Change one's own password; all other sessions end."""

    @route("GET /me/sessions")
    def sessions(self) -> SessionPage:
        """One's own logins."""

    @route("DELETE /me/sessions/{session_id}")
    def end_session(self, session_id: str) -> None:
        """End one of one's own logins."""

    @route("DELETE /me/sessions")
    def end_other_sessions(self) -> None:
        """End all of one's own logins but this."""

    @route("GET /me/tokens")
    def tokens(self) -> TokenPage:
        """One's own tokens."""

    @route("POST /me/tokens")
    def create_token(self, body: TokenCreate) -> NewToken:
        """Make a token; its secret is shown this once."""

    @route("DELETE /me/tokens/{token_id}")
    def revoke_token(self, token_id: str) -> None:
        """End one of one's own tokens."""

    @route("GET /worker-tokens")
    def worker_tokens(self) -> TokenPage:
        """The workers' tokens."""

    @route("POST /worker-tokens")
    def create_worker_token(self, body: WorkerTokenCreate) -> NewToken:
        """Make a token for workers; its secret is shown this once."""

    @route("DELETE /worker-tokens/{token_id}")
    def revoke_worker_token(self, token_id: str) -> None:
        """End a workers' token."""
