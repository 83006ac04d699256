"""The methods, one small file each, behind the protocol in `base`."""

from __future__ import annotations

from collections.abc import Callable

from bapo.config.run import RunConfig
from bapo.methods.arpo import Arpo
from bapo.methods.bapo import Bapo
from bapo.methods.base import ComposedBatch, Method
from bapo.methods.dapo import Dapo
from bapo.methods.dots import Dots
from bapo.methods.grpo import Grpo
from bapo.methods.gspo import Gspo
from bapo.methods.mopps import Mopps
from bapo.methods.ppo import Ppo
from bapo.methods.remix import Remix
from bapo.methods.repo import Repo

METHODS: dict[str, Callable[[RunConfig], Method]] = {
    "grpo": Grpo,
    "grpo_delayed": Grpo,
    "dapo": Dapo,
    "gspo": Gspo,
    "mopps": Mopps,
    "bapo": Bapo,
    "bapo_mini": Bapo,
    "repo": Repo,
    "remix": Remix,
    "arpo": Arpo,
    "dots": Dots,
    "ppo": Ppo,
    "ba_ppo": Bapo,
}
"""Method class of each `method.type`."""


def build_method(config: RunConfig) -> Method:
    """The configured method, at the start of a run."""
    return METHODS[config.method.type](config)


__all__ = ["METHODS", "ComposedBatch", "Method", "build_method"]
