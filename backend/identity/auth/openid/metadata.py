"""The provider's discovery document (OpenID Connect Discovery 1.0, section 3): the part of it that is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict

from bapo.deploy.settings import LOOPBACK_HOSTS

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures that only the provider can make: neither `none` nor one with a secret that both sides share."""


def _encrypted(url: str) -> str:
    parts = urlsplit(url)
    if not parts.hostname or (parts.scheme != "https" and parts.hostname not in LOOPBACK_HOSTS):
        raise ValueError("must be an https address")
    return url


Endpoint = Annotated[str, AfterValidator(_encrypted)]


class Metadata(BaseModel):
    """Metadata that a provider publishes about itself."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    issuer: str
    authorization_endpoint: Endpoint
    token_endpoint: Endpoint
    jwks_uri: Endpoint
    userinfo_endpoint: Endpoint | None = None
    end_session_endpoint: Endpoint | None = None
    id_token_signing_alg_values_supported: Sequence[str] = ("RS256",)
    token_endpoint_auth_methods_supported: Sequence[str] = ("client_secret_basic",)
    code_challenge_methods_supported: Sequence[str] | None = None
    authorization_response_iss_parameter_supported: bool = False
    """True if the way back names the issuer (RFC 9207)."""

    @property
    def algorithms(self) -> list[str]:
        """Signatures of ID tokens that are accepted."""
        return [each for each in ALGORITHMS if each in self.id_token_signing_alg_values_supported]

    @property
    def secret_goes_in_header(self) -> bool:
        """True if the client secret is sent by HTTP's basic authentication, rather than in the form."""
        methods = self.token_endpoint_auth_methods_supported
        return "client_secret_basic" in methods or "client_secret_post" not in methods
