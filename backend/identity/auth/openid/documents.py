"""Fetches the provider's discovery document and keys, and caches them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet
from pydantic import ValidationError

from backend.identity.auth.openid.metadata import Metadata
from backend.identity.auth.openid.refusals import Refusal, SignInRefusedError
from backend.settings.environment import Settings
from bapo.config.error_messages import error_said

LOG = logging.getLogger(__name__)

DISCOVERY_PATH = "/.well-known/openid-configuration"
TIMEOUT_SECONDS = 10.0
CACHED_SECONDS = 3_600.0
MAX_DOCUMENT_BYTES = 1_000_000
ASYMMETRIC = frozenset({"RSA", "EC", "OKP"})


class Documents:
    """Discovery document and keys of the provider; safe to use from any thread."""

    def __init__(self, settings: Settings, http: httpx.Client) -> None:
        self._settings = settings
        self._http = http
        self._lock = threading.Lock()
        self.clock_skew_seconds: float | None = None
        """The provider's clock minus ours, to the second, at the last fetch; None where it does not tell."""
        self._metadata: tuple[Metadata, float] | None = None
        self._keys: tuple[KeySet, float] | None = None

    def metadata(self, *, renew: bool = False) -> Metadata:
        """Return the discovery document, at most an hour old. Raises SignInRefusedError."""
        with self._lock:
            if renew or self._metadata is None or self._metadata[1] < time.monotonic():
                self._metadata = (self._discovered(), time.monotonic() + CACHED_SECONDS)
            return self._metadata[0]

    def keys(self, *, renew: bool = False) -> KeySet:
        """Return the keys with which the provider signs, at most an hour old. Raises SignInRefusedError."""
        metadata = self.metadata()
        with self._lock:
            if renew or self._keys is None or self._keys[1] < time.monotonic():
                self._keys = (self._fetched_keys(metadata.jwks_uri), time.monotonic() + CACHED_SECONDS)
            return self._keys[0]

    def _discovered(self) -> Metadata:
        issuer, label = self._settings.oidc_issuer, self._settings.oidc_label
        address = issuer.rstrip("/") + DISCOVERY_PATH
        document = self._document(address)
        try:
            found = Metadata.model_validate(document)
        except ValidationError as error:
            cause = f"{address} is no discovery document: {error_said(error)}"
            raise SignInRefusedError(Refusal.PROVIDER_MISCONFIGURED, cause, label) from None
        if found.issuer != issuer:
            cause = f"BAPO_OIDC_ISSUER is {issuer}, but the provider calls itself {found.issuer}: set it to that"
            raise SignInRefusedError(Refusal.PROVIDER_MISCONFIGURED, cause, label)
        if not found.algorithms:
            offered = ", ".join(found.id_token_signing_alg_values_supported)
            raise SignInRefusedError(
                Refusal.PROVIDER_MISCONFIGURED, f"the provider signs with {offered} only, which is not accepted", label
            )
        if found.code_challenge_methods_supported is not None and "S256" not in found.code_challenge_methods_supported:
            raise SignInRefusedError(
                Refusal.PROVIDER_MISCONFIGURED, "the provider does not support PKCE with S256", label
            )
        return found

    def _fetched_keys(self, address: str) -> KeySet:
        entries = self._document(address).get("keys")
        keys: list[Key] = []
        for entry in entries if isinstance(entries, list) else ():
            # Others are not ours to use: to encrypt with, or of a kind that we do not know.
            if not isinstance(entry, dict) or entry.get("kty") not in ASYMMETRIC or entry.get("use") == "enc":
                continue
            try:
                keys.append(JWKRegistry.import_key(entry))
            except (JoseError, ValueError, KeyError, TypeError) as error:
                LOG.warning("a key of the provider is left out", extra={"kid": entry.get("kid"), "cause": str(error)})
        if not keys:
            cause = f"{address} holds no key that verifies a signature"
            raise SignInRefusedError(Refusal.PROVIDER_MISCONFIGURED, cause, self._settings.oidc_label)
        return KeySet(keys)

    def _document(self, address: str) -> Mapping[str, Any]:
        def ask() -> httpx.Response:
            answer = self._http.get(address)
            self.clock_skew_seconds = _skew_seconds(answer.headers.get("date", ""))
            return answer

        return answer_of(self._settings.oidc_label, address, ask)


def _skew_seconds(date: str) -> float | None:
    try:
        # Half of the second that it names has passed, on average.
        return round(parsedate_to_datetime(date).timestamp() + 0.5 - time.time(), 1)
    except ValueError:
        return None


def answer_of(
    label: str, address: str, ask: Callable[[], httpx.Response], *, accepted: tuple[int, ...] = (200,)
) -> Mapping[str, Any]:
    """Return the JSON object that the provider answers with one of these statuses. Raises SignInRefusedError."""
    try:
        answer = ask()
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        raise SignInRefusedError(
            Refusal.PROVIDER_UNREACHABLE, f"{address}: {type(error).__name__}: {error}", label
        ) from None
    if answer.status_code not in accepted or len(answer.content) > MAX_DOCUMENT_BYTES:
        cause = f"{address} answered {answer.status_code} with {len(answer.content)} bytes"
        if answer.status_code >= 500:
            raise SignInRefusedError(Refusal.PROVIDER_UNREACHABLE, cause, label)
        raise SignInRefusedError(Refusal.PROVIDER_MISCONFIGURED, cause, label)
    try:
        document = answer.json()
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise SignInRefusedError(
            Refusal.PROVIDER_MISCONFIGURED, f"{address} answered with something that is no JSON object", label
        )
    return document
