"""Passwords that guessers try first, however long they are."""

from __future__ import annotations

import pytest

from backend.identity.auth.guessable import unpredictable_characters
from backend.identity.auth.passwords import check_strength
from backend.kit.errors import Problem


@pytest.mark.parametrize(
    "password",
    [
        "password1234",
        "Password1234!",
        "p4ssw0rd1234",
        "P@ssw0rd!234",
        "ｐａｓｓｗｏｒｄ１２３４",
        "passwordpassword",
        "qwertyuiop12",
        "qwertz123456",
        "1q2w3e4r5t6y",
        "123456789012",
        "210987654321",
        "abcdefghijkl",
        "abcabcabcabcd",
        "Welcome2024!!",
        "Sommer2026!!",
        "administrator1",
        "changeme12345",
        "bapobapo1234",
        "adalovelace1",
        "ada.lovelace.1",
        "monkeydragon1",
    ],
)
def test_a_password_that_is_tried_first_is_refused(password: str) -> None:
    with pytest.raises(Problem) as caught:
        check_strength(password, "ada.lovelace", "password")
    assert (caught.value.status_code, caught.value.code, caught.value.field) == (422, "weak_password", "password")
    # It is shown nowhere again.
    assert password not in caught.value.remedy


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery",
        "twelve chars",
        "kX9#vLq2mTz!",
        "a rather long one",
        "password and fluffy cats",
        "Владимир и кошка",
        "ein ganz normaler Satz",
    ],
)
def test_a_password_of_unusual_words_or_of_chance_is_taken(password: str) -> None:
    check_strength(password, "ada.lovelace", "password")


@pytest.mark.parametrize(
    ("password", "count"),
    [
        # A word 2, a sequence 1.
        ("password1234", 3),
        ("xk password", 5),
        # Two neighbours are no sequence, three are.
        ("xk12", 4),
        ("xk123", 3),
        ("xk2026", 3),
        # "xk" twice: once, and 1 for the repetition.
        ("xkxk", 3),
    ],
)
def test_what_guessers_know_counts_little(password: str, count: int) -> None:
    assert unpredictable_characters(password) == count
