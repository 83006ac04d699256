"""The server's API for Python; uses `bapo.api` and nothing else of the library."""

from bapo.client.client import AsyncClient, Client, shared_http
from bapo.client.core import SCRIPT_RETRIES, SESSION_COOKIE
from bapo.client.errors import ApiError, BapoError, UnreachableError, error_of

__all__ = [
    "SCRIPT_RETRIES",
    "SESSION_COOKIE",
    "ApiError",
    "AsyncClient",
    "BapoError",
    "Client",
    "UnreachableError",
    "error_of",
    "shared_http",
]
