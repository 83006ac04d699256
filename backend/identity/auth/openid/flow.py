"""Single sign-on from the button to the session: to the provider, and back once, in the same browser."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import anyio.to_thread
from sqlalchemy.orm import Session

from backend.identity.auth.login import Asker, Entry, enter, in_transaction
from backend.identity.auth.openid import repository
from backend.identity.auth.openid.admission import admit
from backend.identity.auth.openid.provider import MAX_HINT_CHARACTERS, Provider
from backend.identity.auth.openid.refusals import Refusal, SignInRefusedError
from backend.kit.principal import hash_of, new_secret
from bapo.api.accounts import SignInReturn
from bapo.deploy.proxies import network_of

if TYPE_CHECKING:
    from backend.kit.context import Context

LOG = logging.getLogger(__name__)
T = TypeVar("T")

PENDING_SECONDS = 600.0
"""Time limit for a sign-in at the provider, in seconds."""
MOST_PENDING = 5_000
"""Sign-ins that one address, or /64 network of IPv6, may have under way; behind a proxy a whole company shares one."""
_ERROR_CODE = re.compile(r"[a-z_]{1,60}")


class Begun(NamedTuple):
    """A sign-in on its way."""

    address: str
    """At the provider."""
    browser_secret: str
    """For a cookie of the browser, which must bring it back."""


async def begin(context: Context, address: str) -> Begun:
    """Begin a sign-in from an address. Raises SignInRefusedError."""
    state, browser_secret, issuer = new_secret(), new_secret(), context.settings.oidc_issuer
    client = network_of(address)

    def note(session: Session) -> None:
        if repository.num_pending(session, client) >= MOST_PENDING:
            raise SignInRefusedError(Refusal.TOO_MANY_ATTEMPTS, "too many sign-ins of one address are under way")
        repository.add_pending(session, hash_of(state), hash_of(browser_secret), issuer, client, PENDING_SECONDS)

    with _logged(issuer):
        provider = _provider(context)
        target = await _asked(provider, partial(provider.authorization_address, state, browser_secret))
        await in_transaction(context, note)
    return Begun(target, browser_secret)


async def finish(context: Context, back: SignInReturn, browser_secret: str | None, asker: Asker) -> Entry:
    """Log in the user who returns from the provider. Raises SignInRefusedError."""
    settings = context.settings
    with _logged(settings.oidc_issuer):
        provider = _provider(context)
        secret = browser_secret or ""
        hashes = hash_of(back.state), hash_of(secret)
        take = partial(
            repository.take_pending, state_hash=hashes[0], browser_hash=hashes[1], issuer=settings.oidc_issuer
        )
        if not await in_transaction(context, take):
            cause = "its state is unknown to this browser" if secret else "the browser brings no cookie of a sign-in"
            raise SignInRefusedError(Refusal.SIGN_IN_EXPIRED, cause)
        await _asked(provider, partial(_check_issuer, provider, back, settings.oidc_issuer, settings.oidc_label))
        if back.error is not None or not back.code:
            error = back.error or "no code"
            cause = f"the provider says {error if _ERROR_CODE.fullmatch(error) else 'something unreadable'}"
            raise SignInRefusedError(Refusal.PROVIDER_DENIED, cause, settings.oidc_label)
        found = await _asked(provider, partial(provider.signed_in, back.code, back.state, secret))
        hint = found.id_token if len(found.id_token) <= MAX_HINT_CHARACTERS else ""
        signed_in = replace(asker, visit=replace(asker.visit, id_token=hint))

        def work(session: Session) -> tuple[str, Entry]:
            user = admit(session, found.claims, settings)
            return user.id, enter(session, user, signed_in, settings.oidc_label)

        user_id, entry = await in_transaction(context, work)
    context.callers.forget_user(user_id)
    return entry


def logout_address(context: Context, id_token: str | None) -> str | None:
    """Return where a browser whose session has ended here ends the provider's; None for another login, or where it
    cannot."""
    provider = provider_at(context)
    if provider is None or id_token is None:
        return None
    try:
        return provider.logout_address(id_token)
    except SignInRefusedError as error:
        LOG.warning("the provider's session stays", extra={"cause": error.cause})
        return None


def provider_at(context: Context) -> Provider | None:
    """Return the provider; None where there is none."""
    return next((part for part in context.parts if isinstance(part, Provider)), None)


def _provider(context: Context) -> Provider:
    provider = provider_at(context)
    if provider is None:
        raise SignInRefusedError(Refusal.NO_SINGLE_SIGN_ON, "BAPO_OIDC_ISSUER is not set")
    return provider


def _check_issuer(provider: Provider, back: SignInReturn, issuer: str, label: str) -> None:
    """Check that the answer comes from our provider, not from another one that was mixed up with it (RFC 9207)."""
    is_named = provider.documents.metadata().authorization_response_iss_parameter_supported
    if back.iss != issuer and (is_named or back.iss is not None):
        raise SignInRefusedError(
            Refusal.ID_TOKEN_REFUSED, f"the answer comes from the issuer {str(back.iss)[:200]!r}", label
        )


async def _asked(provider: Provider, work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work, limiter=provider.limiter)


@contextmanager
def _logged(issuer: str) -> Iterator[None]:
    try:
        yield
    except SignInRefusedError as error:
        LOG.warning("sign-in refused", extra={"reason": error.code, "cause": error.cause, "issuer": issuer})
        raise
