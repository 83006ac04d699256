"""Finds the address that a request came from."""

from __future__ import annotations

import ipaddress

from fastapi import Request

from backend.kit.settings import Settings

UNKNOWN = "unknown"


def client_address(request: Request, settings: Settings) -> str:
    """The address that a request came from; behind a trusted proxy the one that the proxy names last."""
    peer = UNKNOWN if request.client is None else request.client.host
    named = request.headers.get("x-forwarded-for", "").rsplit(",", 1)[-1].strip()
    if not named or not _is_trusted(peer, settings):
        return peer
    try:
        return str(ipaddress.ip_address(named))
    except ValueError:
        return peer


def _is_trusted(peer: str, settings: Settings) -> bool:
    try:
        address = ipaddress.ip_address(peer)
    except ValueError:
        return False
    return address.is_loopback or any(address in network for network in settings.proxy_networks)
