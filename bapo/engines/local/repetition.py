"""Repetition stop (arXiv:2501.12599, §2.6.2): ends responses that only repeat themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class RepetitionStop:
    """A response ends when its last `num_tokens` tokens have a period that fits into these at least `count` times.

    y_i = y_{i-p} for the last n - p tokens, with one p ≤ n/k.
    """

    num_tokens: int
    """n."""
    count: int
    """k."""

    def applies(self, tokens: Tensor) -> bool:
        """Return whether a response [tokens] ends here."""
        tail = tokens[-self.num_tokens :]
        periods = range(1, self.num_tokens // self.count + 1)
        return len(tail) == self.num_tokens and any(torch.equal(tail[p:], tail[:-p]) for p in periods)


class Repetitions:
    """Number of newest tokens of each row that repeat those one period before, for each period p = 1..n/k."""

    def __init__(self, stop: RepetitionStop, num_rows: int, device: torch.device) -> None:
        self._stop = stop
        num_periods = stop.num_tokens // stop.count
        # No token is negative.
        self._recent = torch.full((num_rows, num_periods), -1, dtype=torch.long, device=device)
        """The row's newest tokens, the newest first."""
        self._num_matched = torch.zeros_like(self._recent)
        """Newest tokens that each equal the one p tokens before, by p."""
        self._needed = stop.num_tokens - torch.arange(1, num_periods + 1, device=device)

    def begin(self, rows: Tensor, responses: Sequence[Sequence[int]]) -> None:
        """Let these rows continue responses, of which some may have no tokens yet."""
        tails = [list(response[-self._stop.num_tokens :]) for response in responses]
        longest = max(map(len, tails))
        padded = torch.tensor([[-1] * (longest - len(tail)) + tail for tail in tails], device=rows.device)
        recent = torch.full_like(self._recent[rows], -1)
        num_matched = torch.zeros_like(recent)
        for tokens in padded.unbind(1):
            recent, num_matched = _advanced(recent, num_matched, tokens)
        self._recent[rows], self._num_matched[rows] = recent, num_matched

    def add(self, tokens: Tensor) -> None:
        """Take the next token of each row."""
        self._recent, self._num_matched = _advanced(self._recent, self._num_matched, tokens)

    def have_ended(self) -> Tensor:
        """Return which rows only repeat themselves."""
        return (self._num_matched >= self._needed).any(1)

    def keep_rows(self, rows: Tensor) -> None:
        """Drop all rows but these."""
        self._recent, self._num_matched = self._recent[rows], self._num_matched[rows]


def _advanced(recent: Tensor, num_matched: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    newest = tokens.unsqueeze(1)
    is_same = (recent == newest) & (newest >= 0)
    return torch.cat([newest, recent[:, :-1]], 1), torch.where(is_same, num_matched + 1, 0)
