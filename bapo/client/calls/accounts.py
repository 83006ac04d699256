"""Who calls: password, sessions, tokens."""

from __future__ import annotations

from urllib.parse import quote

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
from bapo.client.call import Call, Endpoint, get, nothing, post


class AccountCalls:
    """Who calls: password, sessions, tokens."""

    @Endpoint
    def me(self) -> Call[UserInfo]:
        """The caller."""
        return get("/me", UserInfo)

    @Endpoint
    def logout(self) -> Call[None]:
        """End the session that the client's cookie stands for."""
        return Call("POST", "/auth/logout", nothing)

    @Endpoint
    def set_password(self, body: PasswordSet) -> Call[UserInfo]:
        """Set a password with the code of a one-time link."""
        return post("/auth/password", UserInfo, body)

    @Endpoint
    def change_password(self, body: PasswordChange) -> Call[None]:
        """Change one's own password; all other sessions end."""
        return Call("PUT", "/me/password", nothing, body=body)

    @Endpoint
    def sessions(self) -> Call[SessionPage]:
        """One's own logins."""
        return get("/me/sessions", SessionPage)

    @Endpoint
    def end_session(self, session_id: str) -> Call[None]:
        """End one of one's own logins."""
        return Call("DELETE", f"/me/sessions/{quote(session_id, safe='')}", nothing)

    @Endpoint
    def end_other_sessions(self) -> Call[None]:
        """End all of one's own logins but this."""
        return Call("DELETE", "/me/sessions", nothing)

    @Endpoint
    def tokens(self) -> Call[TokenPage]:
        """One's own tokens."""
        return get("/me/tokens", TokenPage)

    @Endpoint
    def create_token(self, body: TokenCreate) -> Call[NewToken]:
        """Make a token; its secret is shown this once."""
        return post("/me/tokens", NewToken, body)

    @Endpoint
    def revoke_token(self, token_id: str) -> Call[None]:
        """End one of one's own tokens."""
        return Call("DELETE", f"/me/tokens/{quote(token_id, safe='')}", nothing)

    @Endpoint
    def worker_tokens(self) -> Call[TokenPage]:
        """The workers' tokens."""
        return get("/worker-tokens", TokenPage)

    @Endpoint
    def create_worker_token(self, body: WorkerTokenCreate) -> Call[NewToken]:
        """Make a token for workers; its secret is shown this once."""
        return post("/worker-tokens", NewToken, body)

    @Endpoint
    def revoke_worker_token(self, token_id: str) -> Call[None]:
        """End a workers' token."""
        return Call("DELETE", f"/worker-tokens/{quote(token_id, safe='')}", nothing)
