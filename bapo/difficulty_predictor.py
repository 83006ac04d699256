"""Predicting how often a prompt would be solved, from its text and from prompts that were answered lately.

What the attention over embeddings of arXiv:2506.05316 does with an embedding model, with counted words instead.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]

NUM_FEATURES = 128
SHARPNESS = 8.0
"""Attention falls e-fold where the cosine is 1/8 less."""

_TOKEN = re.compile(r"\d+|[^\W\d]+")


def text_features(text: str) -> Vectors:
    """Return counts of words, numbers and their lengths, and the text's length, hashed into a vector `[features]`.

    The hash is CRC-32, which does not change from process to process.
    """
    tokens = _TOKEN.findall(text.casefold())
    names = [*tokens, *(f"#{len(token)}" for token in tokens if token.isdigit()), f"##{len(tokens)}"]
    features = np.zeros(NUM_FEATURES)
    for name in names:
        code = zlib.crc32(name.encode())
        # Each word has its own sign, so that words in one place do not add up.
        features[code % NUM_FEATURES] += 1.0 if code >> 31 else -1.0
    return features


def predicted_accuracies(candidates: Vectors, references: Vectors, accuracies: Sequence[float]) -> Vectors:
    """Return the success rate of each candidate `[candidates, features]`, from references with known accuracies.

    p̂ = Σ_i a_i·p_i with a = softmax(s·cos(z, z_i)), then calibrated: the line that fits the references' own accuracies
    best, each predicted from the others, maps p̂ to the answer. Where texts say nothing about accuracies, its slope is
    0 and every candidate gets the references' mean.
    Source: arXiv:2506.05316, with another embedding and another calibration.
    """
    known = np.asarray(accuracies, np.float64)
    # What all prompts have in common says nothing about one of them.
    centre = references.mean(axis=0)
    queries, keys = _normalised(candidates - centre), _normalised(references - centre)
    raw = _attended(queries, keys, known, leave_itself_out=False)
    if len(known) < 3:
        return np.full(len(raw), known.mean())
    others = _attended(keys, keys, known, leave_itself_out=True)
    spread = others - others.mean()
    variance = float(spread @ spread)
    slope = max(0.0, float(spread @ (known - known.mean())) / variance) if variance > 1e-12 else 0.0
    calibrated: Vectors = np.clip(known.mean() + slope * (raw - others.mean()), 0.0, 1.0)
    return calibrated


def _normalised(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: Vectors = vectors / np.where(lengths > 0, lengths, 1.0)
    return normalised


def _attended(queries: Vectors, keys: Vectors, values: Vectors, *, leave_itself_out: bool) -> Vectors:
    scores = SHARPNESS * (queries @ keys.T)
    if leave_itself_out:
        np.fill_diagonal(scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    attended: Vectors = (weights @ values) / weights.sum(axis=1)
    return attended
