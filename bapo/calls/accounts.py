"""Who calls."""

from __future__ import annotations

from bapo.api import UserInfo
from bapo.calls.base import Call, Endpoint, get, nothing


class AccountCalls:
    """Who calls."""

    @Endpoint
    def me(self) -> Call[UserInfo]:
        """The caller."""
        return get("/me", UserInfo)

    @Endpoint
    def logout(self) -> Call[None]:
        """End the session that the client's cookie stands for."""
        return Call("POST", "/auth/logout", nothing)
