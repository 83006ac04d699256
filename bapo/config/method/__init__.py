"""The `method` section: one class per method, told apart by `type`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bapo.config.method.arpo import ArpoConfig
from bapo.config.method.bapo import (
    BapoConfig,
    BapoMiniConfig,
    DifficultBufferConfig,
    FilterConfig,
    HighQualityBufferConfig,
)
from bapo.config.method.dapo import DapoConfig
from bapo.config.method.dots import DotsConfig
from bapo.config.method.grpo import GrpoConfig, GrpoDelayedConfig
from bapo.config.method.gspo import GspoConfig
from bapo.config.method.mopps import MoppsConfig
from bapo.config.method.ppo import BaPpoConfig, CriticConfig, PpoConfig
from bapo.config.method.remix import RemixConfig
from bapo.config.method.repo import RepoConfig

# The default comes first: documentation takes what several methods share from the first one that has it.
MethodConfig = Annotated[
    BapoConfig
    | BapoMiniConfig
    | GrpoConfig
    | GrpoDelayedConfig
    | DapoConfig
    | GspoConfig
    | MoppsConfig
    | RepoConfig
    | RemixConfig
    | ArpoConfig
    | DotsConfig
    | PpoConfig
    | BaPpoConfig,
    Field(discriminator="type"),
]

__all__ = [
    "ArpoConfig",
    "BaPpoConfig",
    "BapoConfig",
    "BapoMiniConfig",
    "CriticConfig",
    "DapoConfig",
    "DifficultBufferConfig",
    "DotsConfig",
    "FilterConfig",
    "GrpoConfig",
    "GrpoDelayedConfig",
    "GspoConfig",
    "HighQualityBufferConfig",
    "MethodConfig",
    "MoppsConfig",
    "PpoConfig",
    "RemixConfig",
    "RepoConfig",
]
