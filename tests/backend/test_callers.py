"""Callers are remembered for a moment, and no longer."""

from __future__ import annotations

from backend.kit.callers import RecentCallers
from backend.kit.principal import Principal, hash_of

GOOD = hash_of("good")


class Directory:
    """One good secret, and how often it was looked up."""

    def __init__(self) -> None:
        self.now = 0.0
        self.is_valid = True
        self.num_lookups = 0
        self.callers = RecentCallers(self.look_up, seconds=1.0, clock=lambda: self.now)

    def look_up(self, secret_hash: str) -> Principal | None:
        self.num_lookups += 1
        return Principal("u1", "ada", "member", secret_hash, {}) if self.is_valid and secret_hash == GOOD else None


def test_a_good_secret_is_looked_up_once_a_second() -> None:
    directory = Directory()
    assert directory.callers.known("good") is None
    assert directory.callers.authenticate("good") is not None
    directory.now = 0.99
    caller = directory.callers.known("good")
    assert caller is not None
    assert caller.name == "ada"
    directory.now = 1.0
    assert directory.callers.known("good") is None
    assert directory.num_lookups == 1


def test_a_bad_secret_is_never_remembered() -> None:
    directory = Directory()
    assert directory.callers.authenticate("bad") is None
    assert directory.callers.known("bad") is None


def test_who_is_forgotten_is_looked_up_again() -> None:
    directory = Directory()
    directory.callers.authenticate("good")
    directory.callers.forget(hash_of("good"))
    assert directory.callers.known("good") is None
    directory.is_valid = False
    assert directory.callers.authenticate("good") is None
