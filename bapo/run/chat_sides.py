"""The models of a run that answer in a chat, apart from what it takes to load them."""

from __future__ import annotations

from typing import Literal

ChatSide = Literal["base", "warm_start", "trained"]
"""In the order of training."""
