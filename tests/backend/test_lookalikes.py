"""Names of other alphabets that look like a name."""

from __future__ import annotations

import pytest

from backend.identity.lookalikes import looks


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("admin", "Admin"),
        ("admin", "аdmin"),
        ("olga", "οlgа"),
        ("Peter", "Реtеr"),
        ("system", "ѕуѕtеm"),
        ("HANNA", "НАNNА"),
        ("ada", "ａｄａ"),
        ("bob 3", "bob ٣"),
        ("ida", "ıda"),
    ],
)
def test_names_of_letters_that_look_alike_look_the_same(name: str, other: str) -> None:
    assert looks(name) == looks(other)


@pytest.mark.parametrize(
    ("name", "other"), [("ada", "eda"), ("Jörg", "Jorg"), ("Владимир", "Владислав"), ("ali", "all"), ("ada1", "ada2")]
)
def test_other_names_look_different(name: str, other: str) -> None:
    assert looks(name) != looks(other)
