"""Which failures of a registration will be the same the next time, and what to do about them."""

from __future__ import annotations

from bapo.client import ApiError, BapoError, UnreachableError
from worker.errors import WorkerError

TOKEN_REMEDY = "create one on the page Worker tokens, and name its file with --token-file"  # noqa: S105 - no token
_LASTING_STATUSES = frozenset({401, 403, 421, 422})


def lasting_refusal(server_url: str, error: BapoError) -> WorkerError | None:
    """Return what the worker ends with; None where the server may have it later, and it should try again."""
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
