"""Checks the strength of passwords, and hashes them with argon2id.

A hash takes 64 MiB and the better part of a second of a slow machine on purpose, so that two at most are worked out at
once, in separate threads: guessing passwords does not block other users.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from backend.identity.auth.guessable import unpredictable_characters
from backend.kit.errors import Problem
from bapo.api.accounts import MIN_PASSWORD

HASHER = PasswordHasher()
"""Hasher whose parameters are part of every hash; a hash with other parameters is renewed at the next login."""
MOST_AT_ONCE = 2
MIN_DIFFERENT = 5
MIN_NAME_PART = 3
MIN_UNPREDICTABLE = 8
"""Characters besides common words, sequences, years and repetitions, each of which counts as one or two."""


@cache
def _hash_of_nothing() -> str:
    """Return a hash to check when there is no user or no password, so that the check takes as long."""
    return HASHER.hash("no password is this one")


def check_strength(password: str, name: str, field: str) -> None:
    """Raise Problem 422 for a password that is too easy to guess."""
    problem = None
    if len(password) < MIN_PASSWORD:
        problem = f"a password needs at least {MIN_PASSWORD} characters: several words are easy to remember"
    elif len(set(password)) < MIN_DIFFERENT:
        problem = f"a password needs at least {MIN_DIFFERENT} different characters"
    elif name.lower() in password.lower() and len(password) < MIN_PASSWORD + len(name):
        problem = "a password must be more than your name: add words unrelated to you"
    elif unpredictable_characters(password, name, *_parts(name)) < MIN_UNPREDICTABLE:
        problem = "a password must be more than common words, sequences and repetitions: use several unusual words"
    if problem is not None:
        # Without the value, which must not be shown again.
        raise Problem(422, "weak_password", problem, field=field)


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\W_]+", name) if len(part) >= MIN_NAME_PART]


class Passwords:
    """Hashes and checks passwords, of a running server."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(MOST_AT_ONCE)

    async def hashed(self, password: str) -> str:
        """Return the hash of a password."""
        return await anyio.to_thread.run_sync(HASHER.hash, _normal(password), limiter=self._limiter)

    async def is_right(self, stored: str | None, password: str) -> bool:
        """Return whether the password is the stored one; without a stored one, do the same work and return False."""
        return await anyio.to_thread.run_sync(_verify, stored, _normal(password), limiter=self._limiter)


def needs_renewal(stored: str) -> bool:
    """Return whether the hash was made with other parameters than are in use now."""
    return HASHER.check_needs_rehash(stored)


def _verify(stored: str | None, password: str) -> bool:
    nothing = _hash_of_nothing()
    try:
        HASHER.verify(stored or nothing, password)
    except (VerificationError, InvalidHashError):
        return False
    return stored is not None


def _normal(password: str) -> str:
    # The same letters, however a keyboard puts them together.
    return unicodedata.normalize("NFKC", password)
