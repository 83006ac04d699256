"""Finds the address that a request came from."""

from __future__ import annotations

from fastapi import Request

from backend.settings.environment import Settings
from bapo.deploy.proxies import address_in, is_among

UNKNOWN = "unknown"


def client_address(request: Request, settings: Settings) -> str:
    """Return the address that a request came from; behind a dashboard the one that the dashboard names last.

    Which proxies are believed is the dashboard's to decide: it names one address.
    """
    peer = UNKNOWN if request.client is None else request.client.host
    address = address_in(peer)
    if address is None:
        return peer
    named = address_in(request.headers.get("x-forwarded-for", "").rsplit(",", 1)[-1])
    is_trusted = address.is_loopback or is_among(address, settings.proxy_networks)
    return str(named if named is not None and is_trusted else address)
