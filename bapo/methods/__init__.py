"""The methods, one small file each, behind the protocol in `base`."""

from __future__ import annotations

from collections.abc import Callable

from bapo.config.run import RunConfig
from bapo.methods.bapo import Bapo
from bapo.methods.base import ComposedBatch, Method
from bapo.methods.grpo import Grpo

METHODS: dict[str, Callable[[RunConfig], Method]] = {
    "grpo": Grpo,
    "grpo_delayed": Grpo,
    "bapo": Bapo,
    "bapo_mini": Bapo,
}
"""Method class of each `method.type`."""


def build_method(config: RunConfig) -> Method:
    """The configured method, at the start of a run."""
    return METHODS[config.method.type](config)


__all__ = ["METHODS", "ComposedBatch", "Method", "build_method"]
