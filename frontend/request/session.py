"""The session of the request being served, which goes with every call to the API."""

from __future__ import annotations

import hashlib
import time
from contextvars import ContextVar

import httpx

from bapo.client import ApiError, AsyncClient, InvalidRequestError, shared_http
from frontend.request.shared_answers import SharedAnswers

SESSION: ContextVar[str] = ContextVar("bapo_session")
"""Secret of the session cookie of the request at hand; set by the gate before any page code runs."""

REQUEST_ID: ContextVar[str] = ContextVar("bapo_request_id")
"""Identifier of the current request: the backend's log and answers name the same one."""
REQUEST_ID_HEADER = "X-Request-ID"

MOST_REMEMBERED = 10_000

DRAWINGS_KEPT_SECONDS, MOST_DRAWINGS_KEPT = 600.0, 100
"""The charts of a tab take 0.5 MB and less."""


async def _name_request(request: httpx.Request) -> None:
    request_id = REQUEST_ID.get(None)
    if request_id is not None:
        request.headers[REQUEST_ID_HEADER] = request_id


class Api:
    """Connections to the backend, shared by all users, and what it confirmed lately of their sessions."""

    def __init__(self, backend_url: str, session_check_seconds: float) -> None:
        self._backend_url = backend_url
        self._check_seconds = session_check_seconds
        self._confirmed: dict[bytes, float] = {}
        self.shared = SharedAnswers()
        self.drawings = SharedAnswers(DRAWINGS_KEPT_SECONDS, MOST_DRAWINGS_KEPT)
        """Cached drawings of runs that have recorded nothing since."""
        self.http: httpx.AsyncClient = shared_http(backend_url, uses_proxies=False)
        self.http.event_hooks["request"].append(_name_request)

    def client(self, session: str | None = None) -> AsyncClient:
        """Return a client with the rights of the request's own session."""
        return AsyncClient(self._backend_url, cookie=SESSION.get() if session is None else session, http=self.http)

    async def is_valid(self, session: str) -> bool:
        """Return whether the backend knows the session. Raises httpx.TransportError if it does not answer."""
        key = _key(session)
        if self._is_confirmed(key):
            return True
        try:
            await self.client(session).me()
        except ApiError as error:
            if error.status in (401, 403):
                return False
            raise httpx.TransportError(str(error)) from error
        except InvalidRequestError:
            # No server made such a secret, and no header takes it.
            return False
        self._confirm(key)
        return True

    async def confirm_reader(self, run_id: str) -> None:
        """Raise ApiError where the request's own session may not see the run; trusts what was so seconds ago."""
        key = _key(f"{SESSION.get()} {run_id}")
        if not self._is_confirmed(key):
            await self.client().run(run_id)
            self._confirm(key)

    def _is_confirmed(self, key: bytes) -> bool:
        return self._confirmed.get(key, 0.0) > time.monotonic()

    def _confirm(self, key: bytes) -> None:
        now = time.monotonic()
        if len(self._confirmed) >= MOST_REMEMBERED:
            self._confirmed = {known: until for known, until in self._confirmed.items() if until > now}
        self._confirmed[key] = now + self._check_seconds

    def forget(self, session: str) -> None:
        """Make the next request ask the backend again."""
        self._confirmed.pop(_key(session), None)

    async def close(self) -> None:
        """Close the connections."""
        await self.http.aclose()


def _key(session: str) -> bytes:
    # The secret itself is not kept.
    return hashlib.sha256(session.encode()).digest()
