"""Provider of single sign-on: its sign-in address, and what it answers about the users who signed in."""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import anyio
import httpx
from authlib.oauth2.auth import ClientAuth
from authlib.oauth2.client import OAuth2Client
from authlib.oauth2.rfc6749.parameters import prepare_token_request

from backend.identity.auth.openid.documents import TIMEOUT_SECONDS, Documents, answer_of
from backend.identity.auth.openid.id_token import Expected, checked_claims
from backend.identity.auth.openid.refusals import Refusal, SignInRefusedError
from backend.settings.claim_rules import values_of
from backend.settings.environment import Settings
from bapo.deploy.service_log import hide
from bapo.deploy.settings import SettingsError, secret_in

MOST_AT_ONCE = 8
"""Sign-ins that wait for the provider: one that hangs holds up no other requests."""
LOGIN_PATH = "/login"
MAX_HINT_CHARACTERS = 4_000
"""A longer ID token does not fit into the address of a logout."""


class SignedIn(NamedTuple):
    """User that the provider has signed in."""

    claims: Mapping[str, Any]
    id_token: str


def _connections() -> httpx.Client:
    """Return connections to the provider. Raises SettingsError for proxies and certificates that cannot be used."""
    try:
        return httpx.Client(timeout=TIMEOUT_SECONDS)
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        names = [*(f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "ALL", "NO")), "SSL_CERT_FILE", "SSL_CERT_DIR"]
        given = [name for each in names for name in (each, each.lower()) if os.environ.get(name)]
        raise SettingsError(
            f"{', '.join(given)}: single sign-on cannot reach its provider by what they name ({error}): correct or "
            "unset them for the server"
        ) from None


