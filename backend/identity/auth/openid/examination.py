"""Checks the provider for `bapo doctor`, as far as that is possible without a user's sign-in."""

from __future__ import annotations

from backend.identity.auth.openid.provider import Provider
from backend.identity.auth.openid.refusals import SignInRefusedError
from backend.settings.environment import Settings
from bapo.api.service import SingleSignOnFacts


def examine(provider: Provider, settings: Settings) -> SingleSignOnFacts:
    """Fetch its documents again, and check whether it knows this server."""
    known = {"issuer": settings.oidc_issuer, "redirect_uri": settings.oidc_redirect_uri}
    try:
        metadata = provider.documents.metadata(renew=True)
        provider.documents.keys(renew=True)
        return SingleSignOnFacts(
            **known,
            client_problem=_client_problem(provider),
            accepts_redirect=provider.accepts_redirect(),
            ends_sessions=metadata.end_session_endpoint is not None,
            clock_skew_seconds=provider.documents.clock_skew_seconds,
        )
    except SignInRefusedError as error:
        return SingleSignOnFacts(**known, problem=error.cause)


def _client_problem(provider: Provider) -> str | None:
    """Return the problem if the provider rejects the client: only a known client learns that the code is wrong."""
    try:
        provider.exchange("doctor", "doctor")
    except SignInRefusedError as error:
        return error.cause if error.code == "client_refused" else None
    return None
