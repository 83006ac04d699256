"""The methods, one file each: its config class and the class that makes its batches, behind the protocol in `base`."""

from __future__ import annotations

from collections.abc import Sequence

from bapo.config.method import METHODS
from bapo.config.run import RunConfig
from bapo.methods.base import ComposedBatch, Method
from bapo.methods.lines import Line, WalkedStep
from bapo.methods.plain import PlainMethod


def build_method(config: RunConfig) -> Method:
    """Return the configured method, at the start of a run."""
    method: Method = METHODS.implementation(type(config.method))(config)
    return method


def lines_of(config: RunConfig, step: WalkedStep) -> Sequence[Line]:
    """Return the rule of the configured method, line by line, with what each line did in a recorded step."""
    method = build_method(config)
    # One from an installed package may be older than this question.
    return method.lines(step) if hasattr(method, "lines") else PlainMethod().lines(step)


__all__ = ["ComposedBatch", "Method", "build_method", "lines_of"]