class Provider:
    """The provider that the settings name; safe to use from any thread. Every method raises SignInRefusedError."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = _connections()
        self.documents = Documents(settings, self._http)
        self.limiter = anyio.CapacityLimiter(MOST_AT_ONCE)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def authorization_address(self, state: str, browser_secret: str) -> str:
        """Return where the browser goes to sign in: an authorization request with state, nonce and PKCE."""
        metadata = self.documents.metadata()
        client = OAuth2Client(
            session=None,
            client_id=self._settings.oidc_client_id,
            scope=self._settings.oidc_scopes,
            redirect_uri=self._settings.oidc_redirect_uri,
            code_challenge_method="S256",
        )
        address, _ = client.create_authorization_url(
            metadata.authorization_endpoint,
            state=state,
            code_verifier=_derived(browser_secret, "code verifier", state),
            nonce=_derived(browser_secret, "nonce", state),
        )
        return str(address)

    def signed_in(self, code: str, state: str, browser_secret: str) -> SignedIn:
        """Exchange a code, and check the ID token that comes for it."""
        settings = self._settings
        tokens = self.exchange(code, _derived(browser_secret, "code verifier", state))
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str):
            cause = "the provider answers without an ID token: see BAPO_OIDC_SCOPES"
            raise SignInRefusedError(Refusal.PROVIDER_MISCONFIGURED, cause, settings.oidc_label)
        expected = Expected(
            issuer=settings.oidc_issuer,
            client_id=settings.oidc_client_id,
            nonce=_derived(browser_secret, "nonce", state),
            algorithms=self.documents.metadata().algorithms,
            access_token=access_token if isinstance(access_token, str) else None,
            label=settings.oidc_label,
        )
        claims = checked_claims(id_token, expected, lambda renew: self.documents.keys(renew=renew))
        return SignedIn(self._completed(claims, expected.access_token), id_token)

    def exchange(self, code: str, verifier: str) -> Mapping[str, Any]:
        """Return the tokens that the provider gives for a code."""
        label, endpoint = self._settings.oidc_label, self.documents.metadata().token_endpoint
        body = prepare_token_request(
            "authorization_code",
            code=code,
            redirect_uri=self._settings.oidc_redirect_uri,
            code_verifier=verifier,
        )
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        address, headers, body = self._client_auth().prepare("POST", endpoint, headers, body)
        answer = answer_of(
            label,
            endpoint,
            lambda: self._http.post(address, content=body, headers=headers),
            accepted=(200, 400, 401, 403),
        )
        if (error := answer.get("error")) is not None:
            cause = f"{endpoint} refuses: {str(error)[:100]}: {str(answer.get('error_description', ''))[:300]}"
            if error in ("invalid_client", "unauthorized_client"):
                raise SignInRefusedError(
                    Refusal.CLIENT_REFUSED,
                    f"{cause}; check BAPO_OIDC_CLIENT_ID and BAPO_OIDC_CLIENT_SECRET_FILE",
                    label,
                )
            if error == "invalid_grant":
                raise SignInRefusedError(Refusal.CODE_REFUSED, cause, label)
            raise SignInRefusedError(Refusal.PROVIDER_MISCONFIGURED, cause, label)
        return answer

    def logout_address(self, id_token: str) -> str | None:
        """Return the address that ends the provider's session (OpenID Connect RP-Initiated Logout); `None` if none."""
        endpoint = self.documents.metadata().end_session_endpoint
        if endpoint is None or not self._settings.oidc_provider_logout:
            return None
        hint = {"id_token_hint": id_token} if 0 < len(id_token) <= MAX_HINT_CHARACTERS else {}
        back = self._settings.public_url.rstrip("/") + LOGIN_PATH
        query = {**hint, "client_id": self._settings.oidc_client_id, "post_logout_redirect_uri": back}
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    def accepts_redirect(self) -> bool | None:
        """Return whether the provider knows our redirect address; None where it does not say.

        The request asks only whether a user is signed in: the provider redirects the browser to the address or refuses.
        """
        address = self.authorization_address("doctor", "doctor") + "&prompt=none"
        try:
            answer = self._http.get(address)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SignInRefusedError(
                Refusal.PROVIDER_UNREACHABLE, f"{type(error).__name__}: {error}", self._settings.oidc_label
            ) from None
        if answer.is_redirect and answer.headers.get("location", "").startswith(self._settings.oidc_redirect_uri):
            return True
        return False if answer.is_client_error else None

    def _client_auth(self) -> ClientAuth:
        settings = self._settings
        if settings.oidc_client_secret_file is None:
            return ClientAuth(settings.oidc_client_id, None, "none")
        try:
            secret = secret_in(settings.oidc_client_secret_file)
        except ValueError as error:
            raise SignInRefusedError(
                Refusal.CLIENT_REFUSED, f"BAPO_OIDC_CLIENT_SECRET_FILE: {error}", settings.oidc_label
            ) from None
        hide(secret)
        if self.documents.metadata().secret_goes_in_header:
            # Each is encoded before both become a header (RFC 6749, 2.3.1); a space as %20, which all servers decode.
            name, secret = quote(settings.oidc_client_id, safe=""), quote(secret, safe="")
            return ClientAuth(name, secret, "client_secret_basic")
        return ClientAuth(settings.oidc_client_id, secret, "client_secret_post")

    def _completed(self, claims: Mapping[str, Any], access_token: str | None) -> Mapping[str, Any]:
        """Return the claims, completed by those of the provider's userinfo endpoint."""
        endpoint = self.documents.metadata().userinfo_endpoint
        settings = self._settings
        wanted = (
            *("email", settings.oidc_name_claim, settings.oidc_role_claim, settings.oidc_project_claim),
            settings.oidc_group_claim if settings.required_groups else "",
        )
        is_complete = all(values_of(claims, name) for name in wanted if name)
        if endpoint is None or access_token is None or is_complete:
            return claims
        headers = {"Authorization": f"Bearer {access_token}"}
        userinfo = answer_of(settings.oidc_label, endpoint, lambda: self._http.get(endpoint, headers=headers))
        if userinfo.get("sub") != claims["sub"]:
            raise SignInRefusedError(
                Refusal.ID_TOKEN_REFUSED, f"{endpoint} describes another user than the ID token", settings.oidc_label
            )
        return {**userinfo, **claims}


def _derived(browser_secret: str, use: str, state: str) -> str:
    """Return a secret of this sign-in that only the browser's own secret yields: the server keeps none."""
    digest = hmac.digest(browser_secret.encode(), f"{use}:{state}".encode(), hashlib.sha256)
    return urlsafe_b64encode(digest).decode().rstrip("=")
