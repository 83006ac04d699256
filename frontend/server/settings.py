"""Settings of the frontend, from the environment only."""

from __future__ import annotations

from functools import cached_property
from urllib.parse import urlsplit

from pydantic import Field

from bapo.deploy.proxies import Network, ProxyNetworks, networks_of
from bapo.deploy.settings import PublicAddress, ServiceSettings, WebAddress, prefix_of

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


class FrontendSettings(ServiceSettings):
    """Read from variables with the prefix BAPO_."""

    backend_url: WebAddress = "http://127.0.0.1:8001"
    """Address of the API."""
    public_url: PublicAddress | None = None
    """Address under which people open the dashboard, such as https://bapo.example.org. With a path, such as
    https://example.org/bapo, everything is served under it, and the proxy in front leaves it in the addresses."""
    allowed_hosts: str = ""
    """Further host names that requests may name, separated by commas."""
    trusted_proxies: ProxyNetworks = ""
    """Addresses or networks of reverse proxies whose `X-Forwarded-For` is believed, separated by commas, such as
    `127.0.0.1` for one on this machine; those are all that may speak for others. If unset, none may: who comes through
    a proxy then counts as the proxy, and failed logins of all count together."""
    session_check_seconds: float = Field(default=10.0, ge=0)
    """Time in seconds for which a confirmed session may open pages without another check, and read the
    news of a run that it may see, which are made once for all viewers. All other data is checked at every request."""
    body_seconds: float = Field(default=60.0, gt=0)
    """Maximum time to receive the body of a request to the API; give the server the same."""

    @property
    def host_names(self) -> frozenset[str]:
        """Host names, without ports, that a request's Host header may carry."""
        named = {host.strip().lower() for host in self.allowed_hosts.split(",") if host.strip()}
        public = urlsplit(self.public_url).netloc if self.public_url else ""
        return LOOPBACK_HOSTS | {host_name(name) for name in named | ({public} if public else set())}

    @property
    def prefix(self) -> str:
        """Path under which everything is served, such as /bapo; empty: none."""
        return prefix_of(self.public_url or "")

    @cached_property
    def proxy_networks(self) -> tuple[Network, ...]:
        """Networks of the proxies that are believed."""
        return networks_of(self.trusted_proxies)

    @property
    def is_https(self) -> bool:
        """True if browsers reach the dashboard over TLS."""
        return bool(self.public_url and self.public_url.startswith("https://"))


def host_name(authority: str) -> str:
    """Return a Host header without its port, in lower case: `[::1]:8000` → `[::1]`."""
    authority = authority.lower()
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]
