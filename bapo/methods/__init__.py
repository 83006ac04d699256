"""The methods, one small file each, behind the protocol in `base`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bapo.config.method import (
    METHODS,
    ArpoConfig,
    BapoConfig,
    BapoMiniConfig,
    BapoReleaseConfig,
    BaPpoConfig,
    DapoConfig,
    DotsConfig,
    GrpoConfig,
    GrpoDelayedConfig,
    GspoConfig,
    MethodSection,
    MoppsConfig,
    PpoConfig,
    ProbeConfig,
    RemixConfig,
    RepoConfig,
)
from bapo.config.run import RunConfig
from bapo.methods.arpo import Arpo
from bapo.methods.bapo import Bapo
from bapo.methods.bapo_release import BapoRelease
from bapo.methods.base import ComposedBatch, Method
from bapo.methods.dapo import Dapo
from bapo.methods.dots import Dots
from bapo.methods.grpo import Grpo
from bapo.methods.gspo import Gspo
from bapo.methods.lines import Line, WalkedStep, observed_lines
from bapo.methods.mopps import Mopps
from bapo.methods.plain import PlainMethod
from bapo.methods.ppo import Ppo
from bapo.methods.probe import Probe
from bapo.methods.remix import Remix
from bapo.methods.repo import Repo

SHIPPED: Mapping[type[MethodSection], Callable[[RunConfig], Method]] = {
    BapoConfig: Bapo,
    BapoMiniConfig: Bapo,
    BapoReleaseConfig: BapoRelease,
    GrpoConfig: Grpo,
    GrpoDelayedConfig: Grpo,
    DapoConfig: Dapo,
    GspoConfig: Gspo,
    MoppsConfig: Mopps,
    RepoConfig: Repo,
    RemixConfig: Remix,
    ArpoConfig: Arpo,
    DotsConfig: Dots,
    PpoConfig: Ppo,
    BaPpoConfig: Bapo,
    ProbeConfig: Probe,
}
"""The class behind each config class; one from an installed package names its config class itself."""


def build_method(config: RunConfig) -> Method:
    """Return the configured method, at the start of a run."""
    config_class = type(config.method)
    build = SHIPPED.get(config_class) or METHODS.implementation(config_class)
    method: Method = build(config)
    return method


def lines_of(config: RunConfig, step: WalkedStep) -> Sequence[Line]:
    """Return the rule of the configured method, line by line, with what each line did in a recorded step."""
    if not config.method.is_trainable:
        return observed_lines(step)
    method = build_method(config)
    # One from an installed package may be older than this question.
    return method.lines(step) if hasattr(method, "lines") else PlainMethod().lines(step)


__all__ = ["ComposedBatch", "Method", "build_method", "lines_of"]
