"""Random draws keyed by what they are for, not taken from one running stream.

A draw depends on (seed, step, purpose) alone, so a resumed run, a what-if and an undisturbed run draw the same.
"""

from __future__ import annotations

import hashlib
import random


def seed_of(seed: int, step: int, purpose: str) -> int:
    """Return a 63-bit seed for this purpose in this step."""
    digest = hashlib.sha256(f"{seed}:{step}:{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, step: int, purpose: str) -> random.Random:
    """Return a fresh generator for this purpose in this step."""
    return random.Random(seed_of(seed, step, purpose))
