"""The server's API for Python; uses `bapo.api` and nothing else of the library.

A name's module is imported on first access: the calls import every body of the API, and a program that needs
only an error or a constant starts half a second faster without them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bapo.client.client import AsyncClient, Client, shared_http
    from bapo.client.core import POOL, SCRIPT_RETRIES, SESSION_COOKIE, SIGN_IN_COOKIE
    from bapo.client.errors import ApiError, BapoError, InvalidRequestError, UnreachableError, error_of

__all__ = [
    "POOL",
    "SCRIPT_RETRIES",
    "SESSION_COOKIE",
    "SIGN_IN_COOKIE",
    "ApiError",
    "AsyncClient",
    "BapoError",
    "Client",
    "InvalidRequestError",
    "UnreachableError",
    "error_of",
    "shared_http",
]

_MODULES = {
    "client": ("AsyncClient", "Client", "shared_http"),
    "core": ("POOL", "SCRIPT_RETRIES", "SESSION_COOKIE", "SIGN_IN_COOKIE"),
    "errors": ("ApiError", "BapoError", "InvalidRequestError", "UnreachableError", "error_of"),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name's module."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value
