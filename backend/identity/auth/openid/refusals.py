"""Why a sign-in is refused: one line for the person, and the cause for the log. Neither holds a secret."""

from __future__ import annotations

from enum import Enum

from backend.kit.errors import Problem

TELL = "tell an administrator, who finds the cause in the server's log and with `bapo doctor`"


class Refusal(Enum):
    """The code of the answer in capitals, its status, and its remedy."""

    NO_SINGLE_SIGN_ON = 404, "this server has no single sign-on: log in with a password, a code or a token"
    TOO_MANY_ATTEMPTS = 429, "too many sign-ins were begun from your address: try again in ten minutes"
    PROVIDER_UNREACHABLE = (
        502,
        f"{{label}} does not answer: try again in a moment, or log in another way; if it stays so, {TELL}",
    )
    PROVIDER_MISCONFIGURED = 502, f"{{label}} is not set up rightly for this server: {TELL}"
    CLIENT_REFUSED = (
        502,
        "{label} does not accept this server's client ID or secret: an administrator must renew them",
    )
    SIGN_IN_EXPIRED = (
        401,
        "this sign-in did not begin in this browser, has been used, or took more than ten minutes: begin again with "
        "the button below",
    )
    CODE_REFUSED = 401, "{label} did not accept the sign-in, which was used before or took too long: begin again"
    PROVIDER_DENIED = (
        403,
        "{label} did not sign you in: try again, or ask its administrators for access to this application",
    )
    ID_TOKEN_REFUSED = 502, f"{{label}} sent an answer that cannot be trusted; sign-in was cancelled: {TELL}"
    CLOCKS_DIFFER = (
        502,
        "the clocks of this server and of {label} differ too much: try again; if it stays so, an administrator must "
        "run a time service (chrony) on both",
    )
    NO_ROLE = (
        403,
        "your account at {label} has no role on this server: ask an administrator to give it one, and try again",
    )
    NOT_IN_GROUP = (
        403,
        "your account at {label} is in no group that may use this server: ask an administrator to add it to one",
    )
    WRONG_DOMAIN = 403, "only e-mail addresses of {label} may sign in: use your account with such an address"
    EMAIL_NOT_VERIFIED = (
        403,
        "{label} has not verified your e-mail address, which this server requires: verify it there and try again",
    )
    DISABLED = 403, "your account is disabled on this server: ask an administrator to enable it"
    NAME_TAKEN = (
        409,
        "there is an account with your name that does not belong to your account at {label}: log in to it as before, "
        "or ask an administrator to connect the two (docs/single-sign-on.md)",
    )
    NO_NAME = 403, f"{{label}} sends neither a name nor an e-mail address that can name your account here: {TELL}"


class SignInRefusedError(Problem):
    """Refuses a sign-in. `label`: the name of the provider on the login page, or the permitted domains."""

    def __init__(self, refusal: Refusal, cause: str, label: str = "") -> None:
        status, remedy = refusal.value
        super().__init__(status, refusal.name.lower(), remedy.format(label=label))
        self.cause = cause
