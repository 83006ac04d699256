"""Predicting how often a prompt would be solved, from its text and from prompts that were answered lately.

What the attention over embeddings of arXiv:2506.05316 does with an embedding model, with counted words instead.
"""

from __future__ import annotations

import re
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bapo.rollout import RolloutGroup
from bapo.tasks.base import Problem

Vectors = NDArray[np.float64]

NUM_FEATURES = 128
SHARPNESS = 8.0
"""Attention falls e-fold where the cosine is 1/8 less."""

_TOKEN = re.compile(r"\d+|[^\W\d]+")


class Answered(NamedTuple):
    """A prompt's latest fresh group."""

    num_correct: int
    group_size: int


class ReferencePrompts:
    """The prompts that training answered last, whose accuracies predict those of others."""

    def __init__(self) -> None:
        self._answered: OrderedDict[str, Answered] = OrderedDict()
        """Least recently answered first."""
        self._features: dict[str, Vectors] = {}
        """Features of the references, and of the prompts read since."""

    def __len__(self) -> int:
        return len(self._answered)

    def read(self, problems: Sequence[Problem]) -> None:
        """Keep the features of prompts that are answered next."""
        self._features |= {problem.prompt_id: text_features(problem.prompt) for problem in problems}

    def observe(self, fresh: Sequence[RolloutGroup]) -> None:
        """Make the prompts of these groups the most recent references."""
        for group in fresh:
            self._answered.pop(group.prompt_id, None)
            self._answered[group.prompt_id] = Answered(group.num_correct, group.group_size)

    def forget_all_but(self, number: int) -> None:
        """Drop all but the most recent references."""
        while len(self._answered) > number:
            prompt_id, _ = self._answered.popitem(last=False)
            self._features.pop(prompt_id, None)

    def predicted(self, candidates: Sequence[Problem], pool: Sequence[Problem]) -> list[float]:
        """Return the predicted success rate of each candidate. `pool`: all problems, with the references among them."""
        missing = self._answered.keys() - self._features.keys()
        if missing:
            # After a checkpoint, which does not keep features.
            self.read([problem for problem in pool if problem.prompt_id in missing])
        predicted: list[float] = predicted_accuracies(
            np.array([text_features(problem.prompt) for problem in candidates]),
            np.array([self._features[prompt_id] for prompt_id in self._answered]),
            [each.num_correct / each.group_size for each in self._answered.values()],
        ).tolist()
        return predicted

    def state_dict(self) -> list[Any]:
        """Return the references in order, ready for JSON."""
        return [[prompt_id, *answered] for prompt_id, answered in self._answered.items()]

    def load_state_dict(self, state: Sequence[Any]) -> None:
        """Restore the references from `state_dict`."""
        self._answered = OrderedDict(
            (prompt_id, Answered(num_correct, group_size)) for prompt_id, num_correct, group_size in state
        )
        self._features = {}


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
