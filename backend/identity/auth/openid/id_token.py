"""Checks an ID token (OpenID Connect Core 1.0, section 3.1.3.7): signature, issuer, audience, times, nonce."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import (
    BadSignatureError,
    ExpiredTokenError,
    InvalidClaimError,
    InvalidKeyIdError,
    InvalidPayloadError,
    JoseError,
)
from joserfc.jwk import KeySet
from joserfc.jwt import ClaimsOption

from backend.identity.auth.openid.refusals import Refusal, SignInRefusedError

LEEWAY_SECONDS = 60
"""By so much two clocks may differ."""

Keys = Callable[[bool], KeySet]
"""Function that returns the provider's keys; with `True`, it fetches them again."""


@dataclass(frozen=True)
class Expected:
    """Values that an ID token must contain."""

    issuer: str
    client_id: str
    nonce: str
    algorithms: Sequence[str]
    access_token: str | None
    label: str


def checked_claims(id_token: str, expected: Expected, keys: Keys) -> Mapping[str, Any]:
    """Return the claims of an ID token that is right in every respect. Raises SignInRefusedError."""
    try:
        token = _verified(id_token, expected, keys)
        if not isinstance(token.claims, dict):
            raise InvalidPayloadError
        options: dict[str, ClaimsOption] = {
            "iss": {"essential": True, "value": expected.issuer},
            "aud": {"essential": True, "value": expected.client_id},
        }
        params = {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token}
        claims = CodeIDToken(token.claims, token.header, options, params)
        claims.validate(now=int(time.time()), leeway=LEEWAY_SECONDS)
        if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
            raise InvalidClaimError("sub")
    except JoseError as error:
        raise _refusal(error, id_token, expected) from None
    return dict(claims)


def _verified(id_token: str, expected: Expected, keys: Keys) -> jwt.Token:
    try:
        return jwt.decode(id_token, keys(False), algorithms=list(expected.algorithms))
    except (InvalidKeyIdError, BadSignatureError):
        # The provider may have changed its keys since they were fetched.
        return jwt.decode(id_token, keys(True), algorithms=list(expected.algorithms))


def _refusal(error: JoseError, id_token: str, expected: Expected) -> SignInRefusedError:
    cause = f"the ID token is refused: {error}"
    is_early = isinstance(error, InvalidClaimError) and error.claim in ("iat", "nbf")
    if isinstance(error, ExpiredTokenError) or is_early:
        cause = f"{cause}; this server's clock says {time.time():.0f}"
        return SignInRefusedError(Refusal.CLOCKS_DIFFER, cause, expected.label)
    return SignInRefusedError(Refusal.ID_TOKEN_REFUSED, cause, expected.label)
