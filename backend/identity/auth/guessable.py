"""Unpredictable part of a password: the rest without common words, sequences and repetitions."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_WORDS = """
    abc123 access account admin administrator aloha amazing america angel apple arsenal asdf azerty banana bapo
    barcelona baseball basketball batman berlin blink butterfly changeme charlie chelsea chocolate computer cookie
    corvette cowboy dallas daniel default demo diamond dragon eagle enter estrella facebook family ferrari flower
    football forever freedom friend george ginger github google guest hallo hammer hannah harley hello hockey house
    hunter iloveyou internet jackson jennifer jessica jesus jordan joshua juventus killer kitten letmein liverpool
    login london love lovely machine maggie manager marina master matrix matthew maverick merlin michael michelle
    mickey money monkey monster mustang naruto nicole nothing oracle passw0rd passwd passwort password pepper
    pokemon princess private purple qazwsx qwerty qwertz rainbow ranger robert root samsung schalke secret server
    shadow silver soccer sommer spiderman starwars summer sunshine superman superuser support sweet system temp test
    thomas thunder tigger toor trustno1 twitter user welcome whatever william willkommen winner winter wizard
    yankees zxcvbn
"""
"""Most frequent words in published lists of stolen passwords."""
_LEET = str.maketrans("01345679@$!|+", "oieasbtgasiit")
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "qwertzuiop",
    "yxcvbnm",
    "azertyuiop",
    "qsdfghjklm",
    # Columns of the keyboard, from the left.
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "!@#$%^&*()",
)
_NEIGHBOURS = frozenset(pair for row in _ROWS for way in (row, row[::-1]) for pair in pairwise(way))
_WORD = re.compile("|".join(sorted(_WORDS.split(), key=len, reverse=True)))
_YEAR = re.compile(r"(?:19|20)\d\d")
_REPEATED = re.compile(r"(.{2,}?)\1+", re.DOTALL)
_WORD_COUNTS, _PIECE_COUNTS = 2, 1
_LEAST_SEQUENCE = 3


def unpredictable_characters(password: str, *known: str) -> int:
    """Return how many characters a guesser has to find, where a common or known word counts as two.

    A sequence such as 1234 or qwertz, a year or a repetition counts as one. Letters that are written as digits, as in
    p4ssw0rd, are read as such where that leaves less.
    """
    plain = unicodedata.normalize("NFKC", password).casefold()
    return min(_left(plain, known), _left(plain.translate(_LEET), known))


def _left(text: str, known: tuple[str, ...]) -> int:
    # A password twice is as good as once.
    text, repetitions = _REPEATED.subn(r"\1", text)
    count = repetitions * _PIECE_COUNTS
    for each in known:
        text, found = re.subn(re.escape(each.casefold()), "\0", text) if each else (text, 0)
        count += found * _WORD_COUNTS
    text, words = _WORD.subn("\0", text)
    text, years = _YEAR.subn("\0", text)
    count += words * _WORD_COUNTS + years * _PIECE_COUNTS
    return count + sum(map(_count, text.split("\0")))


def _count(text: str) -> int:
    """Return the characters of what is left, with one for each sequence of neighbours."""
    count, run = 0, 0
    for index, letter in enumerate(text):
        follows = index > 0 and (letter == text[index - 1] or (text[index - 1], letter) in _NEIGHBOURS)
        run = run + 1 if follows else 1
        # The third of a sequence takes back the second: all of it counts as one.
        count += 1 if run < _LEAST_SEQUENCE else -1 if run == _LEAST_SEQUENCE else 0
    return count
