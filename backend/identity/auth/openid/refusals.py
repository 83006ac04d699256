"""Why a sign-in is refused: one line for the person, and the cause for the log. Neither holds a secret."""

from __future__ import annotations

from backend.kit.errors import Problem

TELL = "tell an administrator, who finds the cause in the server's log and with `bapo doctor`"


class SignInRefusedError(Problem):
    """Refuses a sign-in."""

    def __init__(self, status: int, code: str, remedy: str, cause: str) -> None:
        super().__init__(status, code, remedy)
        self.cause = cause


def not_offered() -> SignInRefusedError:
    """Return 404: single sign-on is not configured."""
    remedy = "this server has no single sign-on: log in with a password, a code or a token"
    return SignInRefusedError(404, "no_single_sign_on", remedy, "BAPO_OIDC_ISSUER is not set")


def too_many() -> SignInRefusedError:
    """Return 429: one address has begun too many sign-ins."""
    remedy = "too many sign-ins were begun from your address: try again in ten minutes"
    return SignInRefusedError(429, "too_many_attempts", remedy, "too many sign-ins of one address are under way")


def unreachable(label: str, cause: str) -> SignInRefusedError:
    """Return 502: the provider does not answer, or fails."""
    remedy = f"{label} does not answer: try again in a moment, or log in another way; if it stays so, {TELL}"
    return SignInRefusedError(502, "provider_unreachable", remedy, cause)


def wrong_provider(label: str, cause: str) -> SignInRefusedError:
    """Return 502: the provider's answer is invalid."""
    remedy = f"{label} is not set up rightly for this server: {TELL}"
    return SignInRefusedError(502, "provider_misconfigured", remedy, cause)


def wrong_client(label: str, cause: str) -> SignInRefusedError:
    """Return 502: the provider rejects the client ID or secret."""
    remedy = f"{label} does not accept this server's client ID or secret: an administrator must renew them"
    return SignInRefusedError(502, "client_refused", remedy, cause)


def not_begun_here(cause: str) -> SignInRefusedError:
    """Return 401: another browser began the sign-in, or it is expired or already used."""
    remedy = (
        "this sign-in did not begin in this browser, has been used, or took more than ten minutes: begin again with "
        "the button below"
    )
    return SignInRefusedError(401, "sign_in_expired", remedy, cause)


def code_refused(label: str, cause: str) -> SignInRefusedError:
    """Return 401: the provider rejects the code."""
    remedy = f"{label} did not accept the sign-in, which was used before or took too long: begin again"
    return SignInRefusedError(401, "code_refused", remedy, cause)


def denied(label: str, cause: str) -> SignInRefusedError:
    """Return 403: the provider redirected the browser with an error."""
    remedy = f"{label} did not sign you in: try again, or ask its administrators for access to this application"
    return SignInRefusedError(403, "provider_denied", remedy, cause)


def wrong_token(label: str, cause: str) -> SignInRefusedError:
    """Return 502: the ID token is invalid."""
    remedy = f"{label} sent an answer that cannot be trusted; sign-in was cancelled: {TELL}"
    return SignInRefusedError(502, "id_token_refused", remedy, cause)


def wrong_clock(label: str, cause: str) -> SignInRefusedError:
    """Return 502: the ID token is not valid yet, or has expired."""
    remedy = (
        f"the clocks of this server and of {label} differ too much: try again; if it stays so, an administrator must "
        "run a time service (chrony) on both"
    )
    return SignInRefusedError(502, "clocks_differ", remedy, cause)


def no_role(label: str, cause: str) -> SignInRefusedError:
    """Return 403: no rule gives a role."""
    remedy = f"your account at {label} has no role on this server: ask an administrator to give it one, and try again"
    return SignInRefusedError(403, "no_role", remedy, cause)


def not_in_group(label: str, cause: str) -> SignInRefusedError:
    """Return 403: the user is in no group that may sign in."""
    remedy = f"your account at {label} is in no group that may use this server: ask an administrator to add it to one"
    return SignInRefusedError(403, "not_in_group", remedy, cause)


def wrong_domain(domains: str, cause: str) -> SignInRefusedError:
    """Return 403: the e-mail address is outside the permitted domains."""
    remedy = f"only e-mail addresses of {domains} may sign in: use your account with such an address"
    return SignInRefusedError(403, "wrong_domain", remedy, cause)


def unverified(label: str, cause: str) -> SignInRefusedError:
    """Return 403: the provider has not verified an e-mail address, and one is required."""
    remedy = f"{label} has not verified your e-mail address, which this server requires: verify it there and try again"
    return SignInRefusedError(403, "email_not_verified", remedy, cause)


def disabled(cause: str) -> SignInRefusedError:
    """Return 403: an administrator has disabled the account here."""
    remedy = "your account is disabled on this server: ask an administrator to enable it"
    return SignInRefusedError(403, "disabled", remedy, cause)


def name_taken(label: str, cause: str) -> SignInRefusedError:
    """Return 409: a new account would have the name of another."""
    remedy = (
        f"there is an account with your name that does not belong to your account at {label}: log in to it as before, "
        "or ask an administrator to connect the two (docs/single-sign-on.md)"
    )
    return SignInRefusedError(409, "name_taken", remedy, cause)


def no_name(label: str, cause: str) -> SignInRefusedError:
    """Return 403: the claims contain nothing that can name an account."""
    remedy = f"{label} tells neither a name nor an e-mail address that can name your account here: {TELL}"
    return SignInRefusedError(403, "no_name", remedy, cause)
