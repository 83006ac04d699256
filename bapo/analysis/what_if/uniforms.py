"""Uniform draws keyed by what they are for, for many prompts and replicates at once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bapo.draws import seed_of

Bits = NDArray[np.uint64]


def bits_of(prompt_ids: Sequence[str]) -> Bits:
    """Return 64 bits of each identifier: what is drawn for a prompt does not depend on which others were seen."""
    digests = b"".join(hashlib.sha256(prompt_id.encode()).digest()[:8] for prompt_id in prompt_ids)
    return np.frombuffer(digests, dtype="<u8")


def bits_of_places(num: int) -> Bits:
    """Return 64 bits for each of the places 0..num - 1 of prompts that have no name."""
    return _mixed(_apart(np.arange(1, num + 1)))


def uniforms(
    seed: int, step: int, purpose: str, bits: Bits, replicates: NDArray[np.int64] | int
) -> NDArray[np.float64]:
    """Return one number in [0, 1) for each pair of bits and replicate; it depends on these and the key alone."""
    salts = _mixed(np.uint64(seed_of(seed, step, purpose)) + _apart(np.atleast_1d(replicates)))
    return np.asarray((_mixed(bits ^ salts) >> np.uint64(11)) * 2.0**-53)


def _apart(numbers: NDArray[np.int64]) -> Bits:
    """Shift the numbers far apart, for `_mixed`."""
    return np.asarray(numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def _mixed(bits: Bits) -> Bits:
    """Return the finaliser of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input moves half of the
    output's."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
