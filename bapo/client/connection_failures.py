"""Remedies for failed connections, from the messages of OpenSSL and the resolver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

CANNOT_BE_READ = "cannot be used for certificates"


class ConnectionAdvice(NamedTuple):
    """The way out of a failure."""

    remedy: str
    is_lasting: bool = True
    """True if it fails until a person changes something: waiting does not help."""


_ADVICE: Sequence[tuple[str, ConnectionAdvice]] = (
    (
        CANNOT_BE_READ,
        ConnectionAdvice("name a file of certificates in PEM format that this account may read, or unset the variable"),
    ),
    (
        "certificate has expired",
        ConnectionAdvice("renew the server's certificate, and check that this machine's clock is right"),
    ),
    (
        "certificate is not yet valid",
        ConnectionAdvice("check that the clocks of this machine and of the server are right"),
    ),
    (
        "certificate is not valid for",
        ConnectionAdvice("use the host name that the server's certificate names, or have it issued for this one"),
    ),
    (
        "CERTIFICATE_VERIFY_FAILED",
        ConnectionAdvice(
            "if the certificate is your own or of your own authority, name that authority's file: "
            "SSL_CERT_FILE=/path/to/authority.pem"
        ),
    ),
    (
        "[SSL",
        ConnectionAdvice("check that the server speaks TLS at this port: one without has an http:// address"),
    ),
    # A machine that has just started may not have its network yet.
    ("not known", ConnectionAdvice("check the host name", is_lasting=False)),
)
"""Remedies by a part of the message; the first that occurs applies."""


def advice_for(address: str, cause: str) -> ConnectionAdvice:
    """Return what to do about a connection to this address that failed with this message."""
    for part, advice in _ADVICE:
        if part in cause:
            return advice
    host = urlsplit(address).hostname
    if "needs the package socksio" in cause:
        return ConnectionAdvice(f"install it by `pip install 'httpx[socks]'`, or set NO_PROXY={host} to do without")
    if "is not the address of a proxy" in cause:
        return ConnectionAdvice(f"give one such as http://proxy.example.org:3128, or set NO_PROXY={host} to do without")
    if cause.startswith("through "):
        remedy = f"check that the proxy is up and lets requests to {address} pass"
        return ConnectionAdvice(f"{remedy}, or set NO_PROXY={host} to do without", is_lasting=False)
    return ConnectionAdvice(f"check that {address} is right and that it is up", is_lasting=False)
