"""Errors that keep a worker from working, and which refusals of the server are among them."""

from __future__ import annotations

from bapo.client import ApiError, BapoError, UnreachableError


class WorkerError(Exception):
    """The worker cannot work; the message is one line with the remedy."""


TOKEN_REMEDY = "create one on the page Worker tokens, and name its file with --token-file"  # noqa: S105 - no token
_LASTING_STATUSES = frozenset({401, 403, 421, 422})


def lasting_refusal(server_url: str, error: BapoError) -> WorkerError | None:
    """Return the error with which the worker ends; `None` if the registration may succeed later and is retried."""
    if isinstance(error, UnreachableError):
        return WorkerError(str(error)) if error.is_lasting else None
    if not isinstance(error, ApiError) or error.status not in _LASTING_STATUSES:
        return None
    match error:
        case ApiError(code="not_authenticated"):
            reason = f"does not know this worker token, which is mistyped, expired or revoked: {TOKEN_REMEDY}"
        case ApiError(code="forbidden"):
            reason = f"takes no worker with this token, which is a person's: {TOKEN_REMEDY}"
        case ApiError(field="delivery"):
            reason = "is too old to hand out runs over HTTPS: upgrade the server first, or name its Redis with --broker"
        case _:
            reason = f"refuses this worker: {error}"
    return WorkerError(f"{server_url} {reason}")
