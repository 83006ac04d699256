"""Texts that pose the same problem, or nearly the same, by MinHash of their words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

SIMILAR = 0.6
"""Jaccard similarity of the shingles from which on two texts are nearly the same."""
SHINGLE_WORDS = 3
LEAST_SHINGLES = 5
TEMPLATE_SHARE, LEAST_TEMPLATE_TEXTS = 0.1, 10
"""Share of texts, and least number of texts, above which a shingle belongs to the prompt template, not to a problem."""
MOST_TEXTS, MOST_WORDS = 20_000, 400
"""Compared; of longer texts their beginning."""
NUM_BANDS, BAND_ROWS = 12, 3
"""Two texts of similarity J are compared with probability 1 - (1 - J³)¹²: 0.95 at 0.6, 0.9998 at 0.8."""

_SPACE = re.compile(r"\s+")
_CLOSING = re.compile(r"[\s.!?:;]+$")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+|[^\w\s]")


def normalised(text: str) -> str:
    """Return the text in one case, with single spaces, without closing punctuation."""
    return _CLOSING.sub("", _SPACE.sub(" ", text).strip()).casefold()


def same_problems(texts: Mapping[str, str], forms: Mapping[str, str]) -> list[list[str]]:
    """Return sets of two or more prompts that pose one problem, each in the order of `texts`.

    The same problem have equal texts but for case, spaces and closing punctuation, equal canonical forms, or texts with
    the same numbers, in any order, and a Jaccard similarity of 0.6 or more. Of very many texts the first are compared.
    """
    names = list(texts)[:MOST_TEXTS]
    joined = _Joined(len(names))
    said = [normalised(texts[name]) for name in names]
    joined.join_equal(said)
    joined.join_equal([forms.get(name) for name in names])
    first = np.unique([joined.root(place) for place in range(len(names))])
    words = [_WORD.findall(said[place])[:MOST_WORDS] for place in first]
    for one, other in _near_pairs(words):
        joined.join(int(first[one]), int(first[other]))
    return [[names[place] for place in places] for places in joined.sets()]


class _Joined:
    """Disjoint sets of places, each known by its lowest."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def root(self, place: int) -> int:
        while self._parents[place] != place:
            self._parents[place] = self._parents[self._parents[place]]
            place = self._parents[place]
        return place

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self._parents[high] = low

    def join_equal(self, keys: Sequence[Hashable]) -> None:
        firsts: dict[Hashable, int] = {}
        for place, key in enumerate(keys):
            if key is not None:
                self.join(firsts.setdefault(key, place), place)

    def sets(self) -> Iterable[list[int]]:
        members: dict[int, list[int]] = defaultdict(list)
        for place in range(len(self._parents)):
            members[self.root(place)].append(place)
        return [places for places in members.values() if len(places) > 1]


def _near_pairs(texts: Sequence[Sequence[str]]) -> Iterable[tuple[int, int]]:
    """Yield pairs of indices of texts with equal numbers and a similarity of 0.6 or more. Linear in the number of
    words.
    """
    shingles, owners = _shingles(texts)
    places = np.flatnonzero(np.bincount(owners, minlength=len(texts)) >= LEAST_SHINGLES)
    if not len(places):
        return
    codes: dict[Sequence[str], int] = {}
    numbers = [tuple(sorted(word for word in texts[place] if word[0].isdigit())) for place in places.tolist()]
    number_codes = np.array([codes.setdefault(each, len(codes)) for each in numbers], np.uint64)
    is_of_these = np.isin(owners, places)
    shingles, owners = shingles[is_of_these], owners[is_of_these]
    ends = np.searchsorted(owners, places, side="right")
    of_text = np.split(shingles, ends[:-1])
    candidates: set[tuple[int, int]] = set()
    for band in _bands(shingles, np.concatenate([[0], ends[:-1]])):
        keys = _mixed(band, number_codes)
        order = np.argsort(keys, kind="stable")
        # Neighbours only: in a set of many similar texts each is joined to the next.
        equal = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        candidates |= set(zip(order[equal].tolist(), order[equal + 1].tolist(), strict=True))
    for one, other in sorted(candidates):
        if numbers[one] == numbers[other] and _jaccard(of_text[one], of_text[other]) >= SIMILAR:
            yield int(places[one]), int(places[other])


def _shingles(texts: Sequence[Sequence[str]]) -> tuple[Words, NDArray[np.int64]]:
    """Return the hashes of all runs of three words, without those that many texts share, and the offsets of their
    texts.
    """
    codes: dict[str, int] = {}
    words = np.array([codes.setdefault(word, len(codes) + 1) for text in texts for word in text], np.uint64)
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    num_runs = max(0, len(words) - SHINGLE_WORDS + 1)
    runs = np.zeros(num_runs, np.uint64)
    for offset in range(SHINGLE_WORDS):
        runs = _mixed(runs, words[offset : offset + num_runs])
    is_of_one = owners[:num_runs] == owners[len(owners) - num_runs :]
    runs, owners = runs[is_of_one], owners[:num_runs][is_of_one]
    _, place, counts = np.unique(runs, return_inverse=True, return_counts=True)
    is_own = counts[place] <= max(LEAST_TEMPLATE_TEXTS, TEMPLATE_SHARE * len(texts))
    return runs[is_own], owners[is_own]


def _bands(shingles: Words, starts: NDArray[np.int64]) -> Iterable[Words]:
    """Yield for each band the least values of each text's shingles under three hash functions, as one number."""
    draws = np.random.default_rng(0)
    for _ in range(NUM_BANDS):
        band = np.zeros(len(starts), np.uint64)
        for _ in range(BAND_ROWS):
            salt = draws.integers(1, 2**63, dtype=np.uint64)
            band = _mixed(band, np.minimum.reduceat(_mixed(shingles, salt), starts))
        yield band


def _mixed(values: Words, others: Words | np.uint64) -> Words:
    """Return a hash of each pair of numbers (the finaliser of SplitMix64)."""
    mixed: Words = values * np.uint64(0x9E3779B97F4A7C15) + others
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(27))


def _jaccard(one: Words, other: Words) -> float:
    common = len(np.intersect1d(one, other))
    return common / (len(np.union1d(one, other)))
